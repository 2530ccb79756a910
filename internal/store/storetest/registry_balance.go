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

// balanced checks by SQL that the account is the sum of what is there, that each
// component's newest result is there, and that the hours hold at least the
// results that are there.
func balanced(t testing.TB, foreign *sql.DB) {
	t.Helper()
	const unbalanced = `SELECT 'account', bytes FROM history WHERE bytes <> (SELECT coalesce(sum(bytes), 0) FROM results)
	+ (SELECT coalesce(sum(bytes), 0) FROM hours) + (SELECT coalesce(sum(bytes), 0) FROM preflights)
UNION ALL SELECT 'newest of ' || name, 0 FROM components
	WHERE result_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM results WHERE id = result_id AND component = name)
UNION ALL SELECT 'hour of ' || component, count(*) FROM results GROUP BY component, probed_at - probed_at % 3600000
	HAVING count(*) > (SELECT sum(passed + failed + undecided) FROM hours WHERE hours.component = results.component
		AND start = min(probed_at) - min(probed_at) % 3600000)`
	if wrong := dumpQuery(t, foreign, unbalanced); len(wrong) > 0 {
		t.Errorf("%d imbalances, such as %s", len(wrong), wrong[0])
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
