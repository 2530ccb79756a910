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
}

// Readings returns all of them.
func (d *Database) Readings() []Reading {
	last := d.dialect.settled + ` ORDER BY ` + d.dialect.backward
	names := `["alice","bob"]`
	const id = "01890000-0000-7000-8000-000000000000"
	led := func(text string) string { return d.dialect.led(text, "$1") }
	readings := []Reading{
		{"events", selectEvents + ` WHERE ` + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false},
		{"ends", selectEnds + last + endsBetween + last + endsAfter, nil, true},
		{"roll-up", selectUncounted + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false},
		{"removal", selectPositions + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 2000}, false},
		{"tally", selectTally, nil, false},
		{"oldest", selectOldest, nil, false},
		{"counts", selectCounts, []any{1000}, false},
		{"totals", selectTotals, nil, false},
		{"since", d.sinceStatement(), []any{0, 7, maxSince}, false},
		{"agents by name", selectAgentsByName, []any{"alice", 20}, false},
		{"agents by verdicts", selectAgentsByVerdicts, []any{7, "alice", 20}, false},
		{"agent", selectAgent, []any{"alice"}, false},
		{"verifies", selectVerifies, []any{"alice", 20}, false},
		{"verified by", selectVerifiedBy, []any{"alice", 20}, false},
		{"provers", d.proversStatement(), []any{names}, false},
		{"lineage", selectLineage, []any{id, 20}, false},
		{"task", selectTask, []any{id}, false},
		{"criteria", selectCriteria, []any{id}, false},
		{"transitions", selectTransitions, []any{id}, false},
		{"known", selectKnown + d.dialect.listed + ")", []any{names}, false},
		{"recent", d.recentStatement(), []any{`["asm"]`, 20, fieldEnd, resultEnd}, false},
		{"newest preflights", selectLastPreflights + d.dialect.listed + ofLastPreflights, []any{names}, false},
		{"preflights", selectPreflights, []any{"nightly", int64(1) << 50, afterEveryDigest, 20}, false},
		{"results", led(selectKept + ofComponent), []any{"asm", afterEveryID, 20}, false},
		{"result", selectKept + ofResult, []any{id}, false},
		{"changes", selectChanges + ofAll, []any{20}, true},
		{"changes of one", led(selectChanges + ofOneComponent), []any{"asm", 20}, false},
		{"hours", led(selectHours), []any{"asm", 0, 20}, false},
		{"waiting", selectWaiting, []any{int64(1) << 50, 20}, false},
		{"decided", selectDecided, []any{20}, false},
	}
	readings = append(readings, d.listReadings()...)
	return slices.Clip(readings)
}
