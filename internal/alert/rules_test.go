package alert_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// soon is within how much time what happens must have been told.
const soon = 2 * time.Second

// expect compares what was told so far.
func expect(t *testing.T, to *endpoint, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, to.told()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAlerter_tellsThatAComponentIsUnavailableAndAvailableAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", true)
		on.probed(t, "other", true)
		pass(time.Minute)
		expect(t, to)
		on.probed(t, "asm", false)
		pass(soon)
		expect(t, to, "component:asm firing")
		got := to.attempts()[0].message
		if got.Subject != "asm" || got.Summary != "asm is unavailable: the address refuses connections" || got.URL != "http://127.0.0.1:8484/components/asm" ||
			got.Causes[0].Cause != "refused" || got.EndedAt != nil || got.ComponentKind != "mcp_server" {
			t.Errorf("the message is %+v", got)
		}
		for range 10 { // Nothing new: red stays red.
			pass(30 * time.Second)
			on.probed(t, "asm", false)
		}
		on.probed(t, "asm", true)
		pass(soon)
		expect(t, to, "component:asm firing", "component:asm resolved")
		ended := to.attempts()[1].message
		if ended.AlertID != got.AlertID || ended.ID == got.ID || ended.EndedAt == nil || ended.Summary != "asm is available again" || ended.Since != got.Since {
			t.Errorf("the end of %+v is %+v", got, ended)
		}
	})
}

func TestAlerter_unknownInBetweenNeitherFiresNorResolves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(4 * time.Hour) // longer than its time to live
		expect(t, to, "component:asm firing")
		on.probed(t, "asm", false) // unknown in between
		pass(soon)
		expect(t, to, "component:asm firing")
		on.register("other")
		pass(time.Minute)
		expect(t, to, "component:asm firing", "component:asm resolved")
	})
}

func TestAlerter_firstStartTellsWhatIsUnavailableNowAndNothingOfThePast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "healed", "fine"), &endpoint{}
		for _, name := range []string{"asm", "healed"} {
			on.probed(t, name, false)
		}
		on.preflight("asm-eu")
		pass(time.Second)
		on.probed(t, "healed", true)
		on.probed(t, "fine", true)
		alerts(t, on, to, hook(), nil)
		pass(10 * time.Minute)
		expect(t, to, "component:asm firing")
	})
}

// TestAlerter_aFlappingComponentIsFewAlerts changes a component every half minute
// for an hour, which is 120 changes.
func TestAlerter_aFlappingComponentIsFewAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		first := alerts(t, on, to, hook(), nil)
		pass(soon)
		for i := range 120 {
			on.probed(t, "asm", i%2 == 1)
			pass(30 * time.Second)
			if i == 60 { // The rule survives a restart.
				first.stop()
				alerts(t, on, to, hook(), nil)
			}
		}
		expect(t, to, "component:asm firing", "component:asm resolved", "component:asm firing")
		for range 28 {
			on.probed(t, "asm", true)
			pass(30 * time.Second)
		}
		expect(t, to, "component:asm firing", "component:asm resolved", "component:asm firing")
		for range 4 {
			on.probed(t, "asm", true)
			pass(30 * time.Second)
		}
		expect(t, to, "component:asm firing", "component:asm resolved", "component:asm firing", "component:asm resolved")
	})
}

func TestAlerter_tellsAStartOnAFallbackAndItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		alerts(t, on, to, hook(), nil)
		pass(soon)
		on.preflight("asm")
		on.preflight("")
		pass(soon)
		expect(t, to)
		on.preflight("asm-us")
		pass(soon)
		expect(t, to, "run:nightly firing")
		got := to.attempts()[0].message
		want := []alert.Fallback{{Slot: "recon", Component: "asm-us", Failed: []alert.Failed{
			{Component: "asm", Causes: got.Slots[0].Failed[0].Causes, Reason: "healthz: connection refused"},
			{Component: "asm-eu", Causes: got.Slots[0].Failed[0].Causes, Reason: "healthz: connection refused"},
		}}}
		if diff := cmp.Diff(want, got.Slots); diff != "" || got.Summary != "nightly started on a fallback: recon is filled by asm-us" {
			t.Errorf("it says %q, with the slots (-want +got):\n%s", got.Summary, diff)
		}
		pass(50 * time.Minute)
		on.preflight("asm-us") // the same again
		pass(50 * time.Minute)
		expect(t, to, "run:nightly firing")
		on.preflight("asm-eu") // another one
		pass(soon)
		on.preflight("") // A refused one starts nothing.
		pass(soon)
		expect(t, to, "run:nightly firing", "run:nightly resolved", "run:nightly firing")
		if end := to.attempts()[1].message; end.AlertID != got.AlertID || end.Since != got.Since || end.EndedAt == nil || *end.EndedAt != to.attempts()[2].message.Since ||
			end.Summary != "nightly started on other fallbacks" {
			t.Errorf("the end of %+v is %+v", got, end)
		}
		on.preflight("asm")
		pass(soon)
		expect(t, to, "run:nightly firing", "run:nightly resolved", "run:nightly firing", "run:nightly resolved")
		on.preflight("asm-eu")
		pass(alert.RunFor + 15*time.Second)
		expect(t, to, "run:nightly firing", "run:nightly resolved", "run:nightly firing", "run:nightly resolved", "run:nightly firing", "run:nightly resolved")
		expectPairs(t, to)
	})
}

