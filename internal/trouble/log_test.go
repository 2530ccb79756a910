package trouble_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/trouble"
)

func TestLog_tellsThatItBeginsToFailAndThatItWorksAgain(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	noted := trouble.Log{
		Level: slog.LevelError, Fails: "nothing can be read", Works: "it can be read again",
		To: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	down := errors.New("the disk is gone")
	noted.Note(t.Context(), nil)
	noted.Note(over, down)
	noted.Note(t.Context(), down)
	noted.Note(t.Context(), down)
	noted.Note(t.Context(), nil)
	noted.Note(t.Context(), nil)
	want := `level=ERROR msg="nothing can be read" cause="the disk is gone"
level=INFO msg="it can be read again"
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}
