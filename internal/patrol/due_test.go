package patrol

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/registry"
)

func drawInterval(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(int64(time.Second), int64(48*time.Hour)).Draw(t, "interval"))
}

func drawTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds"))
}

func TestNext_isOnPhaseAndAboutAnIntervalAway(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name, interval, began := rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "name"), drawInterval(t), drawTime(t)
		due := next(began, name, interval)
		if away := due.Sub(began); away < interval/2 || away >= interval/2+interval {
			t.Fatalf("it is due %v after a probe, with an interval of %v", away, interval)
		}
		if after := next(due, name, interval); !after.Equal(due.Add(interval)) {
			t.Fatalf("after a probe in time it is due %v later", after.Sub(due))
		}
		if other := next(began.Add(17*interval), name, interval); !other.Equal(due.Add(17 * interval)) {
			t.Fatalf("the phase depends on the day")
		}
	})
}

// Whatever the store says, also with the clock of another machine, a component is
// due within one and a half intervals, and on its phase unless it is due at once.
func TestResume_trustsNoOtherClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now, interval := drawTime(t), drawInterval(t)
		e := &entry{name: "any", policy: registry.Policy{Rise: 1, Fall: 1, Interval: interval, TTL: 3 * interval}}
		ago := time.Duration(rapid.Int64Range(-int64(5*interval), int64(5*interval)).Draw(t, "ago"))
		atOnce := e.resume(registry.Standing{Last: registry.Seen{ID: "1", ProbedAt: now.Add(-ago)}}, now)
		due := e.due
		switch away := due.Sub(now); {
		case atOnce == (away > 0):
			t.Fatalf("it is due in %v, and at once: %t", away, atOnce)
		case away >= interval/2+interval:
			t.Fatalf("it is due in %v, with an interval of %v", away, interval)
		case ago > e.policy.TTL && !atOnce:
			t.Fatalf("the result is %v old, but it is not due at once", ago)
		case away > 0 && !next(due, "any", interval).Equal(due.Add(interval)):
			t.Fatalf("it is due off its phase")
		}
	})
}

func TestPhase_spreadsNamesOverTheInterval(t *testing.T) {
	t.Parallel()
	const names, parts, interval = 10_000, 10, time.Minute
	var counts [parts]int
	for i := range names {
		counts[phase("server-"+time.Duration(i).String(), interval)*parts/interval]++
	}
	for part, count := range counts {
		if count < names/parts*9/10 || count > names/parts*11/10 {
			t.Errorf("part %d of the interval has %d of %d names", part, count, names)
		}
	}
}

func TestSpread_startsAllWithinASecond(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, count := range []int{0, 1, 2, 450, 451, 10_000} {
		entries := make([]*entry, count)
		for i := range entries {
			entries[i] = &entry{}
		}
		spread(entries, now)
		for i, e := range entries {
			if away := e.due.Sub(now); away < 0 || away >= firstWithin || i == 0 && away != 0 {
				t.Fatalf("%d of %d is due in %v", i, count, away)
			}
		}
	}
}
