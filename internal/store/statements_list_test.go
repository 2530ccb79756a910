package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/task"
)

// LookAt has the database's lists look at no more than so many tasks of a status.
func (d *Database) LookAt(most int) { d.lookAt = most }

// listReadings are those of lists of tasks. A page that passes over entries is read up
// to the place where it ends: that of the tasks there are or, where those are too few,
// one like it.
func (d *Database) listReadings() []Reading {
	var readings []Reading
	for _, filter := range everyFilter() {
		if len(statusesOf(filter)) == 0 {
			continue
		}
		end, err := d.theEnd(filter)
		if err != nil {
			panic(err)
		}
		if passesOver(filter) {
			text, args := endStatement(d.dialect.leads, filter, d.lookAt)
			readings = append(readings, Reading{Name: fmt.Sprintf("end of tasks of %+v", filter), Text: text, Args: args})
		}
		text, args := pageStatement(d.dialect.leads, filter, end)
		readings = append(readings, Reading{
			Name: fmt.Sprintf("tasks of %+v", filter), Text: text, Args: args, Walks: filter == task.Filter{Limit: filter.Limit},
		})
	}
	return readings
}

func (d *Database) theEnd(filter task.Filter) (task.Place, error) {
	in, err := d.engine.read()
	if err != nil {
		return task.Place{}, err
	}
	end, err := d.endOf(context.Background(), in, filter)
	if end.ID == "" && passesOver(filter) {
		end = task.Place{At: 1 << 50, ID: "01000000-0000-7000-8000-000000000000"}
	}
	return end, err
}

// everyFilter returns a filter with each set of conditions that a list can have, of
// each status, of the first page and of one that follows, in each order.
func everyFilter() []task.Filter {
	const (
		id   = "01890000-0000-7000-8000-000000000000"
		last = "f1890000-0000-7000-8000-000000000000"
	)
	filters := []task.Filter{{Limit: 20}}
	with := func(changes ...func(*task.Filter)) {
		for _, filter := range slices.Clone(filters) {
			for _, change := range changes {
				changed := filter
				change(&changed)
				filters = append(filters, changed)
			}
		}
	}
	var statuses []func(*task.Filter)
	for _, status := range task.Statuses() {
		statuses = append(statuses, func(f *task.Filter) { f.Status = status })
	}
	with(statuses...)
	with(func(f *task.Filter) { f.OldestFirst = f.Status != "" })
	with(func(f *task.Filter) { f.CreatedBy = "bob" })
	with(func(f *task.Filter) { f.ClaimedBy = "alice" })
	with(func(f *task.Filter) { f.VerifiableBy = "alice" }, func(f *task.Filter) { f.VerifiableBy = "carol" })
	with(func(f *task.Filter) { f.Supersedes = id })
	with(func(f *task.Filter) {
		if f.OldestFirst {
			f.After = task.Place{At: 7, ID: id}
		} else {
			f.Before = last
		}
	})
	return filters
}
