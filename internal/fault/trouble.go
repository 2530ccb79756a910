package fault

import (
	"context"
	"log/slog"
)

// Trouble logs when something that is tried again and again begins to fail, and
// when it works again; not each failure in between. It is not safe for concurrent
// use.
type Trouble struct {
	Log   *slog.Logger
	Level slog.Level // of a failure
	What  string     // cannot be done while the store fails

	failing bool
}

// Note takes what came of an attempt. What fails once ctx is done is no trouble.
func (t *Trouble) Note(ctx context.Context, err error) {
	if ctx.Err() != nil || (err != nil) == t.failing {
		return
	}
	t.failing = err != nil
	if t.failing {
		t.Log.Log(ctx, t.Level, "the store fails", slog.String("what", t.What), slog.Any("cause", err))
		return
	}
	t.Log.InfoContext(ctx, "the store works again", slog.String("what", t.What))
}
