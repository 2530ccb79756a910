package store

import "slices"

// Reading is a statement that a page, the API, a metric or the feed reads by, for
// the tests of its plan.
type Reading struct {
	Name string
	Text string
	Args []any
	// Walks says that it reads the first rows of a table in the order of an index, and
	// ends with its limit.
	Walks bool
	// Passes says that it may pass over rows that are not in its answer.
	Passes bool
}

// Readings returns all of them.
func (d *Database) Readings() []Reading {
	last := d.dialect.settled + ` ORDER BY ` + d.dialect.backward
	names := `["alice","bob"]`
	const id = "01890000-0000-7000-8000-000000000000"
	led := func(text string) string { return d.dialect.led(text, "$1") }
	readings := []Reading{
		{"events", selectEvents + ` WHERE ` + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false, false},
		{"ends", selectEnds + last + endsBetween + last + endsAfter, nil, true, false},
		{"roll-up", selectUncounted + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false, false},
		{"removal", selectPositions + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 2000}, false, false},
		{"tally", selectTally, nil, false, false},
		{"oldest", selectOldest, nil, false, false},
		{"counts", selectCounts, []any{1000}, false, false},
		{"totals", selectTotals, nil, false, false},
		{"since", d.sinceStatement(), []any{0, 7, maxSince}, false, false},
		{"agents by name", selectAgentsByName, []any{"alice", 20}, false, false},
		{"agents by verdicts", selectAgentsByVerdicts, []any{7, "alice", 20}, false, false},
		{"agent", selectAgent, []any{"alice"}, false, false},
		{"verifies", selectVerifies, []any{"alice", 20}, false, false},
		{"verified by", selectVerifiedBy, []any{"alice", 20}, false, false},
		{"provers", d.proversStatement(), []any{names}, false, false},
		{"lineage", selectLineage, []any{id, 20}, false, false},
		{"task", selectTask, []any{id}, false, false},
		{"criteria", selectCriteria, []any{id}, false, false},
		{"transitions", selectTransitions, []any{id}, false, false},
		{"known", selectKnown + d.dialect.listed + ")", []any{names}, false, false},
		{"recent", d.recentStatement(), []any{`["asm"]`, 20, fieldEnd, resultEnd}, false, false},
		{"newest preflights", selectLastPreflights + d.dialect.listed + ofLastPreflights, []any{names}, false, false},
		{"preflights", selectPreflights, []any{"nightly", int64(1) << 50, afterEveryDigest, 20}, false, false},
		{"results", led(selectKept + ofComponent), []any{"asm", afterEveryID, 20}, false, false},
		{"result", selectKept + ofResult, []any{id}, false, false},
		{"changes", selectChanges + ofAll, []any{20}, true, false},
		{"changes of one", led(selectChanges + ofOneComponent), []any{"asm", 20}, false, false},
		{"hours", led(selectHours), []any{"asm", 0, 20}, false, false},
		{"waiting", selectWaiting, []any{int64(1) << 50, 20}, false, false},
		{"decided", selectDecided, []any{20}, false, false},
	}
	readings = append(readings, d.listReadings()...)
	return slices.Clip(readings)
}
