package examiner

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
)

// pressing is a place among components that need attention: first what makes a run
// refuse, then what makes one start on a fallback; then by their urgency, then what a
// slot names, then by their names.
type pressing struct {
	urgency registry.Urgency
	need    registry.Need
	name    string
}

func (p pressing) compare(with pressing) int {
	return cmp.Or(
		cmp.Compare(min(p.need, registry.NeedSlot), min(with.need, registry.NeedSlot)),
		cmp.Compare(p.urgency, with.urgency), cmp.Compare(p.need, with.need), strings.Compare(p.name, with.name),
	)
}

// pressingRow is a component at its place.
type pressingRow struct {
	*row

	place pressing
	run   string // the first one that its need is of; may be empty
}

// pressingOf puts a component at its place.
func pressingOf(one *row, wanted registry.Wanted) pressingRow {
	return pressingRow{one, pressing{one.urgency, wanted.Need, one.of.registration.Name}, wanted.Run}
}

// wantsOf is what runs want of components, of which rows are all, in the order of their
// names, as what is returned is.
func wantsOf(of *present, rows []*row) []registry.Wanted {
	return of.demand.Wants(func(place int) registry.Fit { return rows[place].fit })
}

// betweenParts stands between the parts of a cursor, and in no name.
const betweenParts = "/"

// cursor is the place as a caller gives it back.
func (p pressing) cursor() string {
	return cursor.ComponentsByUrgency.After("", fmt.Appendf(nil, "%d%s%d%s%s", p.urgency, betweenParts, p.need, betweenParts, p.name))
}

// pressingAt reads a cursor; the empty one is before all places. Fault:
// InvalidArgument.
func pressingAt(text string) (pressing, error) {
	if text == "" {
		return pressing{urgency: -1}, nil
	}
	place, ok := cursor.ComponentsByUrgency.Place("", text)
	parts := strings.SplitN(string(place), betweenParts, 3)
	if !ok || len(parts) != 3 || !registry.IsName(parts[2]) {
		return pressing{}, wrongCursor()
	}
	for _, urgency := range registry.Urgencies() {
		for _, need := range registry.Needs() {
			at := pressing{urgency, need, parts[2]}
			if urgency != registry.NotUrgent && at.cursor() == text {
				return at, nil
			}
		}
	}
	return pressing{}, wrongCursor()
}

// pageOf is a page of those of a query that need attention and come after a place, of
// rows in the order in which they press.
func pageOf(rows []pressingRow, query registry.ComponentQuery, after pressing, limit int, now time.Time) registry.ComponentPage {
	page := registry.ComponentPage{Components: []registry.Reading{}}
	var last pressing
	for _, one := range rows {
		switch place := one.place; {
		case place.urgency == registry.NotUrgent:
			return page
		case place.compare(after) <= 0 || !one.isOf(query):
		case len(page.Components) == limit:
			page.NextCursor = last.cursor()
			return page
		default:
			page.Components, last = append(page.Components, one.of.read(one.known, now)), place
		}
	}
	return page
}

// isOf reports whether a query chooses the component.
func (r *row) isOf(query registry.ComponentQuery) bool {
	return (query.Status == "" || r.status == query.Status) && r.of.isOf(query)
}
