package probe

import (
	"fmt"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// A probe is excused by a stall of more than its time-out / stallShare, within
// leastStall and mostStall. With less, the server had most of its time; what is
// shorter than leastStall is a machine that is busy, and excuses nothing. After
// mostStall the other side may have ended a silent connection, whatever the time-out.
//
// The steady clock stands still while Linux suspends a machine, so no time is lost to
// a time-out then, but the connection may be gone: the wall clock alone tells of it.
// It counts beyond mostStall, which a correction by NTP seldom reaches.
const (
	stallShare = 4
	leastStall = time.Second
	mostStall  = 10 * time.Second
	// looksInBound is how often a watch looks at the clocks in the time that it allows.
	looksInBound = 4
)

// reading is a moment as both clocks tell it.
type reading struct {
	steady time.Duration // since some moment
	wall   time.Time     // without a reading of the steady clock
}

// clocksFromNow returns the clocks of this machine.
func clocksFromNow() func() reading {
	from := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now.Sub(from), now.Round(0)}
	}
}

// watch notices that this process was not run while a probe was under way: its
// process was stopped, its machine slept or had no processor to give. Only what
// falls into its probe counts, so that a stall excuses no other.
type watch struct {
	clocks       func() reading
	bound, pause time.Duration
	done         chan struct{}
	looks        sync.WaitGroup

	mu    sync.Mutex
	last  reading
	stood time.Duration // the longest stall; 0 for none
	until time.Time     // when it was over
}

// watched begins the watch over a probe with a time-out; call end.
func (s Settings) watched(limit time.Duration) *watch {
	w := &watch{clocks: s.clocks, bound: min(max(limit/stallShare, leastStall), mostStall), done: make(chan struct{})}
	if w.clocks == nil {
		w.clocks = clocksFromNow()
	}
	w.pause = w.bound / looksInBound
	w.last = w.clocks()
	w.looks.Go(w.run)
	return w
}

func (w *watch) run() {
	ticker := time.NewTicker(w.pause)
	defer ticker.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-ticker.C:
			w.look()
		}
	}
}

// look compares the clocks with what they said before, which was a pause ago when
// the process was run.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clocks()
	passed := now.steady - w.last.steady
	stood, jumped := passed-w.pause, now.wall.Sub(w.last.wall)-passed
	if jumped > mostStall {
		stood = max(stood, 0) + jumped
	}
	if stood > w.bound && stood > w.stood {
		w.stood, w.until = stood, now.wall
	}
	w.last = now
}

// end ends the watch, and excuses the gates that failed while there was a stall for
// what is not ours already. After a stall the clocks may not have been looked at yet:
// the deadlines of the gates run out at that very moment.
func (w *watch) end(gates []*registry.GateResult) {
	close(w.done)
	w.looks.Wait()
	w.look()
	if w.stood == 0 {
		return
	}
	for _, gate := range gates {
		if gate == nil || gate.OK || gate.Cause.IsOurs() {
			continue
		}
		gate.Detail = registry.Shorten(fmt.Sprintf("this machine stood still for %v until %s, so this says nothing: %s: %s",
			w.stood.Round(100*time.Millisecond), registry.Timestamp(w.until), gate.Cause, gate.Detail), registry.MaxDetail)
		gate.Cause = registry.Overloaded
	}
}
