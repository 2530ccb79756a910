package examiner

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
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

// Components lists components in the order of their names, with the status of each.
// Those that need attention are found by a Glance: Attention of the query is not
// read. Faults: InvalidArgument, Unavailable.
func (e *Examiner) Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	limit, err := checkQuery(&query)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	after, err := nameAt(cursor.Components, query.Cursor)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	present := e.present.Load()
	most := limit + 1 // one more tells whether there is a next page
	if query.Status != "" {
		most = len(present.names)
	}
	return e.page(ctx, present, present.matching(following(present.names, after), query, most), query.Status, pageSize{limit, readAtOnce})
}

// pageSize bounds a page, and of how many components the store is asked at a time.
type pageSize struct{ limit, atOnce int }

// page reads components until a page is full of those that have a status, or of
// all where that is empty. Fault: Unavailable.
func (e *Examiner) page(ctx context.Context, present *present, names []string, status registry.Status, size pageSize) (registry.ComponentPage, error) {
	page := registry.ComponentPage{Components: []registry.Reading{}}
	now := e.now()
	for part := range slices.Chunk(names, size.atOnce) {
		known, err := e.known(ctx, part)
		if err != nil {
			return page, err
		}
		for _, name := range part {
			reading := present.entries[name].read(known[name], now)
			if status != "" && reading.Status != status {
				continue
			}
			if len(page.Components) == size.limit {
				page.NextCursor = cursor.Components.After("", []byte(page.Components[size.limit-1].Name))
				return page, nil
			}
			page.Components = append(page.Components, reading)
		}
	}
	return page, nil
}

// checkQuery returns how many components are wanted, and puts the search into
// lower case, as names are. Fault: InvalidArgument.
func checkQuery(query *registry.ComponentQuery) (int, error) {
	query.Search = strings.ToLower(query.Search)
	switch {
	case query.Kind != "" && !slices.Contains(registry.Kinds(), query.Kind):
		return 0, wrong("kind", "Leave it out for all kinds.", "there is no kind %q", registry.Shorten(string(query.Kind), registry.MaxName))
	case query.Status != "" && !slices.Contains(registry.Statuses(), query.Status):
		return 0, wrong("status", "The statuses are probing, available, unavailable and unknown.",
			"there is no status %q", registry.Shorten(string(query.Status), registry.MaxName))
	case len(query.Search) > registry.MaxName:
		return 0, wrong("search", "Give a part of a name.", "the search is longer than a name, which has at most %d characters", registry.MaxName)
	}
	return checkLimit(query.Limit)
}

// nameAt is the name that a cursor of a list in the order of names goes on after,
// empty before the first. Fault: InvalidArgument.
func nameAt(list cursor.List, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	name, ok := list.Place("", text)
	if !ok || !registry.IsName(string(name)) {
		return "", wrongCursor()
	}
	return string(name), nil
}

// checkLimit returns how many of a list are wanted. Fault: InvalidArgument.
func checkLimit(limit int) (int, error) {
	if limit < 0 || limit > registry.MaxPage {
		return 0, wrong("limit", "Leave it out for the default.", "the limit %d is not between 1 and %d", limit, registry.MaxPage)
	}
	return cmp.Or(limit, registry.DefaultPage), nil
}

func wrongCursor() error {
	return wrong("cursor", "Pass next_cursor of the page before exactly as it came, to the same list in the same order, or leave cursor out for the first page.",
		"this is no cursor of this list")
}

func wrong(field, hint, format string, args ...any) error {
	return fault.New(fault.InvalidArgument, format, args...).With(fault.Field, field).WithHint("%s", hint)
}

// matching returns the first names that a query chooses among some in their
// order, whatever their status: at most most.
func (p *present) matching(names []string, query registry.ComponentQuery, most int) []string {
	if query.Kind == "" && query.Search == "" {
		return names[:min(len(names), most)]
	}
	var chosen []string
	for _, each := range names {
		if len(chosen) == most {
			break
		}
		if p.entries[each].isOf(query) {
			chosen = append(chosen, each)
		}
	}
	return chosen
}

// isOf reports whether a query chooses the component, whatever its status.
func (o *entry) isOf(query registry.ComponentQuery) bool {
	return (query.Kind == "" || o.registration.Kind == query.Kind) && strings.Contains(o.registration.Name, query.Search)
}

// following returns the names that come after one, in an order that they are in.
func following(names []string, name string) []string {
	at, is := slices.BinarySearch(names, name)
	if is {
		at++
	}
	return names[at:]
}

// read is the status of the component.
func (o *entry) read(known registry.Known, now time.Time) registry.Reading {
	return o.component.ReadAs(o.registration, known, now)
}

// Component tells all that there is to know about one component, also of one that was
// registered once and is no longer. Faults: NotFound for a name never registered,
// Unavailable.
func (e *Examiner) Component(ctx context.Context, name string) (registry.ComponentView, error) {
	one, none := e.present.Load().entry(name)
	if none != nil && !registry.IsName(name) {
		return registry.ComponentView{}, none
	}
	list, err := e.known(ctx, []string{name})
	if err != nil {
		return registry.ComponentView{}, err
	}
	known, wasKnown := list[name]
	now := e.now()
	var view registry.ComponentView
	switch {
	case none == nil:
		view.Reading, view.Slots = one.read(known, now), one.slots
		// What is known of another definition is not of this one.
		known = known.Register(one.registration, known.Standing.RegisteredAt)
		if view.Drift, err = e.drift(ctx, known.AcceptedDigest, known.ToolsDigest, nil); err != nil {
			return registry.ComponentView{}, err
		}
	case wasKnown:
		view.Reading, view.Unregistered = known.ReadUnregistered(now), true
	default:
		return registry.ComponentView{}, none
	}
	if view.AcceptedDigest = known.AcceptedDigest; !known.AcceptedAt.IsZero() {
		view.AcceptedAt = registry.Timestamp(known.AcceptedAt)
	}
	return view, e.addPast(ctx, &view, now)
}

// addPast adds the newest result of a component whole, and what is kept of those before
// it. Fault: Unavailable.
func (e *Examiner) addPast(ctx context.Context, view *registry.ComponentView, now time.Time) (err error) {
	if view.ResultID != nil {
		if view.Result, _, err = e.document(ctx, *view.ResultID); err != nil {
			return err
		}
	}
	changes, err := e.Store.Changes(ctx, view.Name, shownChanges+1)
	if err != nil {
		return refused(err, "the changes of status cannot be read")
	}
	view.Changes = registry.TellRedefined(changes, shownChanges)
	if view.Hours, err = e.Store.Hours(ctx, view.Name, now.Add(-shownHours*time.Hour), shownHours); err != nil {
		return refused(err, "the hourly sums cannot be read")
	}
	return nil
}
