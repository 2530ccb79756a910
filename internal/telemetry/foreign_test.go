package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/telemetry"
)

// controlling are characters that control a terminal or the direction of text.
const controlling = "\x00\x07\x1b[2J\x7f\u0085\u009b31m\u00ad\u061c\u200b\u202e\u2028\u2029\u2066\ufeff\U000e0041\r\nlevel=ERROR"

// TestNewLogger_makesForeignTextInertWhereverItStands writes what controls a
// terminal as message, key, text, error and list.
func TestNewLogger_makesForeignTextInertWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, format := range []telemetry.Format{telemetry.Text, telemetry.JSON} {
		var out bytes.Buffer
		log, err := telemetry.NewLogger(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.With("with", controlling).WithGroup("group").LogAttrs(t.Context(), slog.LevelInfo, "m"+controlling,
			slog.String("text", controlling), slog.Any("cause", errors.New(controlling)),
			slog.Any("list", []string{controlling}), slog.String("k"+controlling, "v"), slog.Group("g"+controlling, slog.String("inner", controlling)))
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Errorf("%s: not one line: %q", format, line)
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: %U stands raw in %q", format, r, line)
			}
		}
		if format != telemetry.JSON {
			continue
		}
		var record struct {
			With  string
			Group struct{ Text, Cause string }
		}
		if err := json.Unmarshal(out.Bytes(), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if record.With != controlling || record.Group.Text != controlling || record.Group.Cause != controlling {
			t.Errorf("the record reads %q", record)
		}
	}
}

func TestNewLogger_addsTheTraceparentOfTheContext(t *testing.T) {
	t.Parallel()
	const told = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c},
		SpanID:  trace.SpanID{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	for format, want := range map[telemetry.Format]string{
		telemetry.Text: " traceparent=" + told + "\n", telemetry.JSON: `,"traceparent":"` + told + `"}` + "\n",
	} {
		var out bytes.Buffer
		log, err := telemetry.NewLogger(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.With("a", "b").InfoContext(trace.ContextWithSpanContext(t.Context(), span), "in a call")
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %q does not end with %q", format, out.String(), want)
		}
		out.Reset()
		log.InfoContext(t.Context(), "in none")
		if strings.Contains(out.String(), "traceparent") {
			t.Errorf("%s: without a call, it says %q", format, out.String())
		}
	}
}
