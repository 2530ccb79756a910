package cli

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// definitions are what a component was, as far as its changes of status tell: when each
// began but the first of all, and whether the present one has no result.
type definitions struct {
	began    []time.Time
	unproven bool
}

func definitionsOf(view *registry.ComponentView) definitions {
	of := definitions{unproven: view.ResultID == nil && !view.Unregistered}
	for i := range view.Changes {
		if view.Changes[i].Redefined {
			of.began = append(of.began, view.Changes[i].At)
		}
	}
	return of
}

// anew stands in a strip of hours before one in which a definition began.
const anew = "│"

// mark puts anew into a strip of hours, the first of which begins at a moment, and
// reports whether it did.
func (d definitions) mark(strip []string, first time.Time) bool {
	marked := false
	for i := range strip {
		hour := first.Add(time.Duration(i) * time.Hour)
		if slices.ContainsFunc(d.began, func(began time.Time) bool { return began.Truncate(time.Hour).Equal(hour) }) {
			strip[i], marked = anew+strip[i], true
		}
	}
	return marked
}

// told says of which definitions hours are that were marked or not; empty when all are
// of the present one.
func (d definitions) told(marked bool) string {
	switch {
	case marked && d.unproven:
		return "all of earlier definitions: " + anew + " begins an hour in which one began"
	case marked:
		return "over several definitions: " + anew + " begins an hour in which one began"
	case d.unproven:
		return "all of an earlier definition"
	}
	return ""
}
