package examiner

import (
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
	pressing []*row // by urgency, then by name
	counts   registry.StatusCounts
}

// row is one component.
type row struct {
	of      *entry
	known   registry.Known
	status  registry.Status
	urgency registry.Urgency
}

func newRow(of *entry, known registry.Known, now time.Time) *row {
	reading := of.read(known, now)
	return &row{of: of, known: known, status: reading.Status, urgency: reading.Urgency()}
}

// sort makes the index of the rows.
func (s *sight) sort() {
	s.byStatus, s.counts = map[registry.Status][]string{}, registry.StatusCounts{}
	byUrgency := map[registry.Urgency][]*row{}
	for i, one := range s.rows {
		s.byStatus[one.status] = append(s.byStatus[one.status], s.of.names[i])
		byUrgency[one.urgency] = append(byUrgency[one.urgency], one)
		s.counts.Count(one.status, one.urgency)
	}
	s.pressing = make([]*row, 0, len(s.rows))
	for _, urgency := range registry.Urgencies() {
		s.pressing = append(s.pressing, byUrgency[urgency]...)
	}
}

// with returns the sight with some components as they are known now.
func (s *sight) with(names []string, known map[string]registry.Known, now time.Time) *sight {
	next := &sight{of: s.of, readAt: s.readAt, doubts: s.doubts, rows: slices.Clone(s.rows)}
	for _, name := range names {
		if at, is := slices.BinarySearch(s.of.names, name); is {
			next.rows[at] = newRow(s.of.entries[name], known[name], now)
		}
	}
	next.sort()
	return next
}
