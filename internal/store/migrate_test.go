package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// versionOne are the statements beside the schema that make an empty database
// one of schema version 1, as the first version of Countersign left it.
var versionOne = map[string]string{
	"sqlite": `PRAGMA journal_mode = WAL; PRAGMA application_id = 1131636590; PRAGMA user_version = 1`,
	"postgres": `CREATE TABLE countersign_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO countersign_migrations VALUES (1, '0001_task_gate.sql')`,
}

// TestOpen_keepsTheTasksOfAnOlderDatabase makes a database of schema version 1
// with a task of every status, opens it, and finds all as it was. The registry's
// tables work, and the task gate goes on.
func TestOpen_keepsTheTasksOfAnOlderDatabase(t *testing.T) {
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			location := fresh(t)
			ids := makeVersionOne(t, name, location)
			db := open(t, location, store.Options{})
			for status, id := range ids {
				read, err := db.Task(t.Context(), id)
				if err != nil || read.Status != status || read.Title != "an old task" {
					t.Errorf("the task that was %s: %+v, %v", status, read, err)
				}
				transitions, err := db.Transitions(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				texts := task.Texts{Criteria: read.AcceptanceCriteria, Evidence: read.Evidence, Notes: read.Notes}
				if built, err := task.Rebuild(transitions, texts); err != nil || cmp.Diff(built, read) != "" {
					t.Errorf("the record of the task that was %s no longer agrees: %v", status, err)
				}
			}
			oldEvents(t, db, ids)
			if _, err := db.Create(t.Context(), newTask(t, "a new task")); err != nil {
				t.Error(err)
			}
			if lease, err := db.Lease(t.Context()); err != nil || lease.Holder != "" {
				t.Errorf("the lease of the patrol: %+v, %v", lease, err)
			}
		})
	}
}

// oldEvents looks whether what was there before the feed is in it, each task in the
// order of its transitions, and is counted.
func oldEvents(t *testing.T, db *store.Database, ids map[task.Status]task.ID) {
	t.Helper()
	events, err := db.Events(t.Context(), feed.Position{}, feed.MaxEvents)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, event := range events {
		got[event.Subject] = append(got[event.Subject], event.What)
	}
	want := map[string][]string{
		string(ids[task.Pending]): {"pending"}, string(ids[task.Claimed]): {"pending", "claimed"},
		string(ids[task.Verified]): {"pending", "claimed", "verified"}, string(ids[task.Rejected]): {"pending", "claimed", "rejected"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the events of what was there before (-want +got):\n%s", diff)
	}
	if _, err := db.RollUp(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	tally, err := db.Tally(t.Context())
	if err != nil || tally.Created != 4 || tally.Claimed != 3 || tally.Verified != 1 || tally.Rejected != 1 {
		t.Errorf("what was there before is counted as %+v, %v", tally, err)
	}
}

// makeVersionOne brings the schema of version 1 into an empty database by SQL and
// fills it with tasks, and returns their ids by status.
func makeVersionOne(t *testing.T, kind, location string) map[task.Status]task.ID {
	t.Helper()
	driver := map[string]string{"sqlite": "sqlite", "postgres": "pgx"}[kind]
	old, err := sql.Open(driver, location)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	old.SetMaxOpenConns(1)
	schema, err := os.ReadFile(filepath.Join("migrations", kind, "0001_task_gate.sql"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, old, string(schema))
	run(t, old, versionOne[kind])
	ids := map[task.Status]task.ID{}
	for _, status := range task.Statuses() {
		created := newTask(t, "an old task")
		ids[status] = created.TaskID
		insertOld(t, old, created, status)
	}
	return ids
}

// insertOld inserts a task and brings it to a status, as the program that knew
// only version 1 did.
func insertOld(t *testing.T, old *sql.DB, created task.NewTask, status task.Status) {
	t.Helper()
	tx, err := old.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	do := func(text string, arguments ...any) {
		if _, err := tx.ExecContext(t.Context(), text, arguments...); err != nil {
			t.Fatalf("%s: %v", strings.SplitN(text, "\n", 2)[0], err)
		}
	}
	transition := func(r task.Record) {
		made := r.Transition()
		var from any
		if made.From != "" {
			from = string(made.From)
		}
		do(`INSERT INTO transitions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, NULL, NULL)`,
			string(r.TaskID), made.Number, string(made.Kind), from, string(made.To), string(r.Agent),
			r.Principal.Kind, r.Principal.ID, int64(r.At), r.Text, r.Body, r.Digest)
	}
	do(`INSERT INTO criteria VALUES ($1, 1, $2)`, string(created.TaskID), created.Criteria[0])
	transition(created.Record)
	do(`INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count) VALUES ($1, $2, 'pending', $3, $4, $4, 1)`,
		string(created.TaskID), created.Title, string(created.Agent), int64(created.At))
	follow := func(kind task.Kind, agent task.AgentID) {
		sealed, err := task.Record{
			TaskID: created.TaskID, Kind: kind, Agent: agent, At: created.At, Principal: created.Principal, Text: "it was looked at",
		}.Sealed()
		if err != nil {
			t.Fatal(err)
		}
		transition(sealed)
	}
	if status != task.Pending {
		follow(task.KindClaimed, "alice")
	}
	if status == task.Verified || status == task.Rejected {
		follow(task.Kind(status), "bob")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestSQLite_staysSmallForAYear stores results for a year, time being what the
// test says, with room for few of them. The file ends at no more than a quarter
// above what the history may take, and what is beside it: the schema, the
// components and the changes for ever.
func TestSQLite_staysSmallForAYear(t *testing.T) {
	file := storetest.SQLite(t)
	db := open(t, file, store.Options{})
	days, permitted := 365, int64(1<<20)
	if raceDetector {
		days, permitted = days/12, permitted/8
	}
	storetest.Year(t, db, 20, days, permitted)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	inspected := foreign(t, file)
	var changes int64
	if err := inspected.QueryRowContext(t.Context(), `SELECT count(*) FROM changes`).Scan(&changes); err != nil {
		t.Fatal(err)
	}
	const beside, change = 256 << 10, 256
	t.Logf("a file of %d bytes; %d are permitted, %d changes", found.Size(), permitted, changes)
	if limit := permitted + permitted/4 + beside + change*changes; found.Size() > limit {
		t.Errorf("the file has %d bytes, want at most %d", found.Size(), limit)
	}
}
