package web

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// definitions are what a component was, as far as its changes of status tell: when the
// first result of each definition began, or its deadline passed, the newest first,
// without the first of all. Results are of the definition that began last before them.
type definitions struct {
	began    []time.Time
	unproven bool // there is no result of the present one
}

// definitionsOf reads them of what is told of a component.
func definitionsOf(told *registry.ComponentView) definitions {
	of := definitions{unproven: told.ResultID == nil}
	for i := range told.Changes {
		if told.Changes[i].Redefined {
			of.began = append(of.began, told.Changes[i].At)
		}
	}
	return of
}

// since is how many definitions have begun since a result: 0 for one of the present
// definition. It is 0 for an unknown moment.
func (d definitions) since(result moment) int {
	if result.IsZero() {
		return 0
	}
	count := 0
	if d.unproven {
		count++
	}
	for _, began := range d.began {
		if result.when.Before(began) {
			count++
		}
	}
	return count
}

// within reports whether a definition began in an hour.
func (d definitions) within(hour time.Time) bool {
	return slices.ContainsFunc(d.began, func(began time.Time) bool { return began.Truncate(time.Hour).Equal(hour) })
}
