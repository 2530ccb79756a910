package patrol

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// assuredWithin is how long nobody may be seen to patrol: longer than it takes
	// to take the lease of a holder that died.
	assuredWithin = lease.TakeAfter + 4*lease.LookEvery
	// unstoredMost is how long results may wait without any being stored.
	unstoredMost = 10 * time.Second
	// overdueLeast is how long a component may be overdue at least; beyond that, an
	// interval.
	overdueLeast = 5 * time.Second
	// A probe may run for an interval, and for as many time-outs as follow each
	// other in it.
	timeoutsInARow = 2
)

// Health says whether components are probed as they should be, by this process
// or by the one that holds the lease; with nothing registered, they are. When it
// is red, statuses are unknown or soon will be. Faults: Unavailable.
func (p *Patrol) Health(context.Context) error {
	now := time.Now()
	p.mu.Lock()
	running, vacant, assured, onDuty := p.running, p.vacant, p.assured, p.onDuty
	p.mu.Unlock()
	switch {
	case !running:
		return fault.New(fault.Unavailable, "the patrol does not run").WithHint("Restart the server.")
	case vacant:
		return nil
	case onDuty != nil:
		return onDuty.health(now)
	case now.Sub(assured) > assuredWithin:
		return fault.New(fault.Unavailable, "no process has been seen to patrol for %v", rounded(now.Sub(assured))).
			WithHint("Read the server's log: it cannot read the lease in the database, or cannot take it.")
	}
	return nil
}

func (s *shift) health(now time.Time) error {
	if silent := s.hold.Silent(now); silent > lease.BeatLost {
		return fault.New(fault.Unavailable, "the lease on the patrol could not be renewed for %v, so nothing is probed", rounded(silent)).
			WithHint("Read the server's log: the database does not take writes in time.")
	}
	if waiting := s.batch.unstoredFor(now); waiting > unstoredMost {
		return fault.New(fault.Unavailable, "results could not be stored for %v", rounded(waiting)).
			WithHint("Read the server's log: the database does not take writes in time, or refuses them.")
	}
	if name, by := s.overdue(now); name != "" {
		return fault.New(fault.Unavailable, "the patrol is late: %s should have been probed %v ago", name, rounded(by)).
			WithHint("Raise patrol.concurrency or patrol.per_host, or probe less often.")
	}
	return nil
}

// overdue returns the component that is overdue the longest, beyond what is
// borne, and for how long; no name when there is none.
func (s *shift) overdue(now time.Time) (name string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.schedule.entries {
		since, borne := e.due, max(overdueLeast, e.policy.Interval)
		if e.running() {
			timeout := e.component.Timeout
			if timeout <= 0 {
				timeout = registry.SlowTimeout
			}
			since, borne = e.began, max(borne, time.Duration(inARow(e.component.Spec))*timeout)
		}
		if late := now.Sub(since); late > borne && late > by {
			name, by = e.name, late
		}
	}
	return name, by
}

// inARow is how many time-outs follow each other in a probe.
func inARow(spec registry.Spec) int {
	if longer, ok := spec.(interface{ TimeoutsInARow() int }); ok {
		return longer.TimeoutsInARow()
	}
	return timeoutsInARow
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
