// Package lease owns the hold on a duty of which one of several processes has
// charge at a time: who stands by, who takes it, and how it is lost or given back.
//
// It must not know what the duty is, nor how leases are kept. Its one idea is that
// no clock of another process is looked at: what counts is how long, by one's own,
// the lease has stood still.
package lease

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// LookEvery is how often a process that stands by reads the lease.
	LookEvery = time.Second
	// TakeAfter is how long, by its own clock, the lease must have stood still before
	// it takes it: three beats.
	TakeAfter = 6 * time.Second
	// beatEvery is how often the holder shows that it lives.
	beatEvery = 2 * time.Second
	// BeatAgain is when it tries again after it could not.
	BeatAgain = 500 * time.Millisecond
	// BeatLost is how old its last sign of life may be before it begins nothing more:
	// less than TakeAfter, so that it stops before another process begins.
	BeatLost = 5 * time.Second
	// partingWait is how long a holder may still write once it is to end.
	partingWait = 5 * time.Second
	// callWait bounds each call of the store.
	callWait = 3 * time.Second
)

// Store keeps one lease. Fault of each method: Unavailable.
type Store interface {
	Lease(ctx context.Context) (registry.Lease, error)
	// TakeLease takes the lease when it is still as it was seen.
	TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error)
	// Beat shows that the holder lives; registry.ErrLeaseLost when the fence is not
	// that of the lease any more.
	Beat(ctx context.Context, fence int64) error
	// ReleaseLease leaves a lease with another fence as it is.
	ReleaseLease(ctx context.Context, fence int64) error
}

// Hold is one hold of a lease, from taking to losing it. It is safe for concurrent
// use.
type Hold struct {
	Fence int64 // demanded by every write of the holder

	mu     sync.Mutex
	beaten time.Time
}

// NewHold is a hold that was taken, or last shown to last, at a time.
func NewHold(fence int64, taken time.Time) *Hold { return &Hold{Fence: fence, beaten: taken} }

// Beaten notes a beat, or a write under the fence, that began at a time and
// succeeded.
func (h *Hold) Beaten(began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if began.After(h.beaten) {
		h.beaten = began
	}
}

// Silent is how long ago the last sign of life began that succeeded.
func (h *Hold) Silent(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.beaten)
}

// Lasts reports whether nobody else can have taken the lease.
func (h *Hold) Lasts(now time.Time) bool { return h.Silent(now) <= BeatLost }

// Outlasting does something with a context that is done only some time after ctx
// is: what is under way then may be written to its end.
func Outlasting(ctx context.Context, do func(parting context.Context) error) error {
	parting, end := context.WithCancel(context.WithoutCancel(ctx))
	var ending sync.WaitGroup
	defer ending.Wait()
	defer end()
	ending.Go(func() {
		defer end()
		select {
		case <-parting.Done():
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(partingWait)
		defer timer.Stop()
		select {
		case <-parting.Done():
		case <-timer.C:
		}
	})
	return do(parting)
}
