package examiner

import (
	"cmp"
	"context"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ExamineWith replaces the probe.
func (e *Examiner) ExamineWith(examine func(context.Context, *registry.Component, probe.Settings) registry.Result) {
	e.examine = examine
}

// Readings reads all registered components from the store, in the order of their
// names: what those of a Glance are held against.
func (e *Examiner) Readings(ctx context.Context) ([]registry.Reading, error) {
	present := e.present.Load()
	known, err := e.known(ctx, present.names)
	if err != nil {
		return nil, err
	}
	now, readings := e.now(), make([]registry.Reading, 0, len(present.names))
	for _, name := range present.names {
		readings = append(readings, present.entries[name].read(known[name], now))
	}
	return readings, nil
}

// Attention tells what needs attention by Readings.
func (e *Examiner) Attention(ctx context.Context, limit int) (registry.Attention, error) {
	readings, err := e.Readings(ctx)
	if err != nil {
		return registry.Attention{}, err
	}
	var told registry.Attention
	for i := range readings {
		told.Counts.Count(readings[i].Status, readings[i].Urgency())
	}
	registry.SortByUrgency(readings)
	told.Components = readings[:min(len(readings), cmp.Or(limit, registry.DefaultPage))]
	return told, nil
}

// Waiting is how many callers wait for a probe of the component.
func (e *Examiner) Waiting(name string) int {
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	waiting := 0
	for key, each := range e.flights.under {
		if key.name == name {
			waiting += each.waiting
		}
	}
	return waiting
}
