package store

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/task"
)

// plan is one line of SQLite's plan for a statement.
func scanPlan(from row) (string, error) {
	var id, parent, unused int
	var detail string
	err := from.Scan(&id, &parent, &unused, &detail)
	return detail, err
}

// TestList_meetsAnIndexWithEveryFilter reads SQLite's plans: rows come in their
// order from an index, so a page costs no more than the rows it passes over.
func TestList_meetsAnIndexWithEveryFilter(t *testing.T) {
	_, engine := openEngine(t)
	for want, filter := range map[string]task.Filter{
		"SCAN tasks":                                    {},
		"USING PRIMARY KEY (id<?)":                      {Before: "x"},
		"INDEX tasks_by_status (status=?)":              {Status: task.Pending},
		"INDEX tasks_by_status (status=? AND id<?)":     {Status: task.Pending, Before: "x"},
		"INDEX tasks_by_creator (created_by=?)":         {CreatedBy: "alice"},
		"INDEX tasks_by_prover (claimed_by=?)":          {ClaimedBy: "alice"},
		"INDEX tasks_by_prover (claimed_by=? AND id<?)": {ClaimedBy: "alice", Before: "x"},
		"INDEX tasks_by_status (status=?) ":             {VerifiableBy: "alice"},
		"INDEX tasks_one_successor (supersedes=?)":      {Supersedes: "x"},
	} {
		filter.Limit = 20
		text, arguments := pageStatement(filter)
		steps, err := all(t.Context(), engine.reader, scanPlan, "EXPLAIN QUERY PLAN "+text, arguments...)
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Join(steps, "; ")
		if !strings.Contains(told, strings.TrimSpace(want)) || strings.Contains(told, "TEMP B-TREE") {
			t.Errorf("%+v: got the plan %q, want %q and no sorting", filter, told, want)
		}
	}
}

// TestCounts_readNoMoreThanTheirLimit reads the plan: each count walks an index.
func TestCounts_readNoMoreThanTheirLimit(t *testing.T) {
	_, engine := openEngine(t)
	steps, err := all(t.Context(), engine.reader, scanPlan, "EXPLAIN QUERY PLAN "+selectCounts, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if walked := strings.Count(strings.Join(steps, "; "), "COVERING INDEX tasks_by_age (status=?)"); walked != 4 {
		t.Errorf("%d of 4 counts walk the index: %q", walked, steps)
	}
}

// TestProvers_readNoMorePairsThanTheyTell reads the plan: each place of a verifier is
// found in the order of an index, and each pair by its key.
func TestProvers_readNoMorePairsThanTheyTell(t *testing.T) {
	database, engine := openEngine(t)
	steps, err := all(t.Context(), engine.reader, scanPlan, "EXPLAIN QUERY PLAN "+database.proversStatement(), `["alice"]`)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(steps, "; ")
	places := strings.Count(told, "INDEX pairs_by_verifier (verifier=?)")
	if places != task.MostProvers || !strings.Contains(told, "PRIMARY KEY (prover=? AND verifier=?)") || strings.Contains(told, "SCAN pairs") {
		t.Errorf("%d of %d places are found in the index: %q", places, task.MostProvers, steps)
	}
}
