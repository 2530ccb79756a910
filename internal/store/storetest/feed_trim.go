package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/task"
)

// surplus is how many events more than feed.MaxKept keptEvents has numbers for.
const surplus = 3 * feed.MaxEvents

// keptEvents stores some events, and a later one whose number is as if there had been
// more than are kept in all. None is removed before it was counted, nor one of the
// newest feed.MaxKept; what is left begins without a gap.
func keptEvents(t *testing.T, location string) {
	db, foreign := open(t, location), raw(t, location, false)
	foreign.SetMaxOpenConns(1)
	brought(t, db, task.Verified)
	do := func(text string, arguments ...any) {
		if _, err := foreign.ExecContext(t.Context(), text, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	many := `INSERT INTO preflights SELECT 'nightly', n, 'd', 0, 1, '[]', NULL FROM `
	if db.Kind() == sqlite {
		do(`WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < $1) `+many+`counted`, 2*surplus)
		guard := dumpQuery(t, foreign, `SELECT sql FROM sqlite_schema WHERE name IN ('feed_in_order', 'feed_follows') ORDER BY name`)
		do(`DROP TRIGGER feed_in_order; DROP TRIGGER feed_follows`)
		do(`INSERT INTO feed VALUES ($1, 0, 'run', 'nightly', 'refused', 5)`, feed.MaxKept+surplus)
		do(guard[0])
		do(guard[1])
	} else {
		do(many+`generate_series(1, $1) AS counted (n)`, 2*surplus)
		do(`SELECT setval(pg_get_serial_sequence('feed', 'number'), $1)`, feed.MaxKept+surplus)
		do(`INSERT INTO preflights VALUES ('nightly', 0, 'd', 0, 1, '[]', NULL)`)
	}
	settle(t, db, foreign)
	const count = `SELECT count(*) FROM feed`
	all := dumpQuery(t, foreign, count)
	more, err := db.RollUp(t.Context(), day())
	if err != nil || !more {
		t.Fatalf("after the first roll-up: more %v, error %v", more, err)
	}
	if diff := cmp.Diff(all, dumpQuery(t, foreign, count)); diff == "" {
		t.Error("nothing was removed though there is a surplus and something was counted")
	}
	if uncounted := dumpQuery(t, foreign, `SELECT removed_number FROM totals WHERE (removed_turn, removed_number) > (turn, number)`); len(uncounted) > 0 {
		t.Errorf("events up to %s were removed before they were counted", uncounted)
	}
	mustRollUp(t, db, day())
	before, newest, err := db.Ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if kept := newest.Number - before.Number; kept < feed.MaxKept || kept > feed.MaxKept+surplus/2 {
		t.Errorf("%d events are kept, want about %d", kept, feed.MaxKept)
	}
	if first := mustEvents(t, db, before)[0]; first.ID.Number != before.Number+1 {
		t.Errorf("the first event after %v is %v", before, first.ID)
	}
	if again := mustEvents(t, db, feed.Position{})[0]; !before.Before(again.ID) {
		t.Errorf("the event %v is there, though all up to %v were removed", again.ID, before)
	}
	talliesAgree(t, db, foreign)
	fresh := string(brought(t, db, task.Pending))
	settle(t, db, foreign)
	if last := mustEvents(t, db, newest); len(last) != 1 || last[0].Subject != fresh {
		t.Errorf("after the removal the next event is %+v", last)
	}
}
