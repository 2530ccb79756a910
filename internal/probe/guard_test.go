package probe

import (
	"context"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestGuarded_turnsAPanicIntoAFailedGate(t *testing.T) {
	t.Parallel()
	got := guarded(t.Context(), time.Minute, func(context.Context) finding { panic("a defect") })
	if got.OK || got.Cause != registry.Overloaded || got.Detail != "the gate ended in a panic: a defect" {
		t.Errorf("got %+v, want a failed gate that tells of the defect", got)
	}
}

func TestGuarded_givesEachGateItsOwnDeadline(t *testing.T) {
	t.Parallel()
	got := guarded(t.Context(), time.Millisecond, func(ctx context.Context) finding {
		<-ctx.Done()
		return finding{cause: registry.Timeout}
	})
	if got.OK || got.Cause != registry.Timeout {
		t.Errorf("got %+v, want a time-out", got)
	}
}
