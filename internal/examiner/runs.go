package examiner

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
)

// RunPage lists runs in the order of their names, each with its newest preflight.
// Faults: InvalidArgument, Unavailable.
func (e *Examiner) RunPage(ctx context.Context, query registry.PageQuery) (registry.RunPage, error) {
	page := registry.RunPage{Runs: []registry.RunSummary{}}
	present := e.present.Load()
	names, next, err := onPage(cursor.Runs, present.runs, query)
	if err != nil {
		return page, err
	}
	page.NextCursor = next
	if len(names) == 0 {
		return page, nil
	}
	last, err := e.Store.LastPreflights(ctx, names)
	if err != nil {
		return page, refused(err, "the newest preflights cannot be read")
	}
	for _, name := range names {
		summary := registry.RunSummary{Run: name, Slots: []string{}}
		for _, slot := range present.runOf[name].Slots {
			summary.Slots = append(summary.Slots, slot.Slot)
		}
		if kept, ok := last[name]; ok {
			summary.Last = new(kept.Summary())
		}
		page.Runs = append(page.Runs, summary)
	}
	return page, nil
}

// onPage returns the names of a page of a list, and the cursor of the next. Fault:
// InvalidArgument.
func onPage(list cursor.List, names []string, query registry.PageQuery) (page []string, next string, err error) {
	limit, err := checkLimit(query.Limit)
	if err != nil {
		return nil, "", err
	}
	after, err := nameAt(list, query.Cursor)
	if err != nil {
		return nil, "", err
	}
	names = following(names, after)
	if len(names) <= limit {
		return names, "", nil
	}
	return names[:limit], list.After("", []byte(names[limit-1])), nil
}

// RunView tells all that there is to know about one run. Of one that is no longer
// registered that is its preflights. Faults: those of Preflights.
func (e *Examiner) RunView(ctx context.Context, name string) (registry.RunView, error) {
	present := e.present.Load()
	view := registry.RunView{Run: name, Slots: []registry.RunSlotView{}}
	if run, err := present.run(name); err != nil {
		view.Unregistered = true
	} else if view.Slots, err = e.slotsNow(ctx, present, run); err != nil {
		return registry.RunView{}, err
	}
	newest, err := e.Preflights(ctx, name, registry.PageQuery{Limit: registry.ShownPreflights})
	if err != nil {
		return registry.RunView{}, err
	}
	view.Preflights = newest.Preflights
	return view, nil
}

// slotsNow are the slots of a run with the readings of their components. Fault:
// Unavailable.
func (e *Examiner) slotsNow(ctx context.Context, present *present, run *registry.Run) ([]registry.RunSlotView, error) {
	slots, err := present.slotsOf(run)
	if err != nil {
		return nil, err
	}
	readings, err := e.readingsIn(ctx, present, slots)
	if err != nil {
		return nil, err
	}
	views := make([]registry.RunSlotView, 0, len(slots))
	for i, slot := range slots {
		views = append(views, registry.RunSlotView{SlotView: slot.View(readings), Required: run.Slots[i].Required})
	}
	return views, nil
}

// SlotPage lists slots in the order of their names, with the readings of their
// components. Faults: InvalidArgument, Unavailable.
func (e *Examiner) SlotPage(ctx context.Context, query registry.PageQuery) (registry.SlotPage, error) {
	page := registry.SlotPage{Slots: []registry.SlotView{}}
	present := e.present.Load()
	names, next, err := onPage(cursor.Slots, present.slots, query)
	if err != nil {
		return page, err
	}
	slots := make([]*registry.Slot, 0, len(names))
	for _, name := range names {
		slots = append(slots, present.slotOf[name])
	}
	readings, err := e.readingsIn(ctx, present, slots)
	if err != nil {
		return page, err
	}
	for _, slot := range slots {
		page.Slots = append(page.Slots, slot.View(readings))
	}
	page.NextCursor = next
	return page, nil
}

// readingsIn reads the components of slots, by name. Fault: Unavailable.
func (e *Examiner) readingsIn(ctx context.Context, present *present, slots []*registry.Slot) (map[string]registry.Reading, error) {
	names := slices.DeleteFunc(namesIn(slots), func(name string) bool { return present.entries[name] == nil })
	known, err := e.known(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("read the components of slots: %w", err)
	}
	now, readings := e.now(), make(map[string]registry.Reading, len(names))
	for _, name := range names {
		readings[name] = present.entries[name].read(known[name], now)
	}
	return readings, nil
}

// run returns the run of a name. Fault: NotFound.
func (p *present) run(name string) (*registry.Run, error) {
	if run, ok := p.runOf[name]; ok {
		return run, nil
	}
	return nil, unknown("run", name, p.runs)
}
