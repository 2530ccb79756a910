package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

func TestNewLogger_writesOneLineForEachRecordWhateverItHolds(t *testing.T) {
	hostile := "first\nlevel=ERROR msg=forged \x1b[2J\u202e"
	for _, format := range []telemetry.Format{telemetry.Text, telemetry.JSON} {
		var out bytes.Buffer
		log, err := telemetry.NewLogger(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.DebugContext(t.Context(), "left out")
		log.InfoContext(t.Context(), "request", slog.String("title", hostile))
		line := out.String()
		if strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") {
			t.Errorf("%s: the record is written as %q, want one line without control characters", format, line)
		}
		if !strings.Contains(line, "Z") {
			t.Errorf("%s: the time is not in UTC: %q", format, line)
		}
		if format == telemetry.JSON {
			var record map[string]any
			if err := json.Unmarshal(out.Bytes(), &record); err != nil || record["title"] != hostile {
				t.Errorf("the record reads %v (%v)", record, err)
			}
		}
	}
}

func TestNewLogger_writesDurationsWithTheirUnit(t *testing.T) {
	for format, want := range map[telemetry.Format]string{telemetry.Text: "lag=6.056s", telemetry.JSON: `"lag":"6.056s"`} {
		var out bytes.Buffer
		log, err := telemetry.NewLogger(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.InfoContext(t.Context(), "late", slog.Duration("lag", 6056*time.Millisecond))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s holds no %s", format, out.String(), want)
		}
	}
}

func TestNewLogger_refusesAnUnknownFormat(t *testing.T) {
	if _, err := telemetry.NewLogger(&bytes.Buffer{}, "xml", slog.LevelInfo); !errors.Is(err, fault.InvalidArgument) {
		t.Errorf("error = %v, want %s", err, fault.InvalidArgument)
	}
}
