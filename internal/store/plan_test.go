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

// planOf is the step by which SQLite is to find the tasks of a filter, and how often:
// a range of an index, with an end where others are passed over. What is merged or
// passed over comes from the index alone, and its page is put in order.
func planOf(filter task.Filter) (step string, times int, sorts bool) {
	index, conditions := "tasks_by_status", "status=?"
	switch {
	case filter.Supersedes != "":
		index, conditions = "tasks_one_successor", "supersedes=?"
	case byAge(filter):
		index = "tasks_by_age"
	case filter.ClaimedBy != "":
		index, conditions = "tasks_by_prover", "claimed_by=? AND status=?"
	case filter.CreatedBy != "":
		index, conditions = "tasks_by_creator", "created_by=? AND status=?"
	case filter.Status == "" && filter.VerifiableBy == "" && filter.Before != "":
		return "SEARCH tasks USING PRIMARY KEY (id<?)", 1, false
	case filter.Status == "" && filter.VerifiableBy == "":
		return "SCAN tasks", 1, false
	}
	conditions += endsOf(filter)
	times = len(statusesOf(filter))
	if filter.Supersedes != "" {
		times = 1
	}
	if sorts = times > 1 || passesOver(filter); sorts {
		index = "COVERING INDEX " + index
	} else {
		index = "INDEX " + index
	}
	return "SEARCH tasks USING " + index + " (" + conditions + ")", times, sorts
}

// endsOf are the conditions of the ends of a range.
func endsOf(filter task.Filter) (conditions string) {
	switch {
	case filter.After.ID != "" && filter.Supersedes != "" && byAge(filter):
	case filter.After.ID != "" && byAge(filter):
		conditions = " AND (updated_at,id)>(?,?)"
	case filter.After.ID != "", passesOver(filter) && !byAge(filter):
		conditions = " AND id>?"
	}
	switch {
	case passesOver(filter) && byAge(filter):
		conditions += " AND (updated_at,id)<(?,?)"
	case filter.Before != "":
		conditions += " AND id<?"
	}
	return conditions
}

// TestList_readsARangeOfAnIndexWithEveryFilter reads SQLite's plans: rows come in
// their order from an index, of which a range with two ends is read where some are
// passed over, so a page costs no more the more tasks there are.
func TestList_readsARangeOfAnIndexWithEveryFilter(t *testing.T) {
	database, engine := openEngine(t)
	for _, filter := range everyFilter() {
		if len(statusesOf(filter)) == 0 {
			continue
		}
		end, err := database.theEnd(filter)
		if err != nil {
			t.Fatal(err)
		}
		text, arguments := pageStatement(sqliteDialect().leads, filter, end)
		steps, err := all(t.Context(), engine.reader, scanPlan, "EXPLAIN QUERY PLAN "+text, arguments...)
		if err != nil {
			t.Fatal(err)
		}
		want, times, sorts := planOf(filter)
		for _, step := range steps {
			page := sorts && (step == "SEARCH tasks USING PRIMARY KEY (id=?)" || step == "USE TEMP B-TREE FOR ORDER BY")
			switch {
			case step == want:
				times--
			case !page && (strings.Contains(step, "tasks ") || strings.Contains(step, "TEMP B-TREE")):
				t.Errorf("%+v: %q is not %q", filter, step, want)
			}
		}
		if times != 0 {
			t.Errorf("%+v: %d more times %q was wanted: %q", filter, times, want, steps)
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
	if walked := strings.Count(strings.Join(steps, "; "), "COVERING INDEX tasks_by_"); walked != 4 {
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
