package patrol

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// firstWithin is the time in which all that is due at once is started, and
	// firstApart how far apart such probes are when there are few of them.
	firstWithin = 900 * time.Millisecond
	firstApart  = 2 * time.Millisecond

	// After a change of status so many probes come at a share of the interval, at
	// least quickLeast apart.
	quickProbes = 3
	quickShare  = 4
	quickLeast  = time.Second
)

// phase is where in its interval a component is probed. It depends on the name
// alone, so that a restart keeps it with nothing stored, and names spread evenly.
func phase(name string, interval time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(name))
	return time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(interval)) //nolint:gosec // less than the interval
}

// onPhase returns the first time, not before from, that lies at a phase of the
// interval. It is as far from other times as from is: when from has a reading
// of the steady clock, so has the result.
func onPhase(from time.Time, at, interval time.Duration) time.Time {
	past := time.Duration((from.UnixNano() - int64(at)) % int64(interval))
	switch {
	case past == 0:
		return from
	case past < 0: // before 1970
		past += interval
	}
	return from.Add(interval - past)
}

// next returns when a component is due after a probe that began at a time: on
// its phase again, and never twice in one interval.
func next(began time.Time, name string, interval time.Duration) time.Time {
	return onPhase(began.Add(interval/2), phase(name, interval), interval)
}

// resume gives the entry the standing that the store knows, and a due time that
// follows from it; it reports whether it is due at once: it never was probed, its
// result no longer counts, or its time passed while nobody patrolled.
func (e *entry) resume(known registry.Standing, now time.Time) bool {
	if !known.RegisteredAt.IsZero() {
		e.standing = known
	}
	e.told = heldBy(&e.standing)
	e.settled, e.due = known.Settled, now
	if !known.Fresh(now, e.policy) {
		return true
	}
	// Another machine's clock may be ahead, and the time must be one of this clock.
	e.began = now.Add(-max(0, now.Sub(known.Last.ProbedAt)))
	e.due = next(e.began, e.name, e.policy.Interval)
	return !e.due.After(now)
}

// quick returns when a component is due whose status changed in a probe that
// began at a time.
func quick(began time.Time, interval time.Duration) time.Time {
	return began.Add(min(interval, max(interval/quickShare, quickLeast)))
}

// spread gives times within firstWithin to those that are due at once.
func spread(entries []*entry, now time.Time) {
	if len(entries) == 0 {
		return
	}
	apart := min(firstApart, firstWithin/time.Duration(len(entries)))
	for i, e := range entries {
		e.due = now.Add(time.Duration(i) * apart)
	}
}
