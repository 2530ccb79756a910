package web

import (
	"cmp"
	"slices"
	"strings"
)

// What the pages of runs and components hold at most. The rest is told by the API.
const (
	// slotsShown is of how many slots a run shows what fills them, and fillersShown
	// how many components of each.
	slotsShown   = 24
	fillersShown = 4
	// preflightsShown is how many preflights of a run are on a page: the first with
	// newestFound slots, the others with olderFound, and of each slot attemptsShown
	// attempts.
	preflightsShown = 10
	newestFound     = 24
	olderFound      = 4
	attemptsShown   = 3
	// ticketsShown bounds the JSON of all tickets of a run, in bytes.
	ticketsShown = 24 << 10
	// reasonShown is how many bytes of a reason a row of a run shows.
	reasonShown = 120
	// namesShown is how many names a sentence lists.
	namesShown = 6
	// topicsShown is how many components a page follows one by one; with more of them
	// it follows all.
	topicsShown = 100
	// usesShown is of how many slots a component shows that it may fill them, and
	// runsShown how many runs of each.
	usesShown = 20
	runsShown = 10
	// driftShown is how many tools of each kind of change a component shows.
	driftShown = 25
)

// atMost keeps those of a list that a page shows, in their order, and tells how many
// it leaves out. Those of the lowest rank stay.
func atMost[T any](all []T, most int, rank func(T) int) (kept []T, more int) {
	if len(all) <= most {
		return all, 0
	}
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(rank(all[a]), rank(all[b])) })
	places = places[:most]
	slices.Sort(places)
	for _, place := range places {
		kept = append(kept, all[place])
	}
	return kept, len(all) - most
}

// someOf lists names in a sentence: "a, b and 3 others".
func someOf(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:namesShown], ", ") + " and " + counted(len(names)-namesShown, "other")
}

// shortReason is the beginning of a reason.
func shortReason(reason string) string {
	if cut := cutText(reason, reasonShown); len(cut) < len(reason) {
		return cut + " …"
	}
	return reason
}
