package patrol_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// takeover is how soon after a holder dies another process must patrol.
const takeover = 10 * time.Second

func TestPatrol_oneOfTwoPatrolsAndNothingIsProbedTwiceInAnInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = 30 * time.Second
		components := servers(50, interval)
		on := newDatabase()
		one, other := newExaminer(t, components...), newExaminer(t, components...)
		first, second := patrols(t, on, one, plenty()), patrols(t, on, other, plenty())
		pass(10 * time.Minute)
		first.stop()
		pass(10 * time.Minute)
		second.stop()
		for _, component := range components {
			all := slices.SortedFunc(slices.Values(append(one.began(component.Name), other.began(component.Name)...)), time.Time.Compare)
			for i := 1; i < len(all); i++ {
				if apart := all[i].Sub(all[i-1]); apart < interval/2 {
					t.Errorf("%s was probed twice within %v", component.Name, apart)
				}
			}
			if want := int(20 * time.Minute / interval); len(all) < want-1 || len(all) > want+1 {
				t.Errorf("%s was probed %d times, want about %d", component.Name, len(all), want)
			}
		}
		if lease, _, refused := on.seen(); refused != 0 || lease.Holder != "" {
			t.Errorf("%d writes were refused, and the lease is %+v", refused, lease)
		}
	})
}

func TestPatrol_shutdownGivesTheLeaseToAnotherAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, servers(20, 10*time.Second)...)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			return passed(), wait(ctx, 3*time.Second)
		})
		first := patrols(t, on, x, plenty())
		pass(15 * time.Second)
		first.stop()
		_, kept, _ := on.seen()
		next := newExaminer(t, servers(20, 10*time.Second)...)
		second := patrols(t, on, next, plenty())
		pass(100 * time.Millisecond)
		seen := first.observer.told()
		if !second.observer.told().holding || seen.holding {
			t.Error("the lease was not taken at once")
		}
		if kept != seen.stored || seen.dropped != 0 {
			t.Errorf("%d results are kept, %d were stored and %d dropped", kept, seen.stored, seen.dropped)
		}
		for name := range x.present {
			for _, record := range on.results(name) {
				if record.Summary.Outcome != registry.OutcomePassed {
					t.Fatalf("a probe that was broken off was recorded as %s", record.Summary.Outcome)
				}
			}
		}
	})
}

func TestPatrol_takesOverFromAHolderThatDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = 4 * time.Second
		components := servers(30, interval)
		on := newDatabase()
		x, next := newExaminer(t, components...), newExaminer(t, components...)
		first := patrols(t, on, x, plenty())
		pass(100 * time.Millisecond)
		second := patrols(t, on, next, plenty())
		pass(time.Minute + 1700*time.Millisecond)
		if second.observer.told().holding || len(next.probes()) > 0 {
			t.Fatal("both patrol")
		}
		died := time.Now()
		first.line.breaks(errCut)
		pass(takeover)
		began := next.began("")
		if len(began) == 0 || !second.observer.told().holding {
			t.Fatalf("nobody patrols %v after the holder died", takeover)
		}
		if late := x.began(""); late[len(late)-1].Sub(died) > 6*time.Second {
			t.Errorf("the one that is cut off began its last probe %v after it was", late[len(late)-1].Sub(died))
		}
		if err := first.Health(t.Context()); err == nil {
			t.Error("the one that is cut off says that all is well")
		}
		if err := second.Health(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPatrol_aLateWriteOfAnOldHolderIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		components := servers(30, 4*time.Second)
		on := newDatabase()
		x, next := newExaminer(t, components...), newExaminer(t, components...)
		first := patrols(t, on, x, plenty())
		pass(100 * time.Millisecond)
		second := patrols(t, on, next, plenty())
		pass(time.Minute)
		release := first.line.hold()
		pass(takeover)
		if !second.observer.told().holding {
			t.Fatal("nobody took over")
		}
		before := keptOfOthers(on, second)
		release()
		pass(5 * time.Second)
		if _, _, refused := on.seen(); refused == 0 {
			t.Error("no late write was refused")
		}
		if now := keptOfOthers(on, second); now != before {
			t.Errorf("%d results of the old holder were kept after it lost the lease", now-before)
		}
		if seen := first.observer.told(); seen.holding || seen.dropped == 0 {
			t.Errorf("the old holder holds on, or hides that it dropped results: holding %t, dropped %d", seen.holding, seen.dropped)
		}
		// It stands by, and is there when the other dies in its turn.
		second.line.breaks(errCut)
		x.forget()
		pass(takeover)
		if !first.observer.told().holding || len(x.began("")) == 0 {
			t.Error("the old holder does not patrol again")
		}
	})
}

