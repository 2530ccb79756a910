package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeLock is a lock that the test gives and counts.
type fakeLock struct {
	give     chan error // one value lets one Lock return
	unlocked int
}

func (l *fakeLock) Lock() error { return <-l.give }

func (l *fakeLock) Unlock() error {
	l.unlocked++
	return nil
}

// queued starts a queue on a lock that the test gives.
func queued() (*queue, *fakeLock) {
	lock := &fakeLock{give: make(chan error)}
	return &queue{lock: lock}, lock
}

// outcome is what a waiter got.
type outcome struct {
	name    string
	release func()
	err     error
}

// wait joins the queue and reports to got. It returns when the waiter stands in line.
func wait(ctx context.Context, q *queue, name string, got chan<- outcome) {
	go func() {
		release, err := q.acquire(ctx)
		got <- outcome{name, release, err}
	}()
	synctest.Wait()
}

func TestQueue_servesFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 3)
		for _, name := range []string{"first", "second", "third"} {
			wait(t.Context(), q, name, got)
		}
		var order []string
		for range 3 {
			lock.give <- nil
			next := <-got
			order = append(order, next.name)
			synctest.Wait()
			if len(got) > 0 {
				t.Errorf("%s holds the lock and so does another", next.name)
			}
			next.release()
			synctest.Wait()
		}
		if diff := cmp.Diff([]string{"first", "second", "third"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if lock.unlocked != 3 {
			t.Errorf("unlocked %d times, want 3: each writer lets other processes in", lock.unlocked)
		}
	})
}

func TestQueue_waiterLeavesAtItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 2)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait(short, q, "short", got)
		wait(t.Context(), q, "patient", got)
		if left := <-got; left.name != "short" || !errors.Is(left.err, context.DeadlineExceeded) {
			t.Errorf("got %+v, want the deadline of short", left)
		}
		lock.give <- nil
		next := <-got
		if next.name != "patient" || next.err != nil {
			t.Fatalf("got %+v, want the lock for patient", next)
		}
		next.release()
	})
}

func TestQueue_givesBackALockWonForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 1)
		gone, leave := context.WithCancel(t.Context())
		wait(gone, q, "gone", got)
		leave()
		if left := <-got; !errors.Is(left.err, context.Canceled) {
			t.Errorf("got %v, want the cancellation", left.err)
		}
		lock.give <- nil
		synctest.Wait()
		if lock.unlocked != 1 {
			t.Errorf("unlocked %d times, want 1", lock.unlocked)
		}
		wait(t.Context(), q, "later", got)
		lock.give <- nil
		if next := <-got; next.err != nil {
			t.Errorf("a later writer: %v", next.err)
		} else {
			next.release()
		}
	})
}

func TestQueue_passesOnALockDeclinedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		declined := &turn{granted: make(chan error, 1), over: make(chan bool, 1)}
		if err := q.join(declined); err != nil {
			t.Fatal(err)
		}
		got := make(chan outcome, 1)
		wait(t.Context(), q, "next", got)
		lock.give <- nil
		if err := <-declined.granted; err != nil {
			t.Fatal(err)
		}
		declined.over <- false
		next := <-got
		if next.err != nil || lock.unlocked != 0 {
			t.Errorf("got %v after %d unlocks, want the same hold of the lock", next.err, lock.unlocked)
		}
		next.release()
	})
}

func TestQueue_tellsEachWaiterOfALockThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 2)
		wait(t.Context(), q, "first", got)
		wait(t.Context(), q, "second", got)
		broken := errors.New("no lock file")
		lock.give <- broken
		if failed := <-got; failed.name != "first" || !errors.Is(failed.err, broken) {
			t.Errorf("got %+v, want the failure for first", failed)
		}
		lock.give <- nil
		next := <-got
		if next.err != nil {
			t.Errorf("second: %v", next.err)
		}
		next.release()
	})
}

func TestQueue_refusesWhatWaitsWhenItCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 1)
		wait(t.Context(), q, "waiting", got)
		closed := make(chan error, 1)
		go func() { closed <- q.close(time.Minute) }()
		if refused := <-got; !errors.Is(refused.err, errQueueClosed) {
			t.Errorf("got %v, want %v", refused.err, errQueueClosed)
		}
		lock.give <- nil
		if err := <-closed; err != nil || lock.unlocked != 1 {
			t.Errorf("close: %v after %d unlocks, want 1", err, lock.unlocked)
		}
		if _, err := q.acquire(t.Context()); !errors.Is(err, errQueueClosed) {
			t.Errorf("after close: got %v, want %v", err, errQueueClosed)
		}
	})
}

func TestQueue_closeGivesUpOnAProcessThatHoldsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		got := make(chan outcome, 1)
		wait(t.Context(), q, "waiting", got)
		if err := q.close(time.Minute); err == nil {
			t.Error("close waited for a lock that nobody gave")
		}
		<-got
		lock.give <- nil
	})
}

func TestQueue_isBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, lock := queued()
		for range maxWaiting {
			if err := q.join(&turn{granted: make(chan error, 1), over: make(chan bool, 1)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.acquire(t.Context()); !errors.Is(err, errQueueFull) {
			t.Errorf("got %v, want %v", err, errQueueFull)
		}
		synctest.Wait()
		q.mu.Lock()
		q.waiting = nil
		q.mu.Unlock()
		lock.give <- nil
	})
}
