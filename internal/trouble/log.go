// Package trouble owns how a log tells of what is tried again and again: once when it
// begins to fail, and once when it works again.
//
// It must not know what is tried. Its one idea is that what fails for hours is two
// lines of a log and not thousands.
package trouble

import (
	"context"
	"log/slog"
)

// Log tells of one thing that is tried again and again. It is not safe for concurrent
// use.
type Log struct {
	To    *slog.Logger
	Level slog.Level // of Fails; that of Works is Info
	Fails string     // the message when it begins to fail, with the error as cause
	Works string     // the message when it works again

	failing bool
}

// Note takes what came of an attempt. What fails once ctx is done is no trouble.
func (l *Log) Note(ctx context.Context, err error) {
	if ctx.Err() != nil || (err != nil) == l.failing {
		return
	}
	l.failing = err != nil
	if l.failing {
		l.To.Log(ctx, l.Level, l.Fails, slog.Any("cause", err)) //nolint:sloglint // Each user gives a constant, but for the name of a duty.
		return
	}
	l.To.InfoContext(ctx, l.Works) //nolint:sloglint // As above.
}
