package feed_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
)

// soon is within which an event must reach who listens.
const soon = 600 * time.Millisecond

func TestFollower_tellsEveryListenerSoonAfterItHappened(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		for _, after := range []time.Duration{0, 13 * time.Millisecond, 249 * time.Millisecond, time.Second, time.Minute} {
			for range 2 {
				listening, err := b.Subscribe(nil)
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(after)
				b.store.happen(1)
				at := time.Now()
				if events := next(t, listening); len(events) != 1 || events[0].ID != b.store.end() {
					t.Errorf("got %+v", events)
				}
				if late := time.Since(at); late > soon || after >= time.Second && late > soon/2 {
					t.Errorf("an event came after %v to who listened for %v", late, after)
				}
				listening.Close()
			}
		}
	})
}

func TestFollower_readsMuchAtOnceWithoutWaiting(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		listening := b.listen(t, nil)
		b.store.happen(5*feed.MaxEvents + 1)
		at := time.Now()
		follows(t, listening, 10, 5*feed.MaxEvents+1)
		if late := time.Since(at); late > soon {
			t.Errorf("the last event came after %v", late)
		}
	})
}

func TestFollower_logsAFailureOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	run(t, func(o *feed.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, func(t *testing.T, b bench) {
		listening := b.listen(t, nil)
		for range 2 {
			b.store.breakDown(errBroken)
			<-time.After(time.Minute)
			b.store.breakDown(nil)
			b.store.happen(1)
			at := time.Now()
			next(t, listening)
			if late := time.Since(at); late > soon {
				t.Errorf("an event came %v after the store was back", late)
			}
			<-time.After(6 * time.Second)
		}
		b.stop()
		for said, times := range map[string]int{
			`level=WARN msg="what happens cannot be read" cause="E_UNAVAILABLE: the disk is gone"`:     2,
			`level=WARN msg="what happened cannot be counted" cause="E_UNAVAILABLE: the disk is gone"`: 2,
			`level=INFO msg="what happens can be read again"`:                                          2,
			`level=INFO msg="what happened can be counted again"`:                                      2,
			"level=": 8,
		} {
			if got := strings.Count(log.String(), said); got != times {
				t.Errorf("it is said %d times and not %d: %s\n%s", got, times, said, log.String())
			}
		}
	})
}

func TestFollower_beginsWhenTheStoreCanBeRead(t *testing.T) {
	t.Parallel()
	run(t, func(o *feed.Options) { o.Store.(*memory).broken = errBroken }, func(t *testing.T, b bench) {
		fromNow, fromBefore := b.listen(t, nil), b.listen(t, &feed.Position{Turn: 2, Number: 7})
		<-time.After(time.Minute)
		b.store.breakDown(nil)
		follows(t, fromBefore, 7, 3)
		b.store.happen(1)
		follows(t, fromNow, 10, 1)
	})
}

// TestFollower_callsBeforeBeforeAnyListenerIsTold has a call that makes what is
// looked at new, and one that hangs.
func TestFollower_callsBeforeBeforeAnyListenerIsTold(t *testing.T) {
	t.Parallel()
	var known atomic.Int64
	var hangs atomic.Bool
	var begun atomic.Bool
	before := func(ctx context.Context, events []feed.Event) {
		if len(events) == 0 {
			begun.Store(true)
			return
		}
		if hangs.Load() {
			<-ctx.Done()
		}
		<-time.After(10 * time.Millisecond)
		known.Store(events[len(events)-1].ID.Number)
	}
	run(t, func(o *feed.Options) { o.Before = before }, func(t *testing.T, b bench) {
		listening := b.listen(t, nil)
		late := b.listen(t, &feed.Position{})
		follows(t, late, 0, 10)
		if !begun.Load() {
			t.Error("a listener is told of what happened before anything was read anew")
		}
		for range 20 {
			b.store.happen(3)
			for _, each := range append(next(t, listening), next(t, late)...) {
				if known.Load() < each.ID.Number {
					t.Errorf("a listener is told of %s when %d is known", each.ID, known.Load())
				}
			}
		}
		hangs.Store(true)
		b.store.happen(1)
		at := time.Now()
		next(t, listening)
		if wait := time.Since(at); wait > 3*time.Second {
			t.Errorf("listeners waited %v", wait)
		}
	})
}

// told is what an observer was told.
type told struct {
	lags      []time.Duration
	listeners []int
}

func (o *told) Happened(_ feed.Event, lag time.Duration) { o.lags = append(o.lags, lag) }
func (o *told) Listeners(n int)                          { o.listeners = append(o.listeners, n) }

func TestFollower_tellsItsObserver(t *testing.T) {
	t.Parallel()
	var seen told
	var behind atomic.Int64
	run(t, func(o *feed.Options) {
		o.Observer, o.Now = &seen, func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
	}, func(t *testing.T, b bench) {
		b.store.happen(2)
		<-time.After(time.Second)
		behind.Store(int64(time.Hour))
		b.store.happen(1)
		<-time.After(time.Second)
		one, two := b.listen(t, nil), b.listen(t, nil)
		one.Close()
		one.Close()
		two.Close()
		b.stop()
		if len(seen.lags) != 3 || seen.lags[0] <= 0 || seen.lags[0] > soon || seen.lags[2] != 0 {
			t.Errorf("the lags are %v", seen.lags)
		}
		if got := seen.listeners; len(got) != 4 || got[1] != 2 || got[3] != 0 {
			t.Errorf("the listeners are %v", got)
		}
	})
}

func TestFollower_rollsUpEveryFiveSecondsInBoundedSteps(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		steps := func(left int) (taken int) {
			b.store.mu.Lock()
			b.store.rolled, b.store.waiting = nil, left
			b.store.mu.Unlock()
			<-time.After(5 * time.Second)
			synctest.Wait()
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			return len(b.store.rolled)
		}
		for _, row := range []struct{ left, want int }{{0, 1}, {1, 1}, {7, 7}, {80, 50}, {30, 30}} {
			if got := steps(row.left); got != row.want {
				t.Errorf("with %d steps left %d were taken, want %d", row.left, got, row.want)
			}
		}
		b.store.breakDown(errBroken)
		if got := steps(7); got != 1 {
			t.Errorf("%d steps were taken of a broken store", got)
		}
	})
}

// TestFollower_readsLessOftenWhileNobodyListens bounds what waiting costs.
func TestFollower_readsLessOftenWhileNobodyListens(t *testing.T) {
	t.Parallel()
	run(t, plain, func(t *testing.T, b bench) {
		reads := func() int {
			b.store.mu.Lock()
			b.store.read = 0
			b.store.mu.Unlock()
			<-time.After(10 * time.Second)
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			return b.store.read
		}
		if got := reads(); got > 21 {
			t.Errorf("nobody listens, and the store was read %d times in 10s", got)
		}
		b.listen(t, nil)
		if got := reads(); got > 42 {
			t.Errorf("the store was read %d times in 10s", got)
		}
	})
}
