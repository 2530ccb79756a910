package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Preflight says whether a run may start. It probes every component of every slot
// of the run now, all at once, and judges the fresh results; a stored one counts
// only within the maximum age that every slot of the component states, and only
// when it is a pass of the component as it is now. Simultaneous preflights share
// probes. What it rests on is recorded before it answers, and so is the answer.
//
// That a run may not start is an answer. Faults: NotFound for an unknown run,
// Unavailable when ctx ends before, when the database cannot be written, and when
// the run may start but the key that signs the ticket cannot be had, because a
// start that no ticket shows later cannot be held against the present.
func (e *Examiner) Preflight(ctx context.Context, run string) (registry.Preflight, error) {
	return registry.Preflight{}, errNotWritten
}
