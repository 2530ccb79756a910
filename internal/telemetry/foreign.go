package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

// traceparent is the key under which a record tells the call that it belongs to,
// and the name of the header that told us (W3C Trace Context).
const traceparent = "traceparent"

// traced adds the traceparent of the context, where there is one, to each record.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record = record.Clone()
		record.AddAttrs(slog.String(traceparent, fmt.Sprintf("00-%s-%s-%s", span.TraceID(), span.SpanID(), span.TraceFlags())))
	}
	return h.Handler.Handle(ctx, record)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// escaping writes JSON in which every character that controls a terminal or the
// direction of text is an escape (\u202e), so that what reads the line has the
// text as it was, and what shows it shows no effect of it. Each write is whole
// lines.
type escaping struct{ out io.Writer }

func (e escaping) Write(line []byte) (int, error) {
	var safe []byte // nil while nothing had to be escaped
	from := 0
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			safe = append(safe, line[from:at]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				safe = fmt.Appendf(safe, `\u%04x`, unit)
			}
			from = at + size
		}
		at += size
	}
	if safe == nil {
		return e.out.Write(line)
	}
	if _, err := e.out.Write(append(safe, line[from:]...)); err != nil {
		return 0, err
	}
	return len(line), nil
}
