package feed

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/trouble"
)

// How the follower keeps up, and what it holds.
const (
	// MaxListeners is how many subscriptions there may be at once.
	MaxListeners = 256
	// MaxHeld is how many of the newest events are held for listeners; who is
	// further behind reads from the store.
	MaxHeld = 4096

	// The store is read at every beat: at the quick one while somebody listens.
	beat      = 500 * time.Millisecond
	quickBeat = 250 * time.Millisecond
	// readTime is how long one reading may take, and beforeTime how long listeners
	// wait for Options.Before.
	readTime   = 5 * time.Second
	beforeTime = 2 * time.Second

	// rollUpBeat is from roll-up to roll-up, maxSteps how many steps each has at most,
	// and stepTime how long one may take.
	rollUpBeat = 5 * time.Second
	maxSteps   = 50
	stepTime   = 10 * time.Second
)

// Observer is told what happens, for metrics. It must not block.
type Observer interface {
	// Happened tells of an event in its turn, and how long ago it happened when it
	// was read; 0 where the clocks disagree.
	Happened(event Event, lag time.Duration)
	// Listeners tells how many subscriptions there are, when that has changed.
	Listeners(n int)
}

// Options are what a Follower needs.
type Options struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger // nil to log nothing

	// Before is called with new events before any listener is told of them, so that
	// what they then look at is not older. Listeners wait for it, at most beforeTime.
	// It is called with none when the follower begins: listeners may be told of what
	// happened before then, too. May be nil.
	Before   func(ctx context.Context, events []Event)
	Observer Observer // may be nil
}

// Follower reads what happens, once for all who listen. It is safe for concurrent
// use.
type Follower struct {
	Options

	mu        sync.Mutex
	held      []Event // the newest, in their order; what was handed out of it is never written again
	floor     Position
	head      Position      // up to which listeners may be told
	started   bool          // floor and head are known
	ended     bool          // Run has ended
	moved     chan struct{} // closed and replaced when one of the above changes
	listening int
	quicken   chan struct{} // holds a token when the first listener has come
}

// NewFollower returns a follower whose listeners wait until Run runs.
func NewFollower(options Options) *Follower {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Before == nil {
		options.Before = func(context.Context, []Event) {}
	}
	if options.Observer == nil {
		options.Observer = unobserved{}
	}
	return &Follower{Options: options, moved: make(chan struct{}), quicken: make(chan struct{}, 1)}
}

type unobserved struct{}

func (unobserved) Happened(Event, time.Duration) {}
func (unobserved) Listeners(int)                 {}

// Run follows the store, and rolls up what happened, until ctx ends; then every
// listener is told that the server ends. It returns nil, since a store that cannot
// be read is logged and read again. It is called once.
func (f *Follower) Run(ctx context.Context) error {
	defer f.end()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { f.rollUps(ctx) })
	reading := trouble.Log{To: f.Log, Level: slog.LevelWarn, Fails: "what happens cannot be read", Works: "what happens can be read again"}
	for ctx.Err() == nil {
		more, err := f.advance(ctx)
		reading.Note(ctx, err)
		if !more {
			f.pause(ctx)
		}
	}
	return nil
}

// Head is the position up to which listeners may be told, and what Options.Before
// made new includes; false until Run has read it.
func (f *Follower) Head() (Position, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head, f.started
}

// pause waits for the next beat.
func (f *Follower) pause(ctx context.Context) {
	f.mu.Lock()
	wait := beat
	if f.listening > 0 {
		wait = quickBeat
	}
	f.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.quicken:
	case <-ctx.Done():
	}
}

// advance reads what is new, and reports whether there may be more.
func (f *Follower) advance(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f.mu.Lock()
	started, head := f.started, f.head
	f.mu.Unlock()
	if !started {
		_, newest, err := f.Store.Ends(ctx)
		if err != nil {
			return false, err
		}
		f.before(ctx, nil)
		f.change(func() { f.started, f.floor, f.head = true, newest, newest })
		return true, nil
	}
	events, err := f.Store.Events(ctx, head, MaxEvents)
	if err != nil || len(events) == 0 {
		return false, err
	}
	f.take(ctx, events)
	return len(events) == MaxEvents, nil
}

// take tells of events, first those who must know before others.
func (f *Follower) take(ctx context.Context, events []Event) {
	now := f.Now()
	for i := range events {
		f.Observer.Happened(events[i], max(now.Sub(events[i].At), 0))
	}
	f.before(ctx, events)
	f.change(func() {
		f.held, f.head = append(f.held, events...), events[len(events)-1].ID
		if len(f.held) > 2*MaxHeld {
			last := len(f.held) - MaxHeld
			f.floor = f.held[last-1].ID
			f.held = append(make([]Event, 0, 3*MaxHeld), f.held[last:]...)
		}
	})
}

func (f *Follower) before(ctx context.Context, events []Event) {
	ctx, cancel := context.WithTimeout(ctx, beforeTime)
	defer cancel()
	f.Before(ctx, events)
}

// change changes what listeners look at, and wakes them.
func (f *Follower) change(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *Follower) end() { f.change(func() { f.ended = true }) }

// rollUps rolls up at every beat.
func (f *Follower) rollUps(ctx context.Context) {
	counting := trouble.Log{To: f.Log, Level: slog.LevelWarn, Fails: "what happened cannot be counted", Works: "what happened can be counted again"}
	timer := time.NewTicker(rollUpBeat)
	defer timer.Stop()
	for {
		counting.Note(ctx, f.rollUp(ctx))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// rollUp counts until nothing is left, or its steps are used up.
func (f *Follower) rollUp(ctx context.Context) error {
	for range maxSteps {
		step, cancel := context.WithTimeout(ctx, stepTime)
		more, err := f.Store.RollUp(step, f.Now())
		cancel()
		if err != nil || !more {
			return err
		}
	}
	return nil
}