func TestAlerter_tellsAClaimThatWaitsAndItsVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		s := alerts(t, on, to, hook(), nil)
		on.claimed("old", 25*time.Hour)
		on.claimed("young", 23*time.Hour)
		pass(time.Minute)
		expect(t, to, "task:old firing")
		if got := to.attempts()[0].message; got.Title != `Fix the "flaky" test` || got.ClaimedBy != "alice" || got.URL != "http://127.0.0.1:8484/tasks/old" ||
			got.Summary != "a claim has waited for its verdict for 25 hours" {
			t.Errorf("the message is %+v", got)
		}
		on.decide("old", task.Rejected)
		pass(soon)
		expect(t, to, "task:old firing", "task:old resolved")
		pass(time.Hour)
		expect(t, to, "task:old firing", "task:old resolved", "task:young firing")
		off := hook()
		off.ClaimWaits = 0
		s.Reload(off)
		pass(time.Minute)
		expect(t, to, "task:old firing", "task:old resolved", "task:young firing", "task:young resolved")
	})
}

func TestAlerter_keepsNoMoreAlertsThanTheLimitAndSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := make([]string, 30)
		for i := range names {
			names[i] = fmt.Sprintf("c-%02d", i)
		}
		on, to := newDatabase(names...), &endpoint{}
		for _, name := range names {
			on.probed(t, name, false)
		}
		s := alerts(t, on, to, hook(), func(o *alert.Options) { o.MaxOpen = 20 })
		pass(time.Minute)
		if got := on.firing(); len(got) != 21 || got[0] != "alerts:open" {
			t.Errorf("%d alerts fire: %v", len(got), got)
		}
		s.observer.note(func() {
			if s.observer.firing["component"] != 20 || s.observer.firing["alerts"] != 1 {
				t.Errorf("the observer was told %v", s.observer.firing)
			}
		})
		for _, name := range names[5:] {
			on.probed(t, name, true)
		}
		for range 45 {
			pass(time.Minute)
			for i, name := range names {
				on.probed(t, name, i >= 5)
			}
		}
		if diff := cmp.Diff([]string{"component:c-00", "component:c-01", "component:c-02", "component:c-03", "component:c-04"}, on.firing()); diff != "" {
			t.Errorf("firing when there is room again (-want +got):\n%s", diff)
		}
		s.stop()
		on.always(func() {
			if len(on.alerts) != 5 {
				t.Errorf("%d alerts are kept", len(on.alerts))
			}
		})
	})
}

// forgetful is a history in which nothing is found for a while.
type forgetful struct {
	*database

	away atomic.Bool
}

func (f *forgetful) Known(ctx context.Context, names []string) ([]registry.Known, error) {
	if f.away.Load() {
		return nil, errDown
	}
	return f.database.Known(ctx, names)
}

// TestAlerter_alertsLaterWhatHadNoRoomThoughReadingFailed has nothing happen to what is
// left out, so that only looking again finds it.
func TestAlerter_alertsLaterWhatHadNoRoomThoughReadingFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("c-0", "c-1", "c-2"), &endpoint{}
		for _, name := range []string{"c-0", "c-1", "c-2"} {
			on.probed(t, name, false)
		}
		history := &forgetful{database: on}
		alerts(t, on, to, hook(), func(o *alert.Options) { o.MaxOpen, o.History = 2, history })
		pass(time.Minute)
		history.away.Store(true)
		pass(time.Minute)
		history.away.Store(false)
		on.probed(t, "c-0", true)
		on.probed(t, "c-1", true)
		pass(alert.SoonAgain + 2*time.Minute)
		if got := on.firing(); !slices.Contains(got, "component:c-2") {
			t.Errorf("when there is room again there fire %v", got)
		}
	})
}

func TestAlerter_aBacklogOfClaimsSilencesNoComponent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		on.claimedMany("old", 30, 25*time.Hour)
		alerts(t, on, to, hook(), func(o *alert.Options) { o.MaxOpen = 20 })
		pass(time.Minute)
		on.probed(t, "asm", false)
		pass(soon)
		expect(t, to, "task:claims firing", "component:asm firing")
	})
}

func TestAlerter_tellsEachReceiverWhatItWants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase("asm")
		settings := hook()
		settings.Receivers[0].Send = []alert.Kind{alert.OfRun}
		other := settings.Receivers[0]
		other.Name, other.Send = "all", nil
		settings.Receivers = append(settings.Receivers, other)
		to := &endpoint{}
		alerts(t, on, to, settings, nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(soon)
		expect(t, to, "component:asm firing")
		on.preflight("asm-eu")
		pass(soon)
		expect(t, to, "component:asm firing", "run:nightly firing", "run:nightly firing")
	})
}
