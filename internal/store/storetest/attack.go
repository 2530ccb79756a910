package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// attack is SQL of somebody with a prompt. The text may name the tasks of stage.
type attack struct {
	name string
	// only names the database that the attack is for; empty is both.
	only string
	// peel drops guards first, so that the rule behind them is attacked.
	peel []string
	// keys has a foreign SQLite client switch its foreign keys on.
	keys bool
	// setting is made before the transaction begins.
	setting string
	text    string
	// refusedBy holds the rules one of which must refuse.
	refusedBy []string
}

// The databases, as store names them.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// attacks runs every attack, each in a transaction that the attacker commits if
// it can, and looks for any trace. Together they fire every rule of the schema.
func attacks(t *testing.T, location string) {
	db := open(t, location)
	expand := stage(t, db)
	talliesAgree(t, db, raw(t, location, false))
	fired := map[string]bool{}
	witness := raw(t, location, false)
	before := dump(t, witness)
	for _, a := range allAttacks() {
		if a.only != "" && a.only != db.Kind() {
			continue
		}
		foreign := raw(t, location, a.keys)
		err := strike(t.Context(), foreign, db.Kind(), a, expand)
		foreign.Close()
		name := db.Violated(err)
		fired[name] = true
		if name == "foreign_key" && slices.ContainsFunc(a.refusedBy, isForeignKey) {
			fired[a.refusedBy[0]] = true
		} else if !slices.Contains(a.refusedBy, name) {
			t.Errorf("%s: got %v (%s), want a refusal by one of %v", a.name, err, name, a.refusedBy)
		}
		after := dump(t, witness)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s left a trace (-before +after):\n%s", a.name, diff)
		}
		before = after
	}
	for _, rule := range store.Constraints() {
		if (rule.Only == "" || rule.Only == db.Kind()) && !fired[rule.Name] {
			t.Errorf("no attack was refused by %s", rule.Name)
		}
	}
}

func isForeignKey(name string) bool {
	return slices.Contains([]string{"criteria_task", "transitions_task", "tasks_supersedes"}, name)
}

// stage makes one task of each status and returns what puts their ids into a
// text: {P} pending, {C} claimed by alice, {V} verified, {R} rejected, {O}
// rejected and superseded, {N} new, {U} new in upper case, {D} a digest.
func stage(t *testing.T, db *store.Database) func(string) string {
	t.Helper()
	superseded := brought(t, db, task.Rejected)
	successor := newTask(bob, "again", "c")
	successor.Supersedes = superseded
	sealed := sealTask(successor)
	sealed.Key = &task.IdempotencyKey{Key: "used", Content: "content"}
	if _, err := db.Create(t.Context(), sealed); err != nil {
		t.Fatal(err)
	}
	claimed := newRecord(task.KindClaimed, brought(t, db, task.Pending), alice, "e")
	claimed.Key = &task.IdempotencyKey{Key: "used", Content: "content"}
	mustApply(t, db, claimed)
	verified := brought(t, db, task.Verified)
	fresh := string(newTask(alice, "t", "c").TaskID)
	created := mustRead(t, db, verified)
	return strings.NewReplacer(append(stageRegistry(t, db),
		"{P}", string(brought(t, db, task.Pending)), "{C}", string(claimed.TaskID), "{V}", string(verified),
		"{V AT}", fmt.Sprint(int64(created.CreatedAt)), "{R}", string(brought(t, db, task.Rejected)), "{O}", string(superseded),
		"{N}", fresh, "{U}", strings.ToUpper(fresh), "{D}", strings.Repeat("0a", 32),
		"{BIRTH}", birthCriterion+birthTransition, "{CRITERION}", birthCriterion,
	)...).Replace
}

