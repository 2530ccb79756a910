package feed_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
)

func TestSubscribe_refusesMoreThanMaxListeners(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		var last *feed.Subscription
		for range feed.MaxListeners {
			last = b.listen(t, nil)
		}
		_, err := b.Subscribe(nil)
		wantUnavailable(t, err)
		last.Close()
		last.Close()
		b.listen(t, nil)
		_, err = b.Subscribe(nil)
		wantUnavailable(t, err)
	})
}

// TestBegin_tellsWhereAListenerStandsOnceThatIsKnown has the store broken at first.
func TestBegin_tellsWhereAListenerStandsOnceThatIsKnown(t *testing.T) {
	t.Parallel()
	run(t, func(o *feed.Options) { o.Store.(*memory).broken = errBroken }, func(t *testing.T, b bench) {
		given := feed.Position{Turn: 2, Number: 7}
		fromNow, fromBefore, closed := b.listen(t, nil), b.listen(t, &given), b.listen(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if at, err := fromNow.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while nothing is known it stands at %s, %v", at, err)
		}
		if head, known := b.Head(); known {
			t.Errorf("the head is %s", head)
		}
		closed.Close()
		_, err := closed.Begin(t.Context())
		wantUnavailable(t, err)
		b.store.breakDown(nil)
		for listening, want := range map[*feed.Subscription]feed.Position{fromNow: b.store.end(), fromBefore: given} {
			if at, err := listening.Begin(t.Context()); at != want || at != listening.Position() || err != nil {
				t.Errorf("it stands at %s, want %s: %v", at, want, err)
			}
		}
		b.store.happen(1)
		follows(t, fromNow, 10, 1)
		follows(t, fromBefore, 7, 4)
		if head, known := b.Head(); !known || head != b.store.end() {
			t.Errorf("the head is %s, known: %t", head, known)
		}
		b.stop()
		_, err = fromNow.Begin(t.Context())
		wantUnavailable(t, err)
	})
}

func TestNext_waitsUntilItsTimeIsOverOrTheSubscriptionIsClosed(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		listening := b.listen(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		at := time.Now()
		if _, reset, err := listening.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || reset || time.Since(at) != time.Hour {
			t.Errorf("after %v: reset %v, %v", time.Since(at), reset, err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			_, _, err := listening.Next(t.Context())
			wantUnavailable(t, err)
		})
		synctest.Wait()
		listening.Close()
		all.Wait()
		_, _, err := listening.Next(t.Context())
		wantUnavailable(t, err)
	})
}

func TestRun_tellsAllWhoListenThatItEnds(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		var all sync.WaitGroup
		for range 50 {
			listening := b.listen(t, nil)
			all.Go(func() {
				_, _, err := listening.Next(t.Context())
				wantUnavailable(t, err)
			})
		}
		synctest.Wait()
		b.stop()
		all.Wait()
		_, err := b.Subscribe(nil)
		wantUnavailable(t, err)
	})
}

func TestNext_resetsOnceWhereEventsAreMissing(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		b.store.forget(5)
		for name, row := range map[string]struct {
			at    feed.Position
			reset bool
		}{
			"removed":                     {feed.Position{Turn: 1, Number: 4}, true},
			"before all":                  {feed.Position{}, true},
			"of another, longer sequence": {feed.Position{Turn: 7, Number: 99}, true},
			"the last that was removed":   {feed.Position{Turn: 1, Number: 5}, false},
			"the newest":                  {b.store.end(), false},
		} {
			listening := b.listen(t, &row.at)
			want, already := row.at.Number, 10-int(row.at.Number)
			if row.reset {
				events, reset, err := listening.Next(t.Context())
				if err != nil || !reset || len(events) != 0 || listening.Position().Number != 10 {
					t.Fatalf("%s: %d events, reset %v at %s, %v", name, len(events), reset, listening.Position(), err)
				}
				want, already = 10, 0
			}
			if already > 0 {
				follows(t, listening, want, already)
			}
			listening.Close()
		}
		// After a reset nothing is missing.
		listening := b.listen(t, &feed.Position{})
		if _, reset, err := listening.Next(t.Context()); !reset || err != nil {
			t.Fatalf("reset %v, %v", reset, err)
		}
		b.store.happen(3)
		follows(t, listening, 10, 3)
	})
}

// TestNext_waitsForWhatAnotherProcessHasTold resumes at an event that this process
// has yet to read.
func TestNext_waitsForWhatAnotherProcessHasTold(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		<-time.After(100 * time.Millisecond)
		b.store.happen(2)
		listening := b.listen(t, new(b.store.end()))
		b.store.happen(1)
		follows(t, listening, 12, 1)
	})
}

// TestNext_readsFromTheStoreForWhoeverIsSlow has a listener sleep while more
// happens than is held.
func TestNext_readsFromTheStoreForWhoeverIsSlow(t *testing.T) {
	t.Parallel()
	const many = 5 * feed.MaxHeld
	run(t, plain, func(t *testing.T, b bench) {
		slow, quick := b.listen(t, nil), b.listen(t, nil)
		for range many / feed.MaxEvents {
			b.store.happen(feed.MaxEvents)
			follows(t, quick, b.store.end().Number-feed.MaxEvents, feed.MaxEvents)
			if held, room := b.Held(); held > 3*feed.MaxHeld || room > 4*feed.MaxHeld {
				t.Fatalf("%d events are held in the room of %d", held, room)
			}
		}
		b.store.breakDown(errBroken)
		_, _, err := slow.Next(t.Context())
		wantUnavailable(t, err)
		b.store.breakDown(nil)
		follows(t, slow, 10, many/feed.MaxEvents*feed.MaxEvents)
		b.store.happen(1)
		follows(t, slow, b.store.end().Number-1, 1)
	})
}

// TestNext_tellsNobodyMoreThanTheFollowerKnows resumes far behind while the store
// holds what nobody was prepared for.
func TestNext_tellsNobodyMoreThanTheFollowerKnows(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		<-time.After(100 * time.Millisecond)
		b.store.happen(5)
		listening := b.listen(t, &feed.Position{})
		at := time.Now()
		if events := next(t, listening); len(events) != 10 || !time.Now().Equal(at) {
			t.Errorf("%d events were told after %v", len(events), time.Since(at))
		}
		follows(t, listening, 10, 5)
	})
}

func TestParsePosition_readsWhatStringWrote(t *testing.T) {
	t.Parallel()
	for _, want := range []feed.Position{{}, {0, 17}, {1 << 62, 1<<63 - 1}} {
		if got, err := feed.ParsePosition(want.String()); err != nil || got != want {
			t.Errorf("%s is read as %s, %v", want, got, err)
		}
	}
	for _, text := range []string{"", "-", "0", "0-", "-1", "0--1", "-1-0", "+0-1", "0-01", " 0-1", "0-1-2", "0-9223372036854775808", "\x00"} {
		if got, err := feed.ParsePosition(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
