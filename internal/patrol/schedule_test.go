package patrol_test

import (
	"context"
	"hash/fnv"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestPatrol_staysOnPhaseForADayWhateverProbesTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		components := append(servers(15, 30*time.Second), server("often", 5*time.Second), server("odd", 7*time.Second))
		x := newExaminer(t, components...)
		x.answers(func(ctx context.Context, component *registry.Component) (registry.Summary, error) {
			return passed(), wait(ctx, varying(component, time.Now()))
		})
		s := patrols(t, newDatabase(), x, plenty())
		pass(24 * time.Hour)
		for _, component := range components {
			began := x.began(component.Name)
			if want := int(24 * time.Hour / component.Interval); len(began) < want-2 || len(began) > want+2 {
				t.Errorf("%s was probed %d times in a day, want about %d", component.Name, len(began), want)
			}
			for i := 2; i < len(began); i++ {
				if apart := began[i].Sub(began[i-1]); apart != component.Interval {
					t.Fatalf("%s: probes %d and %d are %v apart, want %v", component.Name, i-1, i, apart, component.Interval)
				}
			}
		}
		if err := s.Health(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// varying is a time below the interval that changes from probe to probe.
func varying(component *registry.Component, at time.Time) time.Duration {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(component.Name + at.String()))
	return time.Duration(sum.Sum64() % uint64(component.Interval*9/10))
}

func TestPatrol_probesTenThousandOnceAnIntervalWithoutAHerd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count, interval, intervals = 10_000, time.Minute, 2
		x := newExaminer(t, servers(count, interval)...)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			return passed(), wait(ctx, 20*time.Millisecond)
		})
		on := newDatabase()
		s := patrols(t, on, x, plenty())
		pass(interval + interval/2 + time.Second)
		x.forget()
		s.observer.note(func(seen *told) { seen.lags = nil })
		pass(intervals * interval)
		perName, perSecond := map[string]int{}, map[int64]int{}
		for _, one := range x.probes() {
			perName[one.name]++
			perSecond[one.at.Unix()]++
		}
		for name, times := range perName {
			if times != intervals {
				t.Errorf("%s was probed %d times in %d intervals", name, times, intervals)
			}
		}
		busiest := 0
		for _, times := range perSecond {
			busiest = max(busiest, times)
		}
		if mean := count / 60; len(perName) != count || busiest > 2*mean {
			t.Errorf("%d components were probed, up to %d in one second, want %d and at most %d", len(perName), busiest, count, 2*mean)
		}
		s.stop()
		seen := s.observer.told()
		if greatest := slices.Max(seen.lags); seen.dropped != 0 || greatest > 50*time.Millisecond {
			t.Errorf("%d results were dropped, and the greatest lag is %v", seen.dropped, greatest)
		}
		if _, kept, _ := on.seen(); seen.stored != kept || seen.batches > kept/40 {
			t.Errorf("%d results were stored in %d batches, and %d are kept", seen.stored, seen.batches, kept)
		}
	})
}

func TestPatrol_coversAThousandWithinOneInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count, interval = 1000, 10 * time.Second
		components := servers(count, interval)
		x := newExaminer(t, components...)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			return passed(), wait(ctx, 100*time.Millisecond)
		})
		on := newDatabase()
		patrols(t, on, x, patrol.Limits{Concurrency: 32, PerHost: 4})
		pass(interval)
		for i := range components {
			if got := on.reading(t, &components[i]); got.Status != registry.Available {
				t.Fatalf("after one interval, %s is %s: %s", got.Name, got.Status, got.Reason)
			}
		}
	})
}

func TestPatrol_oneStuckHostDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const stuck, perHost = "http://stuck.example", 2
		components := servers(100, 10*time.Second)
		for i := range 50 {
			one := server(string(rune('a'+i%26))+"-stuck-"+string(rune('a'+i/26)), 10*time.Second)
			one.Spec = &registry.MCPServer{URL: stuck, ExpectServer: one.Name}
			components = append(components, one)
		}
		x := newExaminer(t, components...)
		x.answers(func(ctx context.Context, component *registry.Component) (registry.Summary, error) {
			if component.Spec.Host() == "stuck.example" {
				return failed(), wait(ctx, component.Timeout)
			}
			return passed(), wait(ctx, 30*time.Millisecond)
		})
		patrols(t, newDatabase(), x, patrol.Limits{Concurrency: 8, PerHost: perHost})
		pass(5 * time.Minute)
		for _, component := range components[:100] {
			began := x.began(component.Name)
			for i := 2; i < len(began); i++ {
				if apart := began[i].Sub(began[i-1]); apart < 9*time.Second || apart > 11*time.Second {
					t.Errorf("%s: probes are %v apart, want 10s", component.Name, apart)
				}
			}
			if len(began) < 29 {
				t.Errorf("%s was probed %d times in 30 intervals", component.Name, len(began))
			}
		}
		x.note(func() {
			if x.most["stuck.example"] != perHost || x.most[""] > 8 {
				t.Errorf("at most %d probes of the stuck host and %d in all ran at once, want %d and at most 8", x.most["stuck.example"], x.most[""], perHost)
			}
		})
		for _, component := range components[100:] {
			if times := len(x.began(component.Name)); times < 1 || times > 2 {
				t.Errorf("%s was probed %d times; its host has time for 60 probes of 50 components", component.Name, times)
			}
		}
	})
}

func TestPatrol_hurriesAfterAChangeAndReturnsToItsPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = 40 * time.Second
		x := newExaminer(t, server("flip", interval))
		down := time.Now().Add(10 * time.Minute)
		x.answers(func(context.Context, *registry.Component) (registry.Summary, error) {
			if time.Now().Before(down) {
				return passed(), nil
			}
			return failed(), nil
		})
		patrols(t, newDatabase(), x, plenty())
		pass(20 * time.Minute)
		began := x.began("flip")
		first := slices.IndexFunc(began, func(at time.Time) bool { return !at.Before(down) })
		var apart []time.Duration
		for i := first + 1; i < first+6; i++ {
			apart = append(apart, began[i].Sub(began[i-1]))
		}
		// Three at a quarter; then the phase, at least half an interval later.
		if want := interval / 4; apart[0] != want || apart[1] != want || apart[2] != want || apart[3] != 50*time.Second || apart[4] != interval {
			t.Errorf("after the change, probes are %v apart", apart)
		}
		if began[first-1].Sub(began[first+4])%interval != 0 {
			t.Error("the phase was left for good")
		}
		if apart := began[2].Sub(began[1]); apart != interval {
			t.Errorf("the first result is no change, but the next probes are %v apart", apart)
		}
	})
}
