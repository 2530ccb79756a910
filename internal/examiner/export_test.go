package examiner

import (
	"cmp"
	"context"
	"slices"

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
	told := registry.Attention{Components: []registry.Reading{}, Wants: map[string]registry.Wanted{}}
	fits := map[string]registry.Fit{}
	for i := range readings {
		told.Counts.Count(readings[i].Status, readings[i].Urgency())
		fits[readings[i].Name] = readings[i].Fit()
	}
	names := e.present.Load().names
	wants := map[string]registry.Wanted{}
	for place, wanted := range e.Registered().Demand(names).Wants(func(place int) registry.Fit { return fits[names[place]] }) {
		if wanted.Need != registry.NeedNone {
			wants[names[place]] = wanted
		}
	}
	placeOf := func(r *registry.Reading) pressing {
		if wanted, is := wants[r.Name]; is {
			return pressing{r.Urgency(), wanted.Need, r.Name}
		}
		return pressing{r.Urgency(), registry.NeedNone, r.Name}
	}
	slices.SortFunc(readings, func(a, b registry.Reading) int { return placeOf(&a).compare(placeOf(&b)) })
	told.Components = readings[:min(len(readings), cmp.Or(limit, registry.DefaultPage))]
	for i := range told.Components {
		if wanted, is := wants[told.Components[i].Name]; is {
			told.Wants[told.Components[i].Name] = wanted
		}
	}
	return told, nil
}

// Needing reads all components from the store and lists those of a query that need
// attention, in the order in which they press: what a Glance is held against.
func (e *Examiner) Needing(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	limit, err := checkQuery(&query)
	if err != nil {
		return registry.ComponentPage{}, err
	}
	after, err := pressingAt(query.Cursor)
	if err != nil {
		return registry.ComponentPage{}, err
	}
	present, now := e.present.Load(), e.now()
	known, err := e.known(ctx, present.names)
	if err != nil {
		return registry.ComponentPage{}, err
	}
	rows := make([]*row, 0, len(present.names))
	for _, name := range present.names {
		rows = append(rows, newRow(present.entries[name], known[name], now))
	}
	wants := wantsOf(present, rows)
	placed := make([]pressingRow, len(rows))
	for i, one := range rows {
		placed[i] = pressingOf(one, wants[i])
	}
	slices.SortFunc(placed, func(a, b pressingRow) int { return a.place.compare(b.place) })
	return pageOf(placed, query, after, limit, now), nil
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
