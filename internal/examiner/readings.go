package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Readings reads all registered components at one moment, in the order of their
// names. Fault: Unavailable.
func (e *Examiner) Readings(ctx context.Context) ([]registry.Reading, error) {
	present := e.present.Load()
	known, err := e.known(ctx, present.names)
	if err != nil {
		return nil, err
	}
	now := e.now()
	readings := make([]registry.Reading, 0, len(present.names))
	for _, name := range present.names {
		readings = append(readings, present.entries[name].read(known[name], now))
	}
	return readings, nil
}
