package store

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/task"
)

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
	readings := []Reading{
		{"events", selectEvents + ` WHERE ` + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false},
		{"ends", selectEnds + last + endsBetween + last + endsAfter, nil, true},
		{"roll-up", selectUncounted + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 1000}, false},
		{"removal", selectPositions + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`, []any{0, 7, 2000}, false},
		{"tally", selectTally, nil, false},
		{"oldest", selectOldest, nil, false},
		{"counts", selectCounts, []any{1000}, false},
		{"agents by name", selectAgentsByName, []any{"alice", 20}, false},
		{"agents by verdicts", selectAgentsByVerdicts, []any{20}, true},
		{"agent", selectAgent, []any{"alice"}, false},
		{"verifies", selectVerifies, []any{"alice", 20}, false},
		{"verified by", selectVerifiedBy, []any{"alice", 20}, false},
		{"provers", d.proversStatement(), []any{names}, false},
		{"lineage", selectLineage, []any{id, 20}, false},
		{"task", selectTask, []any{id}, false},
		{"criteria", selectCriteria, []any{id}, false},
		{"transitions", selectTransitions, []any{id}, false},
		{"known", selectKnown + d.dialect.listed + ")", []any{names}, false},
		{"recent", selectRecent + d.dialect.listed + ofRecent, []any{names, 20, fieldEnd, resultEnd}, false},
		{"newest preflights", selectLastPreflights + d.dialect.listed + ofLastPreflights, []any{names}, false},
		{"preflights", selectPreflights, []any{"nightly", 20}, false},
		{"results", selectKept + ofComponent, []any{"asm", afterEveryID, 20}, false},
		{"result", selectKept + ofResult, []any{id}, false},
		{"changes", selectChanges + ofAll, []any{20}, true},
		{"changes of one", selectChanges + ofOneComponent, []any{"asm", 20}, false},
		{"hours", selectHours, []any{"asm", 0, 20}, false},
	}
	for name, filter := range map[string]task.Filter{
		"newest tasks":              {},
		"newest tasks, on":          {Before: id},
		"newest tasks of a status":  {Status: task.Claimed},
		"oldest tasks":              {Status: task.Claimed, OldestFirst: true},
		"oldest tasks, on":          {Status: task.Claimed, OldestFirst: true, After: task.Place{At: 7, ID: id}},
		"oldest tasks to verify":    {Status: task.Claimed, OldestFirst: true, VerifiableBy: "bob"},
		"oldest tasks of a creator": {Status: task.Claimed, OldestFirst: true, CreatedBy: "bob"},
	} {
		filter.Limit = 20
		text, args := pageStatement(filter)
		readings = append(readings, Reading{name, text, args, name == "newest tasks"})
	}
	return slices.Clip(readings)
}
