package feed_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/feed"
)

// memory is a store without a database, which counts and can be told to fail.
type memory struct {
	mu      sync.Mutex
	events  []feed.Event // that are kept
	before  feed.Position
	newest  feed.Position
	broken  error
	read    int         // calls of Events
	rolled  []time.Time // when RollUp was called
	waiting int         // how many steps of RollUp say that there is more
}

// errBroken is what a database says that cannot be reached.
var errBroken = fault.New(fault.Unavailable, "the disk is gone").WithHint("Find it.")

func (m *memory) breakDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// happen appends events, of which each begins a turn at random.
func (m *memory) happen(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.newest = feed.Position{Turn: m.newest.Number / 3, Number: m.newest.Number + 1}
		m.events = append(m.events, feed.Event{
			ID: m.newest, Kind: feed.Component, Subject: "asm", What: "available", At: time.Now(),
		})
	}
}

// forget removes the oldest events.
func (m *memory) forget(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = m.events[n-1].ID
	m.events = m.events[n:]
}

func (m *memory) end() feed.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest
}

func (m *memory) Events(_ context.Context, after feed.Position, limit int) ([]feed.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read++
	if m.broken != nil {
		return nil, m.broken
	}
	from, _ := slices.BinarySearchFunc(m.events, after, func(each feed.Event, after feed.Position) int {
		if after.Before(each.ID) {
			return 1
		}
		return -1
	})
	return slices.Clone(m.events[from:min(len(m.events), from+limit)]), nil
}

func (m *memory) Ends(context.Context) (before, newest feed.Position, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.before, m.newest, m.broken
}

func (m *memory) RollUp(_ context.Context, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rolled = append(m.rolled, now)
	m.waiting--
	return m.waiting > 0, m.broken
}

// bench is a follower of a store in memory.
type bench struct {
	*feed.Follower

	store *memory
	stop  func() // ends Run and waits for it
}

// run calls test in a bubble, with a follower that runs.
func run(t *testing.T, adjust func(*feed.Options), test func(*testing.T, bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := bench{store: &memory{}}
		b.store.happen(10)
		options := feed.Options{Store: b.store, Now: time.Now}
		adjust(&options)
		b.Follower = feed.NewFollower(options)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := b.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		b.stop = func() { cancel(); all.Wait() }
		defer b.stop()
		synctest.Wait()
		test(t, b)
	})
}

func plain(*feed.Options) {}

// listen subscribes, and closes behind the test.
func (b bench) listen(t *testing.T, after *feed.Position) *feed.Subscription {
	t.Helper()
	listening, err := b.Subscribe(after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listening.Close)
	return listening
}

// next is Next where neither a fault nor a reset is expected.
func next(t *testing.T, from *feed.Subscription) []feed.Event {
	t.Helper()
	events, reset, err := from.Next(t.Context())
	if err != nil || reset || len(events) == 0 {
		t.Fatalf("%d events, reset %v, %v", len(events), reset, err)
	}
	if last := events[len(events)-1].ID; from.Position() != last {
		t.Fatalf("the position is %s behind the event %s", from.Position(), last)
	}
	return events
}

// follows checks that events are the next n after a number, each once.
func follows(t *testing.T, from *feed.Subscription, after int64, n int) {
	t.Helper()
	for n > 0 {
		events := next(t, from)
		for _, each := range events {
			if after++; each.ID.Number != after {
				t.Fatalf("event %d comes where %d should", each.ID.Number, after)
			}
		}
		n -= len(events)
	}
	if n < 0 {
		t.Fatalf("%d more events came than happened", -n)
	}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	got, is := fault.Of(err)
	if !is || got.Code != fault.Unavailable || got.Hint == "" {
		t.Errorf("got %v, want the fault %s with a hint", err, fault.Unavailable)
	}
}
