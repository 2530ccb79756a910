package probe

import (
	"fmt"
	"slices"
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
	// maxStalls is how many stalls of one probe excuse something: the first.
	maxStalls = 64
)

// reading is a moment as both clocks tell it.
type reading struct {
	at     time.Time     // as time.Now gives it, to be compared with when gates began and ended
	steady time.Duration // since some moment
	wall   time.Time     // without a reading of the steady clock
}

// clocksFromNow returns the clocks of this machine.
func clocksFromNow() func() reading {
	from := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now, now.Sub(from), now.Round(0)}
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

	mu     sync.Mutex
	last   reading
	stalls []stall // at most maxStalls
}

// stall is a time in which this process was not run. Nothing ends in it: a gate ends
// before from, or when it is over.
type stall struct {
	from, until time.Time // as gates tell when they began and ended
	over        time.Time // until, by the wall clock
	stood       time.Duration
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
	if stood > w.bound && len(w.stalls) < maxStalls {
		from := now.at.Add(-stood)
		if from.Before(w.last.at) { // the machine slept, and this clock with it
			from = w.last.at
		}
		w.stalls = append(w.stalls, stall{from, now.at, now.wall, stood})
	}
	w.last = now
}

// fromStall reports whether a stall can bring a cause about: no answer came, or none
// to its end. What was judged from an answer stands, and so does what only the other
// side brings about: that it refuses, or that a process ends. A connection that breaks
// off within a body or a handshake of TLS has the cause of one that is wrong, which it
// is far more often; those take a moment, and are not excused.
func fromStall(cause registry.Cause) bool {
	return slices.Contains([]registry.Cause{
		registry.Timeout,       // it ran out while nobody listened
		registry.Unreachable,   // a connection that was silent was ended; the network comes later than the machine
		registry.DNS,           // so does the resolver
		registry.ProtocolError, // a stream of events broke off before its answer; an error of the server has it too
	}, cause)
}

// end ends the watch, and excuses the gates that failed for a stall while they were
// asked. After a stall the clocks may not have been looked at yet: the deadlines of
// the gates run out at that very moment.
func (w *watch) end(gates func() []*registry.GateResult) {
	close(w.done)
	w.looks.Wait()
	w.look()
	if len(w.stalls) == 0 {
		return
	}
	all, excused := gates(), map[registry.Cause]stall{}
	for _, gate := range all {
		if gate == nil || gate.OK || !fromStall(gate.Cause) {
			continue
		}
		if during, was := w.longest(gate); was {
			excused[gate.Cause] = during
			during.excuse(gate)
		}
	}
	for _, gate := range all { // one that was not asked has failed as another did
		if gate == nil || gate.OK || !gate.Ended.IsZero() {
			continue
		}
		if during, was := excused[gate.Cause]; was {
			during.excuse(gate)
		}
	}
}

// longest is the longest stall while a gate was asked, and whether there was one.
func (w *watch) longest(gate *registry.GateResult) (found stall, was bool) {
	for _, each := range w.stalls {
		if each.stood > found.stood && gate.Began.Before(each.until) && gate.Ended.After(each.from) {
			found, was = each, true
		}
	}
	return found, was
}

func (s stall) excuse(gate *registry.GateResult) {
	gate.Detail = registry.Shorten(fmt.Sprintf("this process stood still for %v until %s, so this says nothing: %s: %s",
		s.stood.Round(100*time.Millisecond), registry.Timestamp(s.over), gate.Cause, gate.Detail), registry.MaxDetail)
	gate.Cause = registry.Overloaded
}
