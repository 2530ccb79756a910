package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// digestOfNothing has the form of a digest.
const digestOfNothing = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// LateCommits has a transaction of PostgreSQL claim a task early and commit late,
// in each of the ways in which it may have got its number. Whoever reads on while
// others commit before it misses neither their events nor its own.
func LateCommits(t *testing.T) {
	t.Helper()
	const claim = `INSERT INTO transitions VALUES ('{P}', 2, 'claimed', 'pending', 'claimed', 'mallory', 'process', 'p', 5, 'e', 'b', '{D}', NULL, NULL)`
	for name, steps := range map[string][2]string{
		"the claim comes first":       {claim, `SELECT 1`},
		"the claim comes last":        {`UPDATE heartbeat SET beats = beats + 1`, claim},
		"the claim is in a savepoint": {`SAVEPOINT s; ` + claim + `; RELEASE s`, `SELECT 1`},
		"the claim is taken back":     {`SAVEPOINT s; ` + claim + `; ROLLBACK TO s`, claim},
	} {
		t.Run(name, func(t *testing.T) {
			location := Postgres(t)
			db, foreign := open(t, location), raw(t, location, false)
			late := string(brought(t, db, task.Pending))
			settle(t, db, foreign)
			l := listener{db: db}
			l.read(t, feed.MaxEvents)
			tx, err := foreign.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // it is committed when all goes well
			for i, step := range steps {
				if _, err := tx.ExecContext(t.Context(), strings.NewReplacer("{P}", late, "{D}", digestOfNothing).Replace(step)); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					brought(t, db, task.Claimed)
					l.read(t, feed.MaxEvents)
					mustRollUp(t, db, day())
				}
			}
			brought(t, db, task.Rejected)
			l.read(t, feed.MaxEvents)
			mustRollUp(t, db, day())
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			settle(t, db, raw(t, location, false))
			l.read(t, feed.MaxEvents)
			if diff := cmp.Diff(mustEvents(t, db, feed.Position{}), l.heard); diff != "" || len(l.heard) != 1+2+3+1 {
				t.Errorf("%d events; read at once and while they came (-at once +on and on):\n%s", len(l.heard), diff)
			}
			talliesAgree(t, db, raw(t, location, false))
		})
	}
}

// OtherDatabase leaves a transaction open in another database of the server: it
// holds no event up.
func OtherDatabase(t *testing.T) {
	t.Helper()
	other := Postgres(t)
	open(t, other)
	tx, err := raw(t, other, false).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing of it matters
	if _, err := tx.ExecContext(t.Context(), `UPDATE heartbeat SET beats = beats + 1`); err != nil {
		t.Fatal(err)
	}
	db := open(t, Postgres(t))
	brought(t, db, task.Claimed)
	patience := time.Now().Add(30 * time.Second) // A transaction of the server's own may be open for a moment.
	for len(mustEvents(t, db, feed.Position{})) < 2 {
		if time.Now().After(patience) {
			t.Fatal("the events wait for a transaction in another database")
		}
	}
}

// CopiedDatabase opens a database whose events have turns that this server's
// transactions have not reached, as a copy from an older server has them. What
// happens then comes after what is there, and is counted.
func CopiedDatabase(t *testing.T) {
	t.Helper()
	location := Postgres(t)
	copied, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	brought(t, copied, task.Claimed)
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	foreign := raw(t, location, false)
	if _, err := foreign.ExecContext(t.Context(), `BEGIN; ALTER TABLE feed DISABLE TRIGGER feed_no_update;
UPDATE feed SET turn = turn + 1000000000; ALTER TABLE feed ENABLE ALWAYS TRIGGER feed_no_update; COMMIT`); err != nil {
		t.Fatal(err)
	}
	db := open(t, location)
	settle(t, db, foreign)
	l := listener{db: db}
	if l.read(t, feed.MaxEvents); len(l.heard) != 2 {
		t.Errorf("%d events are there, want 2", len(l.heard))
	}
	for range 2 { // Opened again, nothing more moves.
		again := open(t, location)
		fresh := string(brought(t, again, task.Pending))
		settle(t, db, foreign)
		if before := len(l.heard); !l.read(t, 1) || l.heard[before].Subject != fresh || l.last.Turn > 2_000_000_000 {
			t.Errorf("after the copy the next event is %+v, want one of %s", l.heard[before:], fresh)
		}
	}
	talliesAgree(t, db, foreign)
}
