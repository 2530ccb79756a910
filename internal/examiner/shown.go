package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Shown is what pages read of many at once. Fault of each method: Unavailable.
type Shown interface {
	// Results returns results without their documents, the newest first, and only
	// those before an id when that is given.
	Results(ctx context.Context, component, before string, limit int) ([]registry.Kept, error)
	// Recent returns the latest n results of each component, the oldest first.
	Recent(ctx context.Context, names []string, n int) (map[string][]registry.RecentResult, error)
	// Preflights returns the preflights of a run that come after a place, the newest
	// first.
	Preflights(ctx context.Context, run string, after registry.PreflightPlace, limit int) ([]registry.KeptPreflight, error)
	// LastPreflights returns the newest preflight of each run that has one.
	LastPreflights(ctx context.Context, runs []string) (map[string]registry.KeptPreflight, error)
}

// wasRegistered reports whether a component is registered, or was once. Faults: NotFound
// when it never was, Unavailable.
func (e *Examiner) wasRegistered(ctx context.Context, name string) error {
	_, none := e.present.Load().entry(name)
	if none == nil || !registry.IsName(name) {
		return none
	}
	list, err := e.known(ctx, []string{name})
	if err == nil && len(list) == 0 {
		err = none
	}
	return err
}

// Results lists the results of a component, the newest first, also of one that is no
// longer registered. Faults: NotFound for a name never registered, InvalidArgument, Unavailable.
func (e *Examiner) Results(ctx context.Context, component string, query registry.ResultQuery) (registry.ResultPage, error) {
	page := registry.ResultPage{Results: []registry.KeptResult{}}
	limit, err := checkLimit(query.Limit)
	if err != nil {
		return page, err
	}
	before, err := resultAt(component, query.Cursor)
	if err != nil {
		return page, err
	}
	if err := e.wasRegistered(ctx, component); err != nil {
		return page, err
	}
	list, err := e.Store.Results(ctx, component, before, limit+1)
	if err != nil {
		return page, refused(err, "the results cannot be read")
	}
	for i := range list[:min(len(list), limit)] {
		page.Results = append(page.Results, list[i].Told())
	}
	if len(list) > limit {
		page.NextCursor, err = cursorBefore(component, page.Results[limit-1].ResultID)
	}
	return page, err
}

// cursorBefore makes the cursor of the page of results of a component before one.
func cursorBefore(component, id string) (string, error) {
	place, err := cursor.AppendID(nil, id)
	if err != nil {
		return "", err
	}
	return cursor.Results.After(component, place), nil
}

// resultAt is the id that a cursor made by cursorBefore holds, empty before the first
// page. Fault: InvalidArgument.
func resultAt(component, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if place, ok := cursor.Results.Place(component, text); ok {
		if id, ok := cursor.ID(place); ok {
			return id, nil
		}
	}
	return "", wrongCursor()
}

// Result tells one result, with its document where it was not given up. Faults:
// NotFound, Unavailable.
func (e *Examiner) Result(ctx context.Context, id string) (registry.KeptResult, error) {
	kept, err := e.Store.Result(ctx, id)
	if err != nil {
		return registry.KeptResult{}, refused(err, "the result cannot be read")
	}
	return kept.Told(), nil
}

// Recent returns the latest results of components, at most registry.MaxRecent of
// each, the oldest first. Faults: InvalidArgument for more than registry.MaxPage
// names, Unavailable.
func (e *Examiner) Recent(ctx context.Context, names []string) (map[string][]registry.RecentResult, error) {
	switch {
	case len(names) == 0:
		return map[string][]registry.RecentResult{}, nil
	case len(names) > registry.MaxPage:
		return nil, wrong("names", "Ask for those of one page.", "the latest results of %d components are asked for, and at most of %d at once", len(names), registry.MaxPage)
	}
	recent, err := e.Store.Recent(ctx, names, registry.MaxRecent)
	if err != nil {
		return nil, refused(err, "the latest results cannot be read")
	}
	return recent, nil
}
