// Package patrol owns the schedule: when each registered component is probed,
// which process does it, and how the results reach the store.
//
// It must not know how a component is probed, what a database is, or what a
// status is made of. Its one idea is that lateness is its own fault: what it
// could not probe, or could not store in time, simply ages until the status is
// unknown, and its Health turns red. It never makes a component unavailable.
package patrol

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Store keeps results and the lease on the patrol. Record and Beat refuse with
// registry.ErrLeaseLost once another process has taken the lease.
type Store interface {
	// Known returns what is known of those names that were ever registered, in
	// their order.
	Known(ctx context.Context, names []string) ([]registry.Known, error)
	// Record keeps results in one transaction, under a fence. It is safe to repeat.
	Record(ctx context.Context, fence *int64, records []registry.Record) error
	// Trim removes at most so many rows of history.
	Trim(ctx context.Context, now time.Time, retention registry.Retention, most int) (removed int, err error)

	lease.Store // the lease on the patrol
}

// Examiner probes registered components.
type Examiner interface {
	// Registered returns the present set, which never changes.
	Registered() *registry.Registered
	// Examine probes a component of the present set. It returns soon after ctx is
	// done, and its time is bounded by the component's time-out.
	Examine(ctx context.Context, name string) (registry.Record, error)
}

// Observer is told what the patrol does. Its methods must not block, and are
// called from several goroutines.
type Observer interface {
	// Holding tells whether this process patrols now.
	Holding(yes bool)
	// Started tells how long after its due time a probe began.
	Started(lag time.Duration)
	// Examined tells what a probe found.
	Examined(kind registry.Kind, found registry.Summary)
	// Stored tells that results were stored, and how long their transaction took.
	Stored(results int, took time.Duration)
	// Dropped tells that results were given up: the database could not take them
	// in time, or another process patrols now.
	Dropped(results int)
}

// Limits bound what the patrol does. Numbers below 1 count as 1.
type Limits struct {
	Concurrency int // probes at once
	PerHost     int // probes at once of the components of one Spec.Host
	Retention   registry.Retention
}

// Options is what a patrol works with. Log and Observer may be nil.
type Options struct {
	Name     string // of this process, by which others tell in their logs who patrols
	Store    Store
	Examiner Examiner
	Log      *slog.Logger
	Observer Observer

	Limits
}

// Patrol probes what is registered, in whichever process holds the lease. It is
// safe for concurrent use.
type Patrol struct {
	store    Store
	examiner Examiner
	log      *slog.Logger
	observer Observer
	holder   string // names this patrol in the lease; no two are alike
	reloads  chan struct{}

	mu      sync.Mutex
	limits  Limits
	running bool      // Run has been called and has not returned
	assured time.Time // when somebody was last seen to patrol, or had nothing to
	onDuty  *shift    // nil while this process does not hold the lease
	vacant  bool      // nothing is registered
}

// New makes a patrol, which does nothing until Run.
func New(o Options) *Patrol {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	return &Patrol{
		store: o.Store, examiner: o.Examiner, log: o.Log, observer: o.Observer,
		holder: o.Name + " " + uuid.NewString(), reloads: make(chan struct{}, 1), limits: o.Limits,
	}
}

// Reload tells that the registered set has changed. What did not change keeps
// its schedule; what is new or redefined is probed within a second; what is gone
// is forgotten, and of a probe of it that is under way nothing is recorded.
func (p *Patrol) Reload() {
	select {
	case p.reloads <- struct{}{}:
	default: // one reload that nobody has seen yet covers this one
	}
}

// Limit changes the limits, from the next probe on.
func (p *Patrol) Limit(limits Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = limits
}

func (p *Patrol) limited() Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// unobserved is the observer of a patrol that has none.
type unobserved struct{}

func (unobserved) Holding(bool)                             {}
func (unobserved) Started(time.Duration)                    {}
func (unobserved) Examined(registry.Kind, registry.Summary) {}
func (unobserved) Stored(int, time.Duration)                {}
func (unobserved) Dropped(int)                              {}
