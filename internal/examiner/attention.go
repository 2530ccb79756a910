package examiner

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
)

// pressing is a place among components that need attention: the most pressing come
// first, and those that press alike in the order of their names.
type pressing struct {
	urgency registry.Urgency
	name    string
}

func (p pressing) compare(with pressing) int {
	return cmp.Or(cmp.Compare(p.urgency, with.urgency), strings.Compare(p.name, with.name))
}

// betweenParts stands between the parts of a cursor, and in no name.
const betweenParts = "/"

// cursor is the place as a caller gives it back.
func (p pressing) cursor() string {
	return cursor.ComponentsByUrgency.After("", []byte(strconv.Itoa(int(p.urgency))+betweenParts+p.name))
}

// pressingAt reads a cursor; the empty one is before all places. Fault:
// InvalidArgument.
func pressingAt(text string) (pressing, error) {
	if text == "" {
		return pressing{urgency: -1}, nil
	}
	place, ok := cursor.ComponentsByUrgency.Place("", text)
	urgency, name, _ := strings.Cut(string(place), betweenParts)
	for _, each := range registry.Urgencies() {
		if ok && urgency == strconv.Itoa(int(each)) && each != registry.NotUrgent && registry.IsName(name) {
			return pressing{each, name}, nil
		}
	}
	return pressing{}, wrongCursor()
}

// place is where the component stands.
func (r *row) place() pressing { return pressing{r.urgency, r.of.registration.Name} }

// needing reads all components and lists those of a query that need attention.
// Faults: InvalidArgument, Unavailable.
func (e *Examiner) needing(ctx context.Context, query registry.ComponentQuery, limit int) (registry.ComponentPage, error) {
	present, now := e.present.Load(), e.now()
	known, err := e.known(ctx, present.names)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	rows := make([]*row, 0, len(present.names))
	for _, name := range present.names {
		rows = append(rows, newRow(present.entries[name], known[name], now))
	}
	slices.SortFunc(rows, func(a, b *row) int { return a.place().compare(b.place()) })
	return pageOf(rows, query, limit, now)
}

// pageOf is a page of those of a query that need attention, of rows in the order in
// which they press. Fault: InvalidArgument.
func pageOf(rows []*row, query registry.ComponentQuery, limit int, now time.Time) (registry.ComponentPage, error) {
	page := registry.ComponentPage{Components: []registry.Reading{}}
	after, err := pressingAt(query.Cursor)
	if err != nil {
		return page, err
	}
	var last pressing
	for _, one := range rows {
		switch place := one.place(); {
		case place.urgency == registry.NotUrgent:
			return page, nil
		case place.compare(after) <= 0 || !one.isOf(query):
		case len(page.Components) == limit:
			page.NextCursor = last.cursor()
			return page, nil
		default:
			page.Components, last = append(page.Components, one.of.read(one.known, now)), place
		}
	}
	return page, nil
}

// isOf reports whether a query chooses the component.
func (r *row) isOf(query registry.ComponentQuery) bool {
	return (query.Status == "" || r.status == query.Status) && r.of.isOf(query)
}
