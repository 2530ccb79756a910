package examiner

import (
	"cmp"
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

// pageOf is a page of those of a query that need attention and come after a place, of
// rows in the order in which they press.
func pageOf(rows []*row, query registry.ComponentQuery, after pressing, limit int, now time.Time) registry.ComponentPage {
	page := registry.ComponentPage{Components: []registry.Reading{}}
	var last pressing
	for _, one := range rows {
		switch place := one.place(); {
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
