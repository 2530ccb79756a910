package fault_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
)

func TestTrouble_tellsThatItBeginsAndThatItIsOver(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	trouble := fault.Trouble{
		Level: slog.LevelError, What: "nothing can be read",
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	down := errors.New("the disk is gone")
	trouble.Note(t.Context(), nil)
	trouble.Note(over, down)
	trouble.Note(t.Context(), down)
	trouble.Note(t.Context(), down)
	trouble.Note(t.Context(), nil)
	trouble.Note(t.Context(), nil)
	want := `level=ERROR msg="the store fails" what="nothing can be read" cause="the disk is gone"
level=INFO msg="the store works again" what="nothing can be read"
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}
