package storetest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// dumpRegistry returns every row of the registry.
func dumpRegistry(t testing.TB, foreign *sql.DB) []string {
	t.Helper()
	var found []string
	for _, query := range []string{
		"SELECT * FROM results ORDER BY id", "SELECT * FROM components ORDER BY name", "SELECT * FROM tool_lists ORDER BY digest",
		"SELECT * FROM hours ORDER BY start, component", "SELECT * FROM changes ORDER BY number",
		"SELECT * FROM preflights ORDER BY run, at, digest", "SELECT * FROM leases ORDER BY name", "SELECT * FROM history ORDER BY id",
	} {
		found = append(found, dumpQuery(t, foreign, query)...)
	}
	return found
}

// balanced checks by SQL that the account is the sum of what is there, and that
// each component's newest result is there.
func balanced(t testing.TB, foreign *sql.DB) {
	t.Helper()
	nothing(t, foreign, `SELECT 'hours', hour_bytes FROM history WHERE hour_bytes <> (SELECT coalesce(sum(bytes), 0) FROM hours)
UNION ALL SELECT 'account', bytes FROM history WHERE bytes <> (SELECT coalesce(sum(bytes), 0) FROM results)
	+ (SELECT coalesce(sum(bytes), 0) FROM hours) + (SELECT coalesce(sum(bytes), 0) FROM preflights)
UNION ALL SELECT 'newest of ' || name, 0 FROM components
	WHERE result_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM results WHERE id = result_id AND component = name)`)
}

// addedUp checks by SQL that the hours are what the results add up to, as long as
// nothing was trimmed.
func addedUp(t testing.TB, foreign *sql.DB) {
	t.Helper()
	const each = `SELECT component, probed_at - probed_at % 3600000 AS start, sum(CASE outcome WHEN 'passed' THEN 1 ELSE 0 END) AS passed,
	sum(CASE outcome WHEN 'failed' THEN 1 ELSE 0 END) AS failed, sum(CASE outcome WHEN 'undecided' THEN 1 ELSE 0 END) AS undecided,
	sum(latency) AS latency_sum, max(latency) AS latency_max FROM results GROUP BY component, probed_at - probed_at % 3600000`
	const stored = `SELECT component, start, passed, failed, undecided, latency_sum, latency_max FROM hours`
	nothing(t, foreign, `SELECT * FROM (`+each+` EXCEPT `+stored+`) AS lacking UNION ALL SELECT * FROM (`+stored+` EXCEPT `+each+`) AS surplus`)
}

// nothing runs a query that must not find anything.
func nothing(t testing.TB, foreign *sql.DB, query string) {
	t.Helper()
	if found := dumpQuery(t, foreign, query); len(found) > 0 {
		t.Errorf("%d found, such as %s, by %s", len(found), found[0], query)
	}
}

// mustTrim trims until there is nothing more to trim and returns how many rows
// went.
func mustTrim(t testing.TB, db *store.Database, now time.Time, retention registry.Retention) int {
	t.Helper()
	const step = 500
	total := 0
	for {
		removed, err := db.Trim(t.Context(), now, retention, step)
		if err != nil {
			t.Fatalf("trim: %v", err)
		}
		total += removed
		if removed < step {
			return total
		}
	}
}