// keptOfOthers counts the results that are kept, but for those of one process.
func keptOfOthers(on *database, but *scene) int {
	_, kept, _ := on.seen()
	return kept - but.observer.told().stored
}

func TestPatrol_aRestartKeepsPhaseAndCounters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = time.Minute
		component := server("kept", interval)
		component.Fall = 3
		on := newDatabase()
		x := newExaminer(t, component)
		down := time.Now().Add(10*time.Minute - interval/2)
		x.answers(func(context.Context, *registry.Component) (registry.Summary, error) {
			if time.Now().Before(down) {
				return passed(), nil
			}
			return failed(), nil
		})
		s := patrols(t, on, x, plenty())
		for len(x.began("kept")) == 0 || x.began("kept")[len(x.began("kept"))-1].Before(down) {
			pass(time.Second)
		}
		s.stop() // after the first failure of three
		pass(20 * time.Second)
		patrols(t, on, x, plenty())
		pass(interval)
		if got := on.reading(t, &component); got.Status != registry.Available {
			t.Errorf("after two failures of three it is %s", got.Status)
		}
		pass(interval)
		if got := on.reading(t, &component); got.Status != registry.Unavailable {
			t.Errorf("after three failures of three it is %s", got.Status)
		}
		began := x.began("kept")
		for i := 2; i < len(began) && i < 12; i++ {
			if apart := began[i].Sub(began[i-1]); apart != interval {
				t.Errorf("probes %d and %d are %v apart, want %v", i-1, i, apart, interval)
			}
		}
	})
}

func TestPatrol_withNothingRegisteredLeavesTheLeaseToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t)
		s := patrols(t, on, x, plenty())
		pass(time.Hour)
		if err := s.Health(t.Context()); err != nil {
			t.Error(err)
		}
		if lease, _, _ := on.seen(); lease != (registry.Lease{}) {
			t.Errorf("the lease was taken: %+v", lease)
		}
		x.use(t, server("first", time.Minute))
		s.Reload()
		pass(time.Second)
		if len(x.began("first")) != 1 {
			t.Error("it was not probed within a second of being registered")
		}
		x.use(t)
		s.Reload()
		pass(time.Second)
		if lease, _, _ := on.seen(); lease.Holder != "" || s.observer.told().holding {
			t.Errorf("the lease is kept with nothing to patrol: %+v", lease)
		}
		if err := s.Health(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An outage of the database stops all beats; it is no reason to take the lease
// from a holder that goes on when it is over.
func TestPatrol_anOutageOfTheDatabaseChangesNoHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		components := servers(10, 10*time.Second)
		on := newDatabase()
		first := patrols(t, on, newExaminer(t, components...), plenty())
		pass(time.Second)
		second := patrols(t, on, newExaminer(t, components...), plenty())
		pass(time.Minute)
		first.line.breaks(errCut)
		second.line.breaks(errCut)
		pass(time.Minute)
		second.line.breaks(nil)
		pass(3 * time.Second)
		first.line.breaks(nil)
		pass(time.Minute)
		if lease, _, _ := on.seen(); !first.observer.told().holding || lease.Fence != 1 {
			t.Errorf("after an outage the lease is %+v", lease)
		}
	})
}
