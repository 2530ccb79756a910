package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Attention tells what a person should look at first: components by their
// urgency, then their names, at most limit (1 to registry.MaxPage; 0 for
// registry.DefaultPage), and how many there are. Those that need no attention come
// last. Faults: InvalidArgument, Unavailable.
func (e *Examiner) Attention(ctx context.Context, limit int) (registry.Attention, error) {
	limit, err := checkLimit(limit)
	if err != nil {
		return registry.Attention{}, err
	}
	readings, err := e.Readings(ctx)
	if err != nil {
		return registry.Attention{}, err
	}
	var told registry.Attention
	for i := range readings {
		told.Counts.Count(readings[i].Status, readings[i].Urgency())
	}
	registry.SortByUrgency(readings)
	told.Components = append([]registry.Reading{}, readings[:min(len(readings), limit)]...)
	return told, nil
}
