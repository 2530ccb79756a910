package store_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// tablesThatGrow are those that no page, metric or beat of the feed may scan.
const tablesThatGrow = `(tasks|transitions|criteria|feed|agents|pairs|results|components|changes|hours|preflights)\b`

// explain returns the plan of a statement.
func explain(t *testing.T, db *sql.DB, text string, args []any) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(values[len(values)-1]))
	}
	if err := rows.Err(); err != nil || len(lines) == 0 {
		t.Fatalf("%s: a plan of %d lines, %v", text, len(lines), err)
	}
	return lines
}

// TestReadings_scanNoTableOnSQLite reads the plans: rows are found by a key or an
// index, or are the first of an index in its order, without sorting.
func TestReadings_scanNoTableOnSQLite(t *testing.T) {
	location := storetest.SQLite(t)
	scan := regexp.MustCompile(`^SCAN ` + tablesThatGrow)
	for _, reading := range open(t, location, store.Options{}).Readings() {
		plan := explain(t, foreign(t, location), "EXPLAIN QUERY PLAN "+reading.Text, reading.Args)
		for _, step := range plan {
			if scan.MatchString(step) && !reading.Walks {
				t.Errorf("%s scans: %q in %q", reading.Name, step, plan)
			}
			if reading.Walks && strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s sorts a table: %q", reading.Name, plan)
			}
		}
	}
}

// fillForPlans are rows enough for a planner to prefer an index to a scan.
const fillForPlans = `INSERT INTO criteria SELECT '01890000-0000-7000-8000-' || lpad(n::text, 12, '0'), 1, 'c' FROM generate_series(1, 5000) AS n;
INSERT INTO transitions SELECT task_id, 1, 'created', NULL, 'pending', 'alice', 'process', 'p', 5, '', repeat('b', 500), repeat('0a', 32), NULL, NULL FROM criteria;
INSERT INTO tasks SELECT task_id, 't', 'pending', agent_id, at, NULL, NULL, NULL, NULL, at, 1, NULL FROM transitions;
INSERT INTO preflights SELECT 'run-' || n, n, 'd', 0, 1, '[]', NULL FROM generate_series(1, 5000) AS n;
INSERT INTO pairs SELECT 'p-' || n, 'v-' || n, 1, 0, 0 FROM generate_series(1, 5000) AS n;
INSERT INTO agents SELECT 'a-' || n, 1, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, 5000) AS n;
INSERT INTO components (name, kind, definition, registered_at, settled, streak, outcomes, flapping, causes, reason, degraded,
	failure_causes, failure_reason, tools_digest, accepted_digest)
SELECT 'c-' || n, 'mcp_server', 'd', 0, '', 0, '', 0, '[]', '', 0, '[]', '', '', '' FROM generate_series(1, 5000) AS n;
ANALYZE`

// TestReadings_scanNoTableOnPostgres reads the plans that tables of some size get:
// each use of an index has a condition, or walks it from an end. Of tables that are
// empty here it is asked that there be an index for the purpose.
func TestReadings_scanNoTableOnPostgres(t *testing.T) {
	location := storetest.Postgres(t)
	db := open(t, location, store.Options{})
	other := another(t, location)
	other.SetMaxOpenConns(1)
	run(t, other, fillForPlans)
	run(t, other, "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
	scan := regexp.MustCompile(`(Seq|Bitmap Heap) Scan on ` + tablesThatGrow)
	index := regexp.MustCompile(`Index( Only)? Scan.* on ` + tablesThatGrow)
	for _, reading := range db.Readings() {
		plan := explain(t, other, "EXPLAIN (COSTS OFF) "+spelled(t, reading), nil)
		for i, step := range plan {
			unbounded := index.MatchString(step) && (i+1 == len(plan) || !strings.Contains(plan[i+1], "Index Cond"))
			if scan.MatchString(step) || unbounded && !reading.Walks {
				t.Errorf("%s scans: %q in\n%s", reading.Name, step, strings.Join(plan, "\n"))
			}
		}
	}
}
