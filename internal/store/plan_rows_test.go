package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// spelled is the text of a reading with its arguments in their places.
func spelled(t *testing.T, reading store.Reading) string {
	t.Helper()
	return regexp.MustCompile(`\$[0-9]+`).ReplaceAllStringFunc(reading.Text, func(name string) string {
		number, err := strconv.Atoi(name[1:])
		if err != nil {
			t.Fatal(err)
		}
		return "'" + fmt.Sprint(reading.Args[number-1]) + "'"
	})
}

// fillAgainstPlans are rows of which the planner expects many of a kind at either end
// of a table, where there are none: bob created every second task, of which only the
// oldest are open; alice claims the newest tenth; asm was probed a long time ago.
const fillAgainstPlans = `ALTER TABLE tasks DISABLE TRIGGER ALL;
ALTER TABLE results DISABLE TRIGGER ALL;
ALTER TABLE changes DISABLE TRIGGER ALL;
ALTER TABLE hours DISABLE TRIGGER ALL;
INSERT INTO tasks (id, title, status, created_by, created_at, claimed_by, claimed_at, verified_by, decided_at, updated_at, criteria_count)
SELECT id, 't', status, creator, at, CASE WHEN status <> 'pending' THEN prover END, CASE WHEN status <> 'pending' THEN at END,
	CASE WHEN status IN ('verified', 'rejected') THEN 'v' END, CASE WHEN status IN ('verified', 'rejected') THEN at END, at, 1
FROM (SELECT '01890000-0000-7000-8000-' || lpad(n::text, 12, '0') AS id, n * 1000 AS at,
	CASE WHEN n % 2 = 0 THEN 'bob' ELSE 'c-' || (n % 49) END AS creator, CASE WHEN n > 18000 THEN 'alice' ELSE 'p-' || (n % 31) END AS prover,
	CASE WHEN n > 18000 THEN 'claimed' WHEN n <= 40 THEN CASE WHEN n % 4 < 2 THEN 'pending' ELSE 'claimed' END WHEN n % 2 = 0 THEN 'verified'
		WHEN n % 11 = 0 THEN 'rejected' WHEN n % 3 = 0 THEN 'pending' WHEN n % 7 = 0 THEN 'claimed' ELSE 'verified' END AS status
	FROM generate_series(1, 20000) AS n) AS made;
INSERT INTO results SELECT '01890000-0000-7000-8000-' || lpad(n::text, 12, '0'), CASE WHEN n <= 5000 THEN 'asm' ELSE 'c-' || n % 3 END,
	'mcp_server', n, 'failed', '[]', '', 0, 1, '{}', 1, NULL FROM generate_series(1, 20000) AS n;
INSERT INTO changes (component, at, from_status, to_status, causes, result_id)
SELECT CASE WHEN n <= 5000 THEN 'asm' ELSE 'c-' || n % 3 END, n, 'available', 'unknown', '[]', '' FROM generate_series(1, 20000) AS n;
INSERT INTO hours SELECT n * 3600000::bigint, CASE WHEN n <= 5000 THEN 'asm' ELSE 'c-' || n % 3 END, 1, 0, 0, 1, 1, 1 FROM generate_series(1, 20000) AS n;
INSERT INTO alerts SELECT 'task:' || id, id, 'task', id, 'firing', 1, NULL, 1, NULL, 0, '{}' FROM tasks WHERE status = 'claimed' ORDER BY id LIMIT 100;
VACUUM ANALYZE`

// mostRead bounds the rows of one step of a plan: those of the longest answer, and
// those that a page of tasks looks at.
const mostRead = max(1000, task.MaxLookedAt)

// TestReadings_readNoMoreThanTheirAnswersOnPostgres runs the plans that PostgreSQL
// chooses on such rows: no step reads or passes over more rows than answers have, or pages look at.
func TestReadings_readNoMoreThanTheirAnswersOnPostgres(t *testing.T) {
	location := storetest.Postgres(t)
	db := open(t, location, store.Options{})
	other := another(t, location)
	other.SetMaxOpenConns(1)
	for statement := range strings.SplitSeq(fillAgainstPlans, ";\n") {
		run(t, other, statement)
	}
	read := regexp.MustCompile(`Scan.*actual time=\S+ rows=(\d+)\S* loops=(\d+)`)
	removed := regexp.MustCompile(`Rows Removed by .*: (\d+)()`)
	for _, reading := range db.Readings() {
		plan := explain(t, other, "EXPLAIN (ANALYZE) "+spelled(t, reading), nil)
		for _, step := range plan {
			for _, kind := range []*regexp.Regexp{read, removed} {
				if found := kind.FindStringSubmatch(step); found != nil && product(t, found[1:]) > mostRead {
					t.Errorf("%s reads too much: %q in\n%s", reading.Name, step, strings.Join(plan, "\n"))
				}
			}
		}
	}
}

// product multiplies the numbers of a step.
func product(t *testing.T, numbers []string) int {
	t.Helper()
	product := 1
	for _, text := range numbers {
		if text == "" {
			continue
		}
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		product *= number
	}
	return product
}
