package examiner

import (
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// sight is all components as they were read once, and never changes.
type sight struct {
	of     *present
	readAt time.Time
	doubts int64 // what Glance.doubts was when it was read

	rows     []*row // as of.names are ordered
	byStatus map[registry.Status][]string
	pressing []pressingRow // in the order of their places
	counts   registry.StatusCounts
	until    time.Time // the soonest until of the rows; zero when none has one
}

// row is one component.
type row struct {
	of      *entry
	known   registry.Known
	status  registry.Status
	urgency registry.Urgency
	fit     registry.Fit
	until   time.Time // when the clock alone changes the status; zero when it does not
}

// newRow reads a component as of a moment, which is before what is known was read: a
// result that grows too old meanwhile has lapsed.
func newRow(of *entry, known registry.Known, at time.Time) *row {
	reading := of.read(known, at)
	return &row{
		of: of, known: known, status: reading.Status, urgency: reading.Urgency(), fit: reading.Fit(),
		until: of.component.UntilAs(of.registration, known, at),
	}
}

// hasLapsed reports whether the clock has changed the status since it was read.
func (r *row) hasLapsed(now time.Time) bool { return !r.until.IsZero() && !now.Before(r.until) }

// sort makes the index of the rows.
func (s *sight) sort() {
	s.byStatus, s.counts, s.until = map[registry.Status][]string{}, registry.StatusCounts{}, time.Time{}
	byPlace := map[pressing][]pressingRow{} // without names
	wants := wantsOf(s.of, s.rows)
	for i, one := range s.rows {
		s.byStatus[one.status] = append(s.byStatus[one.status], s.of.names[i])
		pressed := pressingOf(one, wants[i])
		group := pressing{urgency: pressed.place.urgency, need: pressed.place.need}
		byPlace[group] = append(byPlace[group], pressed)
		s.counts.Count(one.status, one.urgency)
		if !one.until.IsZero() && (s.until.IsZero() || one.until.Before(s.until)) {
			s.until = one.until
		}
	}
	s.pressing = make([]pressingRow, 0, len(s.rows))
	for _, group := range slices.SortedFunc(maps.Keys(byPlace), pressing.compare) {
		s.pressing = append(s.pressing, byPlace[group]...)
	}
}

// lapsed returns the names of those whose status the clock has changed since they were
// read, sorted.
func (s *sight) lapsed(now time.Time) []string {
	if s.until.IsZero() || now.Before(s.until) {
		return nil
	}
	var names []string
	for i, one := range s.rows {
		if one.hasLapsed(now) {
			names = append(names, s.of.names[i])
		}
	}
	return names
}

// asOf returns the sight as the clock has changed it.
func (s *sight) asOf(now time.Time) *sight {
	lapsed := s.lapsed(now)
	if len(lapsed) == 0 {
		return s
	}
	known := map[string]registry.Known{}
	for i, one := range s.rows {
		if one.hasLapsed(now) {
			known[s.of.names[i]] = one.known
		}
	}
	return s.with(lapsed, known, now)
}

// with returns the sight with some components as they are known at a moment.
func (s *sight) with(names []string, known map[string]registry.Known, at time.Time) *sight {
	next := &sight{of: s.of, readAt: s.readAt, doubts: s.doubts, rows: slices.Clone(s.rows)}
	for _, name := range names {
		if i, is := slices.BinarySearch(s.of.names, name); is {
			next.rows[i] = newRow(s.of.entries[name], known[name], at)
		}
	}
	next.sort()
	return next
}
