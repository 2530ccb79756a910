package patrol_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestBatch_losesNothingInAShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, servers(100, 10*time.Second)...)
		s := patrols(t, on, x, plenty())
		pass(time.Minute)
		s.line.breaks(errCut)
		pass(4 * time.Second)
		s.line.breaks(nil)
		pass(time.Minute)
		s.stop()
		_, kept, _ := on.seen()
		if made, dropped := len(x.probes()), s.observer.told().dropped; kept != made || dropped != 0 {
			t.Errorf("of %d results %d are kept, and %d were dropped", made, kept, dropped)
		}
	})
}

func TestBatch_dropsWhatCannotBeStoredAndTellsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		components := servers(100, 10*time.Second)
		x := newExaminer(t, components...)
		s := patrols(t, on, x, plenty())
		pass(time.Minute)
		s.line.breaks(errCut)
		pass(10 * time.Minute)
		for i := range components {
			if got := on.reading(t, &components[i]); got.Status != registry.Unknown {
				t.Fatalf("%s is %s although no result could be stored", got.Name, got.Status)
			}
		}
		s.line.breaks(nil)
		pass(time.Minute)
		s.stop()
		_, kept, _ := on.seen()
		if made, dropped := len(x.probes()), s.observer.told().dropped; dropped == 0 || kept+dropped != made {
			t.Errorf("of %d results %d are kept and %d were told to be dropped", made, kept, dropped)
		}
		for i := range components {
			if got := on.reading(t, &components[i]); got.Status != registry.Available {
				t.Fatalf("%s is %s after the outage: %s", got.Name, got.Status, got.Reason)
			}
		}
	})
}

func TestBatch_aResultThatIsRefusedForWhatItIsCostsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		components := servers(100, 10*time.Second)
		on.poisoned = components[42].Name
		x := newExaminer(t, components...)
		s := patrols(t, on, x, plenty())
		pass(5 * time.Minute)
		s.stop()
		want := len(x.began(components[42].Name))
		_, kept, _ := on.seen()
		if made, dropped := len(x.probes()), s.observer.told().dropped; dropped != want || kept != made-want {
			t.Errorf("of %d results %d are kept and %d dropped, want to lose the %d of one component", made, kept, dropped, want)
		}
	})
}

// Results with large documents must not fill the memory while the database is away.
func TestBatch_boundsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each, most = 1 << 20, 64
		on := newDatabase()
		x := newExaminer(t, servers(200, 10*time.Second)...)
		s := patrols(t, on, &documented{examiner: x, document: make([]byte, each)}, plenty())
		pass(time.Minute)
		_, before, _ := on.seen()
		s.line.breaks(errCut)
		pass(12 * time.Second)
		made, dropped := len(x.probes()), s.observer.told().dropped
		s.line.breaks(nil)
		pass(4 * time.Second)
		_, kept, _ := on.seen()
		if dropped < made-before-most || dropped == 0 {
			t.Errorf("of %d results of an outage %d were dropped, though only %d may wait", made-before, dropped, most)
		}
		if kept < before+most {
			t.Errorf("of the %d results that may wait, %d were kept", most, kept-before)
		}
	})
}

func TestTrim_goesInSmallStepsUntilThereIsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		on.rows = 2250
		limits := plenty()
		limits.Retention = registry.Retention{Raw: registry.DefaultRaw, Hourly: registry.DefaultHourly, MaxBytes: registry.DefaultMaxBytes}
		s := patrols(t, on, newExaminer(t, server("any", time.Minute)), limits)
		pass(90 * time.Second)
		on.note(func() {
			if on.rows != 0 || len(on.trimmed) != 5 {
				t.Errorf("%d rows are left after steps of %v", on.rows, on.trimmed)
			}
		})
		s.Limit(patrol.Limits{Concurrency: 1, PerHost: 1})
		on.note(func() { on.rows = 10 })
		pass(5 * time.Minute)
		on.note(func() {
			if on.rows != 10 {
				t.Error("history was trimmed without a retention")
			}
		})
	})
}
