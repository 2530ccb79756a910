package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// fed takes tasks through their whole life and rolls up after each, as every
// process that shares a database may.
func (w *workerRun) fed(ctx context.Context) error {
	for range w.Steps {
		if err := w.load(ctx, 1); err != nil {
			return err
		}
		_, err := w.db.RollUp(ctx, time.Now())
		if err := w.out.Encode(answer(opRolledUp, "", w.Agent, err)); err != nil {
			return err
		}
	}
	return nil
}

// FeedAtOnce lets so many processes make events and roll up at once, while
// transactions begin early and commit late beside them, where the database has
// such. A listener that reads on from where it was misses nothing, sees nothing
// twice, and sees everything in the order in which it will always be; each event
// is counted once.
func FeedAtOnce(t *testing.T, fresh Fresh, processes, tasks int) {
	t.Helper()
	location := fresh(t)
	db, foreign := open(t, location), raw(t, location, false)
	workers := startWorkers(t, jobs(processes, job{Location: location, Do: doFeed, Steps: tasks}))
	begin(t, workers)
	ended := make(chan []event, 1)
	go func() { ended <- collect(t, workers, false) }()
	l := listener{db: db}
	for running, late := true, (func())(nil); running; {
		if late == nil && db.Kind() == postgres {
			late = lateClaim(t, db, location)
		}
		if full := l.read(t, 7); !full && late != nil {
			late()
			late = nil
		}
		select {
		case told := <-ended:
			for _, next := range told {
				if next.Error != "" {
					t.Errorf("%s by %s: %s", next.Op, next.Agent, next.Error)
				}
			}
			if late != nil {
				late()
			}
			running = false
		default:
		}
	}
	settle(t, db, foreign)
	for l.read(t, feed.MaxEvents) {
	}
	all := listener{db: db}
	for all.read(t, feed.MaxEvents) {
	}
	if diff := cmp.Diff(all.heard, l.heard); diff != "" {
		t.Errorf("events, read at once and while they came (-at once +on and on):\n%s", diff)
	}
	if want := 3 * processes * tasks; len(l.heard) < want {
		t.Errorf("%d events were heard, want at least %d", len(l.heard), want)
	}
	nothing(t, foreign, `SELECT 'no event', task_id, to_status FROM transitions
WHERE (SELECT count(*) FROM feed WHERE kind = 'task' AND subject = task_id AND what = to_status) <> 1`)
	talliesAgree(t, db, foreign)
}

// listener reads on from the last event that it heard.
type listener struct {
	db    *store.Database
	last  feed.Position
	heard []feed.Event
}

// read reports whether the page was full.
func (l *listener) read(t testing.TB, limit int) bool {
	t.Helper()
	events, err := l.db.Events(t.Context(), l.last, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range events {
		if !l.last.Before(next.ID) {
			t.Errorf("%v was told after %v", next.ID, l.last)
		}
		l.last = next.ID
	}
	l.heard = append(l.heard, events...)
	return len(events) == limit
}

// lateClaim claims a task in a transaction that is open still, and returns what
// commits it.
func lateClaim(t testing.TB, db *store.Database, location string) (commit func()) {
	t.Helper()
	id := brought(t, db, task.Pending)
	foreign := raw(t, location, false)
	tx, err := foreign.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO transitions VALUES ($1, 2, 'claimed', 'pending', 'claimed', 'mallory', 'process', 'p', 5, 'e', 'b', $2, NULL, NULL)`,
		string(id), digestOfNothing); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		foreign.Close()
	}
}