// strike runs an attack and commits. With guards peeled or several statements, a
// refusal rolls everything back, since the preparation is no trace.
func strike(ctx context.Context, foreign *sql.DB, kind string, a attack, expand func(string) string) error {
	conn, err := foreign.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	script := expand(expand(a.text)) // Once more for the ids in {BIRTH}.
	if _, err := conn.ExecContext(ctx, a.setting+"; BEGIN"); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, trigger := range a.peel {
		drop := fmt.Sprintf("DROP TRIGGER %s", trigger)
		if table, _, _ := strings.Cut(trigger, "_"); kind == postgres {
			drop = fmt.Sprintf("DROP TRIGGER %s ON %s", trigger, table)
		}
		if _, err := conn.ExecContext(ctx, drop); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	_, failed := conn.ExecContext(ctx, script)
	end := "COMMIT"
	if failed != nil && (len(a.peel) > 0 || strings.Contains(script, ";")) {
		end = "ROLLBACK"
	}
	if _, err := conn.ExecContext(ctx, end); failed == nil && err != nil {
		failed = err
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // SQLite keeps a transaction whose commit it refused.
	}
	return failed
}

// dump returns every row of the task gate, the feed and the registry.
func dump(t testing.TB, foreign *sql.DB) []string {
	t.Helper()
	var found []string
	for _, query := range []string{
		"SELECT * FROM criteria ORDER BY task_id, number", "SELECT * FROM transitions ORDER BY task_id, number",
		"SELECT * FROM tasks ORDER BY id", "SELECT id FROM heartbeat ORDER BY id",
		"SELECT * FROM alerts ORDER BY name", "SELECT * FROM alert_deliveries ORDER BY receiver, name", "SELECT * FROM alert_position ORDER BY id",
	} {
		found = append(found, dumpQuery(t, foreign, query)...)
	}
	for _, query := range []string{
		"SELECT * FROM feed ORDER BY turn, number", "SELECT * FROM totals", "SELECT * FROM latencies ORDER BY seconds",
		"SELECT * FROM agents ORDER BY id", "SELECT * FROM pairs ORDER BY prover, verifier",
	} {
		found = append(found, dumpQuery(t, foreign, query)...)
	}
	return append(found, dumpRegistry(t, foreign)...)
}

func dumpQuery(t testing.TB, foreign *sql.DB, query string) (found []string) {
	t.Helper()
	rows, err := foreign.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		found = append(found, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

// forged inserts legal transitions by SQL, past the store: the database projects
// them, so that row and history cannot disagree.
func forged(t *testing.T, location string) {
	db := open(t, location)
	id := brought(t, db, task.Pending)
	foreign := raw(t, location, false)
	for _, r := range []task.Record{
		newRecord(task.KindClaimed, id, mallory, "forged"), newRecord(task.KindVerified, id, bob, "forged too"),
	} {
		made := r.Transition()
		_, err := foreign.ExecContext(t.Context(), `INSERT INTO transitions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, NULL, NULL)`,
			string(id), made.Number, string(made.Kind), string(made.From), string(made.To), string(r.Agent),
			r.Principal.Kind, r.Principal.ID, int64(r.At), r.Text, r.Body, r.Digest)
		if err != nil {
			t.Fatalf("forge %s: %v", r.Kind, err)
		}
		agree(t, foreign)
		if got := mustRead(t, db, id).Status; got != made.To {
			t.Errorf("after a forged %s the task is %s", r.Kind, got)
		}
	}
	listed, _, err := db.List(t.Context(), task.Filter{Status: task.Verified, Limit: 1})
	if err != nil || len(listed) != 1 || listed[0].TaskID != id {
		t.Errorf("list: got %v, %v", listed, err)
	}
}

// agree checks by SQL that every task's row says what its transitions say, and
// that no transition or criterion stands without its task.
func agree(t testing.TB, foreign *sql.DB) {
	t.Helper()
	const disagreeing = `SELECT 'row and history', t.id FROM tasks t
	JOIN transitions c ON c.task_id = t.id AND c.number = 1
	LEFT JOIN transitions p ON p.task_id = t.id AND p.number = 2
	LEFT JOIN transitions v ON v.task_id = t.id AND v.number = 3
	WHERE NOT (t.status = coalesce(v.to_status, p.to_status, c.to_status)
		AND t.created_by = c.agent_id AND t.created_at = c.at
		AND coalesce(t.claimed_by, '') = coalesce(p.agent_id, '') AND coalesce(t.claimed_at, -1) = coalesce(p.at, -1)
		AND coalesce(t.verified_by, '') = coalesce(v.agent_id, '') AND coalesce(t.decided_at, -1) = coalesce(v.at, -1)
		AND t.updated_at = coalesce(v.at, p.at, c.at)
		AND t.criteria_count = (SELECT count(*) FROM criteria WHERE task_id = t.id))
UNION ALL SELECT 'no creation', id FROM tasks WHERE NOT EXISTS (SELECT 1 FROM transitions WHERE task_id = id AND number = 1)
UNION ALL SELECT 'no task', task_id FROM transitions WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = task_id)
UNION ALL SELECT 'no task', task_id FROM criteria WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = task_id)`
	if found := dumpQuery(t, foreign, disagreeing); len(found) > 0 {
		t.Errorf("%d disagreements, such as %s", len(found), found[0])
	}
}

// names compares the names in the schema with the table of constraints, in both
// directions.
func names(t *testing.T, location string) {
	db := open(t, location)
	foreign := raw(t, location, false)
	var inSchema []string
	if db.Kind() == sqlite {
		inSchema = dumpQuery(t, foreign, `SELECT name FROM sqlite_schema WHERE type = 'trigger' OR sql LIKE 'CREATE UNIQUE%'`)
		for _, table := range dumpQuery(t, foreign, `SELECT sql FROM sqlite_schema WHERE type = 'table'`) {
			words := strings.Fields(table)
			for i, word := range words {
				if word == "CONSTRAINT" {
					inSchema = append(inSchema, words[i+1])
				}
			}
		}
	} else {
		inSchema = dumpQuery(t, foreign, `SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
UNION SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'p', 'u')
	AND conrelid <> 'countersign_migrations'::regclass
UNION SELECT i.relname FROM pg_index JOIN pg_class i ON i.oid = indexrelid
	WHERE indisunique AND i.relnamespace = 'public'::regnamespace AND indrelid <> 'countersign_migrations'::regclass`)
	}
	var inTable []string
	for _, rule := range store.Constraints() {
		if !slices.Contains(fault.Codes(), rule.Code) {
			t.Errorf("%s has the unknown code %q", rule.Name, rule.Code)
		}
		if rule.Only == "" || rule.Only == db.Kind() {
			inTable = append(inTable, rule.Name)
		}
	}
	slices.Sort(inSchema)
	slices.Sort(inTable)
	if diff := cmp.Diff(inTable, inSchema); diff != "" {
		t.Errorf("names (-table +schema):\n%s", diff)
	}
}
