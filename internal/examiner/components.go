package examiner

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// How much of the history of a component is shown with it.
const (
	shownChanges = 20
	shownHours   = 48
)

// readAtOnce is of how many components the store is asked at a time, so that a page
// of one status that many have does not read all of them.
const readAtOnce = 500

// Components lists components in the order of their names, with the status of
// each. Faults: InvalidArgument, Unavailable.
func (e *Examiner) Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	page := registry.ComponentPage{Components: []registry.Reading{}}
	limit, err := checkQuery(query)
	if err != nil {
		return page, err
	}
	present := e.present.Load()
	names := present.after(query.Cursor, query.Kind)
	if query.Status == "" {
		names = names[:min(len(names), limit+1)] // one more tells whether there is a next page
	}
	now := e.now()
	for part := range slices.Chunk(names, readAtOnce) {
		known, err := e.known(ctx, part)
		if err != nil {
			return page, err
		}
		for _, name := range part {
			reading := present.entries[name].read(known[name], now)
			if query.Status != "" && reading.Status != query.Status {
				continue
			}
			if len(page.Components) == limit {
				page.NextCursor = page.Components[limit-1].Name
				return page, nil
			}
			page.Components = append(page.Components, reading)
		}
	}
	return page, nil
}

// checkQuery returns how many components are wanted. Fault: InvalidArgument.
func checkQuery(query registry.ComponentQuery) (int, error) {
	wrong := func(field, hint, format string, args ...any) (int, error) {
		return 0, fault.New(fault.InvalidArgument, format, args...).With(fault.Field, field).WithHint("%s", hint)
	}
	switch {
	case query.Kind != "" && !slices.Contains(registry.Kinds(), query.Kind):
		return wrong("kind", "Leave it out for all kinds.", "there is no kind %q", registry.Shorten(string(query.Kind), registry.MaxName))
	case query.Status != "" && !slices.Contains(registry.Statuses(), query.Status):
		return wrong("status", "The statuses are probing, available, unavailable and unknown.",
			"there is no status %q", registry.Shorten(string(query.Status), registry.MaxName))
	case query.Limit < 0 || query.Limit > registry.MaxPage:
		return wrong("limit", "Leave it out for the default.", "the limit %d is not between 1 and %d", query.Limit, registry.MaxPage)
	case query.Cursor != "" && !registry.IsName(query.Cursor):
		return wrong("cursor", "Pass next_cursor of the page before, as it is.", "this is no cursor")
	case query.Limit == 0:
		return registry.DefaultPage, nil
	}
	return query.Limit, nil
}

// after returns the names of one kind, or of all, that follow a name.
func (p *present) after(name string, kind registry.Kind) []string {
	at, is := slices.BinarySearch(p.names, name)
	if is {
		at++
	}
	if kind == "" {
		return p.names[at:]
	}
	var names []string
	for _, each := range p.names[at:] {
		if p.entries[each].registration.Kind == kind {
			names = append(names, each)
		}
	}
	return names
}

// read is the status of the component. What is known of it under another
// definition says nothing about it.
func (o *entry) read(known registry.Known, now time.Time) registry.Reading {
	if known.Registration != o.registration {
		return o.component.Read(registry.Standing{RegisteredAt: known.Standing.RegisteredAt}, now)
	}
	return o.component.ReadKnown(known, now)
}

// Component tells all that there is to know about one component. Faults: NotFound,
// Unavailable.
func (e *Examiner) Component(ctx context.Context, name string) (registry.ComponentView, error) {
	one, err := e.present.Load().entry(name)
	if err != nil {
		return registry.ComponentView{}, err
	}
	list, err := e.known(ctx, []string{name})
	if err != nil {
		return registry.ComponentView{}, err
	}
	known, now := list[name], e.now()
	view := registry.ComponentView{Reading: one.read(known, now), Slots: one.slots, AcceptedDigest: known.AcceptedDigest}
	if !known.AcceptedAt.IsZero() {
		view.AcceptedAt = known.AcceptedAt.UTC().Format(timeForm)
	}
	if view.ResultID != nil {
		if view.Result, _, err = e.document(ctx, *view.ResultID); err != nil {
			return registry.ComponentView{}, err
		}
	}
	if view.Drift, err = e.drift(ctx, known.AcceptedDigest, known.ToolsDigest, nil); err != nil {
		return registry.ComponentView{}, err
	}
	if view.Changes, err = e.Store.Changes(ctx, name, shownChanges); err != nil {
		return registry.ComponentView{}, refused(err, "the changes of status cannot be read")
	}
	if view.Hours, err = e.Store.Hours(ctx, name, now.Add(-shownHours*time.Hour), shownHours); err != nil {
		return registry.ComponentView{}, refused(err, "the roll-ups cannot be read")
	}
	return view, nil
}

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"
