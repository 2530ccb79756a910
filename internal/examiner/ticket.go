package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Check holds a ticket against the present: it is one of ours, the run still wants
// what it says, and each component, probed now, is as it was. Faults:
// InvalidArgument when the document is no ticket, Unavailable when ctx ends
// before, and when the database or the key cannot be had.
func (e *Examiner) Check(ctx context.Context, document []byte) (registry.TicketReport, error) {
	return registry.TicketReport{}, errNotWritten
}
