package store_test

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestLocation_hidesThePassword(t *testing.T) {
	location, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	query.Set("password", "s3cret")
	location.RawQuery = query.Encode()
	db := open(t, location.String(), store.Options{})
	if strings.Contains(db.Location(), "s3cret") || !strings.HasPrefix(db.Location(), "postgres://postgres@") || db.Kind() != "postgres" {
		t.Errorf("got %s of kind %s", db.Location(), db.Kind())
	}
}

func TestOpen_refusesAPostgresURLWithoutShowingIt(t *testing.T) {
	told := refused(t, "postgres://ada:s3cret@127.0.0.1:port/db", fault.InvalidArgument)
	if strings.Contains(told, "s3cret") {
		t.Errorf("the password shows: %s", told)
	}
}

func TestOpen_isUnavailableWithoutAServer(t *testing.T) {
	location := "postgres://ada:s3cret@/db?host=" + url.QueryEscape(t.TempDir())
	if told := refused(t, location, fault.Unavailable); strings.Contains(told, "s3cret") {
		t.Errorf("the password shows: %s", told)
	}
}

// TestOpen_saysWhyTheServerRefusesAConnection names what the server, or a pooler
// before it, does not take.
func TestOpen_saysWhyTheServerRefusesAConnection(t *testing.T) {
	location := storetest.Postgres(t)
	separator := "?"
	if strings.Contains(location, "?") {
		separator = "&"
	}
	for option, want := range map[string]string{"no_such_option=1": "no_such_option", "search_path=no_such_schema": "search_path"} {
		if told := refused(t, location+separator+option, fault.Unavailable); !strings.Contains(told, want) {
			t.Errorf("with %s: %s", option, told)
		}
	}
}

// TestClaim_isUnavailableWhileTheTaskIsLocked holds the task's row in another
// session: the server gives up, nothing changes, and the same call then succeeds.
func TestClaim_isUnavailableWhileTheTaskIsLocked(t *testing.T) {
	location := storetest.Postgres(t)
	open(t, location, store.Options{}) // makes the schema, which may take longer
	db := open(t, location, store.Options{WriteWait: 300 * time.Millisecond})
	created := newTask(t, "locked")
	if _, err := db.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	holder, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT 1 FROM tasks FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	claimed, err := task.Record{
		TaskID: created.TaskID, Kind: task.KindClaimed, Agent: "bob", At: created.At, Principal: created.Principal, Text: "done",
	}.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Claim(t.Context(), claimed); !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want E_UNAVAILABLE", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if read, err := db.Task(t.Context(), created.TaskID); err != nil || read.Status != task.Pending {
		t.Errorf("got %s, %v, want a pending task", read.Status, err)
	}
	patient := open(t, location, store.Options{})
	if _, err := patient.Claim(t.Context(), claimed); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// TestClaim_hasOneWinnerWhateverTheServersIsolation makes the strictest level the
// default of the database.
func TestClaim_hasOneWinnerWhateverTheServersIsolation(t *testing.T) {
	const callers = 8
	location := storetest.Postgres(t)
	other, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	run(t, other, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
	END $$`)
	db := open(t, location, store.Options{Connections: callers})
	for range 20 {
		created := newTask(t, "contended")
		if _, err := db.Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		claimed, err := task.Record{
			TaskID: created.TaskID, Kind: task.KindClaimed, Agent: "bob", At: created.At, Principal: created.Principal, Text: "done",
		}.Sealed()
		if err != nil {
			t.Fatal(err)
		}
		answers := make([]error, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() { _, answers[i] = db.Claim(t.Context(), claimed) })
		}
		all.Wait()
		won := 0
		for _, err := range answers {
			if err == nil {
				won++
			} else if !errors.Is(err, fault.WrongState) {
				t.Errorf("got %v, want E_WRONG_STATE", err)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d callers won", won, callers)
		}
	}
}

// TestCreate_survivesTheLossOfItsConnections ends every session of the database
// between two calls.
func TestCreate_survivesTheLossOfItsConnections(t *testing.T) {
	location := storetest.Postgres(t)
	db := open(t, location, store.Options{})
	other, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	for range 5 {
		if _, err := db.Create(t.Context(), newTask(t, "stored")); err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	if listed, _, err := db.List(t.Context(), task.Filter{Limit: 10}); err != nil || len(listed) != 5 {
		t.Errorf("got %d tasks, %v, want 5", len(listed), err)
	}
}

// TestClaim_succeedsOnceWhenItsConnectionIsEnded ends the session of a claim that
// waits for a lock; the claim is sent again on another.
func TestClaim_succeedsOnceWhenItsConnectionIsEnded(t *testing.T) {
	location := storetest.Postgres(t)
	db := open(t, location, store.Options{})
	created := newTask(t, "contended")
	if _, err := db.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	claimed, err := task.Record{
		TaskID: created.TaskID, Kind: task.KindClaimed, Agent: "bob", At: created.At, Principal: created.Principal, Text: "done",
	}.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	holder, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT 1 FROM tasks FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := db.Claim(t.Context(), claimed)
		answered <- err
	}()
	const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for ended := 0; ended == 0; {
		if err := other.QueryRowContext(t.Context(), end).Scan(&ended); err != nil {
			t.Fatal(err)
		}
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("got %v, want the claim", err)
	}
	if read, err := db.Task(t.Context(), created.TaskID); err != nil || len(read.History) != 2 || read.ClaimedBy != "bob" {
		t.Errorf("got %+v, %v", read, err)
	}
}
