package store_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// another opens the database as a foreign client.
func another(t *testing.T, location string) *sql.DB {
	t.Helper()
	other, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

// holdTurn locks the account, for which every recording writer waits.
func holdTurn(t *testing.T, other *sql.DB) *sql.Tx {
	t.Helper()
	holder, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT 1 FROM history FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return holder
}

// outcomesOf are the marks of a component of the fleet.
func outcomesOf(t *testing.T, db *store.Database, record registry.Record) string {
	t.Helper()
	known, err := db.Known(t.Context(), []string{record.Registration.Name})
	if err != nil {
		t.Fatal(err)
	}
	if len(known) == 0 {
		return ""
	}
	return known[0].Standing.Outcomes
}

// TestRecord_isUnavailableWhileAnotherHasTheTurn holds the turn in another
// session: nothing changes, and the same call then succeeds, also on a connection
// whose transaction was given up.
func TestRecord_isUnavailableWhileAnotherHasTheTurn(t *testing.T) {
	location := storetest.Postgres(t)
	open(t, location, store.Options{}) // the schema, which takes longer to make than the wait below
	db := open(t, location, store.Options{WriteWait: 300 * time.Millisecond, Connections: 1})
	record := passOf(t, 1, time.Now())
	holder := holdTurn(t, another(t, location))
	if err := db.Record(t.Context(), nil, []registry.Record{record}); !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want E_UNAVAILABLE", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := outcomesOf(t, db, record); got != "" {
		t.Errorf("what was refused left %q", got)
	}
	if err := open(t, location, store.Options{Connections: 1}).Record(t.Context(), nil, []registry.Record{record}); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	if got := outcomesOf(t, db, record); got != "p" {
		t.Errorf("outcomes %q, want one pass", got)
	}
}

// TestRecord_storesOnceWhenItsConnectionIsEnded ends the session of a transaction
// that waits for its turn; all of it is done again on another.
func TestRecord_storesOnceWhenItsConnectionIsEnded(t *testing.T) {
	location := storetest.Postgres(t)
	db := open(t, location, store.Options{})
	lease, taken, err := db.TakeLease(t.Context(), registry.Lease{}, "one")
	if err != nil || !taken {
		t.Fatalf("the lease: %v, %v", taken, err)
	}
	record, other := passOf(t, 1, time.Now()), another(t, location)
	holder := holdTurn(t, other)
	answered := make(chan error, 1)
	go func() { answered <- db.Record(t.Context(), &lease.Fence, []registry.Record{record}) }()
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
		t.Errorf("got %v, want the result stored", err)
	}
	if got := outcomesOf(t, db, record); got != "p" {
		t.Errorf("outcomes %q, want one pass", got)
	}
	if now, err := db.Lease(t.Context()); err != nil || now.Beat != lease.Beat+1 {
		t.Errorf("the lease was %+v and is %+v, %v: want one beat", lease, now, err)
	}
}
