// Package telemetry owns how Countersign tells what it does to whoever operates
// it: structured logs on one writer, metrics for Prometheus, and traces for a
// collector.
//
// Of the product it knows only the words of results and of tallies, and nothing in
// it is global: whoever logs was given a logger, whoever measures its metrics, and
// whoever traces a tracer. Its one idea
// is that what it tells is read by people in a terminal and by machines
// elsewhere, and is safe for both: what an agent or a client said stands in
// quoted attributes, never in a message, and never in a label.
package telemetry

import (
	"io"
	"log/slog"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Format is how a log line is written.
type Format string

// The formats.
const (
	Text Format = "text" // key=value, for people
	JSON Format = "json" // one object a line, for machines
)

// NewLogger returns a logger that writes lines of level and above to out, with
// times in UTC and durations as text with their unit. A record whose context
// belongs to a trace, our own or that of a caller, has its traceparent. Characters
// that control a terminal or the direction of text are escapes in both formats,
// whoever said them: text quotes them, and JSON escapes them, so that it reads
// back as it was. Faults: InvalidArgument for an unknown format.
func NewLogger(out io.Writer, format Format, level slog.Level) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: spelt}
	switch format {
	case Text:
		return slog.New(traced{slog.NewTextHandler(out, options)}), nil
	case JSON:
		return slog.New(traced{slog.NewJSONHandler(escaping{out}, options)}), nil
	default:
		return nil, fault.New(fault.InvalidArgument, "there is no log format %q", string(format)).
			WithHint("The log formats are %s and %s.", Text, JSON)
	}
}

func spelt(groups []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindDuration {
		return slog.String(attr.Key, attr.Value.Duration().String())
	}
	if len(groups) == 0 && attr.Key == slog.TimeKey && attr.Value.Kind() == slog.KindTime {
		return slog.Time(slog.TimeKey, attr.Value.Time().UTC())
	}
	return attr
}
