package storetest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// The agents of the suite.
const (
	alice   = task.AgentID("alice")
	bob     = task.AgentID("bob")
	mallory = task.AgentID("mallory")
)

// openWait bounds what a test waits for a database.
const openWait = 2 * time.Minute

// open opens the database at location until the test ends.
func open(t testing.TB, location string) *store.Database {
	t.Helper()
	db, err := store.Open(t.Context(), location, store.Options{WriteWait: openWait, ReadWait: openWait})
	if err != nil {
		t.Fatalf("open %s: %v", location, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// raw opens the database at location as a foreign SQL client does: on SQLite
// without foreign keys, unless keys asks for them.
func raw(t testing.TB, location string, keys bool) *sql.DB {
	t.Helper()
	driver, source := "pgx", location
	if !isPostgres(location) {
		driver, source = "sqlite", "file:"+location+"?_pragma=busy_timeout(30000)"
		if keys {
			source += "&_pragma=foreign_keys(ON)"
		}
	}
	opened, err := sql.Open(driver, source)
	if err != nil {
		t.Fatalf("open %s for SQL: %v", location, err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}

func isPostgres(location string) bool { return strings.HasPrefix(location, "postgres") }

// process is the principal of every record of the suite.
func process() task.Principal { return task.Principal{Kind: "process", ID: "storetest"} }

// newTask returns a sealed new task of an agent.
func newTask(agent task.AgentID, title string, criteria ...string) task.NewTask {
	id, at, err := task.NewID(time.Now())
	if err != nil {
		panic(err)
	}
	return sealTask(task.NewTask{
		Record: task.Record{TaskID: id, Kind: task.KindCreated, Agent: agent, Principal: process(), At: at},
		Title:  title, Criteria: criteria,
	})
}

func sealTask(unsealed task.NewTask) task.NewTask {
	sealed, err := unsealed.Sealed()
	if err != nil {
		panic(err)
	}
	return sealed
}

// newRecord returns a sealed claim or verdict.
func newRecord(kind task.Kind, id task.ID, agent task.AgentID, text string) task.Record {
	return sealRecord(task.Record{
		TaskID: id, Kind: kind, Agent: agent, Principal: process(), At: task.At(time.Now()), Text: text,
	})
}

func sealRecord(unsealed task.Record) task.Record {
	sealed, err := unsealed.Sealed()
	if err != nil {
		panic(err)
	}
	return sealed
}

// apply stores a claim or a verdict.
func apply(ctx context.Context, s task.Store, record task.Record) (task.Transition, error) {
	if record.Kind == task.KindClaimed {
		return s.Claim(ctx, record)
	}
	return s.Decide(ctx, record)
}

// brought creates a task and brings it to a status: alice creates and claims,
// bob decides.
func brought(t testing.TB, s task.Store, to task.Status) task.ID {
	t.Helper()
	created := newTask(alice, "a task to be "+string(to), "it holds", "it holds still")
	if _, err := s.Create(t.Context(), created); err != nil {
		t.Fatalf("create: %v", err)
	}
	id := created.TaskID
	if to != task.Pending {
		mustApply(t, s, newRecord(task.KindClaimed, id, alice, "it was done"))
	}
	if to == task.Verified || to == task.Rejected {
		mustApply(t, s, newRecord(task.Kind(to), id, bob, "it was checked"))
	}
	return id
}

func mustApply(t testing.TB, s task.Store, record task.Record) task.Transition {
	t.Helper()
	made, err := apply(t.Context(), s, record)
	if err != nil {
		t.Fatalf("%s by %s: %v", record.Kind, record.Agent, err)
	}
	return made
}

func mustRead(t testing.TB, s task.Store, id task.ID) task.Task {
	t.Helper()
	read, err := s.Task(t.Context(), id)
	if err != nil {
		t.Fatalf("read task %s: %v", id, err)
	}
	return read
}
