package patrol_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// redefined is a component of the same name that is something else.
func redefined(name string) registry.Component {
	component := server(name, time.Minute)
	component.Spec = &registry.MCPServer{URL: "http://moved.example", Profile: registry.ThreeGates}
	return component
}

func TestReload_keepsWhatIsUnchangedAndProbesTheRestAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = time.Minute
		x := newExaminer(t, server("same", interval), server("other", interval), server("gone", interval), server("slower", interval))
		s := patrols(t, newDatabase(), x, plenty())
		pass(5*time.Minute + 17*time.Second)
		same := x.began("same")
		x.forget()
		reloaded := time.Now()
		x.use(t, server("same", interval), redefined("other"), server("new", interval), server("slower", 3*interval))
		s.Reload()
		pass(time.Second)
		for name, want := range map[string]int{"other": 1, "new": 1, "gone": 0} {
			if got := len(x.began(name)); got != want {
				t.Errorf("within a second of the reload, %s was probed %d times, want %d", name, got, want)
			}
		}
		pass(30 * time.Minute)
		if got := len(x.began("gone")); got != 0 {
			t.Errorf("what is gone was probed %d times", got)
		}
		for i, at := range x.began("same") {
			if want := same[len(same)-1].Add(time.Duration(i+1) * interval); !at.Equal(want) {
				t.Errorf("after the reload, probe %d of what did not change began %v late", i, at.Sub(want))
			}
		}
		slower := x.began("slower")
		for i := 1; i < len(slower); i++ {
			if apart := slower[i].Sub(slower[i-1]); apart != 3*interval {
				t.Errorf("with another interval, probes are %v apart", apart)
			}
		}
		if len(slower) < 9 || slower[0].Before(reloaded.Add(-interval)) {
			t.Errorf("with another interval, it was probed %d times in half an hour", len(slower))
		}
	})
}

func TestReload_keepsNoResultOfWhatAComponentWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval = time.Minute
		on := newDatabase()
		x := newExaminer(t, server("other", interval), server("gone", interval), server("deaf", interval))
		deaf := make(chan struct{})
		x.answers(func(ctx context.Context, component *registry.Component) (registry.Summary, error) {
			if component.Name == "deaf" {
				<-deaf // It does not even heed its context.
			}
			return passed(), wait(ctx, 5*time.Second)
		})
		s := patrols(t, on, x, plenty())
		pass(2 * time.Second) // The first probes are under way.
		x.use(t, redefined("other"), redefined("deaf"))
		s.Reload()
		pass(time.Second)
		if got := len(x.began("other")); got != 2 {
			t.Errorf("what was redefined was probed %d times, want once before and once after", got)
		}
		x.note(func() {
			if x.running["gone.example"] > 0 || x.running["other.example"] > 0 {
				t.Error("the probes of what is gone were not broken off")
			}
		})
		close(deaf)
		pass(10 * time.Second)
		for _, name := range []string{"other", "deaf", "gone"} {
			for _, record := range on.results(name) {
				if record.Registration != x.present[name].of {
					t.Errorf("a result of %s as it was before is kept", name)
				}
			}
		}
		if len(on.results("other")) != 1 || len(on.results("deaf")) != 1 {
			t.Errorf("%d and %d results are kept, want 1 of each", len(on.results("other")), len(on.results("deaf")))
		}
		pass(10 * interval)
		if others, gone := len(x.began("other")), len(x.began("gone")); others > 13 || gone != 1 {
			t.Errorf("in ten minutes what was redefined was probed %d times, and what is gone %d times", others, gone)
		}
	})
}

// A result may have been found, but not stored yet, when its component is redefined.
func TestReload_keepsNoResultThatWaitedToBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, server("other", time.Minute))
		s := patrols(t, on, x, plenty())
		pass(10 * time.Millisecond)
		x.use(t, redefined("other"))
		s.Reload()
		pass(10 * time.Second)
		results := on.results("other")
		if len(results) != 1 || results[0].Registration != x.present["other"].of {
			t.Errorf("%d results are kept, want that of the new definition alone", len(results))
		}
	})
}

// A probe that several callers share may have begun before the reload.
func TestReload_aSharedProbeOfWhatAComponentWasIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, server("shared", time.Minute))
		s := patrols(t, on, x, plenty())
		pass(time.Second)
		old := x.present["shared"].of
		x.use(t, redefined("shared"))
		fresh := x.present["shared"]
		x.note(func() { x.present["shared"] = registration{fresh.component, old} })
		s.Reload()
		pass(time.Second)
		x.note(func() { x.present["shared"] = fresh })
		pass(time.Second)
		results := on.results("shared")
		if len(results) != 2 || results[1].Registration != fresh.of {
			t.Errorf("%d results are kept, want one of before and one of after", len(results))
		}
	})
}

// A long interval that becomes a short one counts from the last probe, also when
// another process made it, and raises no herd.
func TestReload_takesAShorterIntervalAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 100
		on := newDatabase()
		first := patrols(t, on, newExaminer(t, servers(count, time.Hour)...), plenty())
		pass(time.Minute)
		first.stop()
		x := newExaminer(t, servers(count, time.Hour)...)
		s := patrols(t, on, x, plenty())
		pass(time.Minute)
		before := len(x.probes())
		x.use(t, servers(count, 10*time.Second)...)
		s.Reload()
		pass(time.Second)
		instants := map[time.Time]int{}
		for _, at := range x.began("")[before:] {
			instants[at]++
		}
		if len(instants) < count/2 {
			t.Errorf("of %d components that became overdue, probes began at %d instants", count, len(instants))
		}
		pass(time.Minute)
		if got, want := len(x.probes())-before, 7*count; got < want-count || got > want+count {
			t.Errorf("%d probes in a minute, want about %d", got, want)
		}
	})
}
