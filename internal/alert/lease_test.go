package alert_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
)

func TestAlerter_ofTwoProcessesOneTellsAndTheOtherTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		first := alerts(t, on, to, hook(), nil)
		pass(soon)
		second := alerts(t, on, to, hook(), nil)
		nobody := alerts(t, on, to, alert.Settings{}, nil)
		on.probed(t, "asm", false)
		pass(time.Minute)
		expect(t, to, "component:asm firing")
		if !first.observer.isAlerting() || second.observer.isAlerting() || nobody.observer.isAlerting() {
			t.Error("not exactly the first alerts")
		}
		first.stop()
		pass(soon)
		if !second.observer.isAlerting() || nobody.observer.isAlerting() {
			t.Error("the second has not taken over at once")
		}
		on.probed(t, "other", false)
		pass(soon)
		expect(t, to, "component:asm firing", "component:other firing")
	})
}

// TestAlerter_aProcessThatWasStoppedTellsNothingLate has the store of a process
// hang, as if the process were stopped, until another has taken over.
func TestAlerter_aProcessThatWasStoppedTellsNothingLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		line := &line{database: on}
		first := alerts(t, on, to, hook(), func(o *alert.Options) { o.Store = line })
		pass(soon)
		release := line.hold()
		on.probed(t, "asm", false)
		second := alerts(t, on, to, hook(), nil)
		pass(15 * time.Second)
		expect(t, to, "component:asm firing")
		if !second.observer.isAlerting() {
			t.Error("the other has not taken over")
		}
		release()
		pass(time.Minute)
		expect(t, to, "component:asm firing")
		if first.observer.isAlerting() || !second.observer.isAlerting() {
			t.Error("not exactly the second alerts")
		}
		on.always(func() {
			if on.refused == 0 {
				t.Error("no late write was refused")
			}
		})
	})
}

// line is a way to the database that can be cut.
type line struct {
	*database

	held chan struct{}
}

// hold lets every write wait until release.
func (l *line) hold() (release func()) {
	l.always(func() { l.held = make(chan struct{}) })
	return func() { close(l.held) }
}

func (l *line) Write(ctx context.Context, fence int64, change alert.Change) error {
	var held chan struct{}
	l.always(func() { held = l.held })
	if held != nil {
		<-held // and not ctx: a process that is stopped does not look at its clock
	}
	return l.database.Write(ctx, fence, change)
}

func TestAlerter_tellsOnceMoreUnderTheSameIDAfterACrashBeforeItWasNoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		crashing := true
		to.answers(func(context.Context, attempt) (int, http.Header, error) {
			if crashing {
				on.always(func() { on.down = true }) // what came of it cannot be noted any more
			}
			return http.StatusOK, nil, nil
		})
		first := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(time.Minute)
		first.stop()
		crashing = false
		on.always(func() { on.down, on.lease.Holder = false, "" })
		alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		expect(t, to, "component:asm firing", "component:asm firing")
		if all := to.attempts(); len(all) != 2 || all[0].message.ID != all[1].message.ID || all[0].body != all[1].body {
			t.Errorf("%d attempts with the bodies %s", len(all), all[0].body)
		}
	})
}

func TestAlerter_losesNothingWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(soon)
		on.always(func() { on.down = true })
		on.probed(t, "asm", true)
		on.probed(t, "other", false)
		on.preflight("asm-eu")
		pass(10 * time.Minute)
		expect(t, to, "component:asm firing")
		on.always(func() { on.down = false })
		pass(10 * time.Second)
		got := map[string]int{}
		for _, word := range to.told() {
			got[word]++
		}
		want := map[string]int{"component:asm firing": 1, "component:asm resolved": 1, "component:other firing": 1, "run:nightly firing": 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("told (-want +got):\n%s\n%s", diff, s.log)
		}
		for _, line := range []string{`level=ERROR msg="alerts cannot be made"`, `level=INFO msg="alerts can be made again"`} {
			if got := strings.Count(s.log.String(), line); got != 1 {
				t.Errorf("logged %d times: %s", got, line)
			}
		}
	})
}

func TestAlerter_readsAnewWhatTheFeedDoesNotKeepAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		first := alerts(t, on, to, hook(), nil)
		pass(soon)
		first.stop()
		on.probed(t, "asm", false)
		on.preflight("asm-eu")
		on.always(func() { on.removed = len(on.events) })
		on.probed(t, "other", false)
		alerts(t, on, to, hook(), nil)
		pass(soon)
		got := map[string]int{}
		for _, word := range to.told() {
			got[word]++
		}
		if diff := cmp.Diff(map[string]int{"component:asm firing": 1, "component:other firing": 1, "run:nightly firing": 1}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestReload_keepsWhatWasToldUnderANameAndTellsANewReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(soon)
		both := hook()
		both.PublicURL = "https://countersign.example"
		other := both.Receivers[0]
		other.Name = "new"
		both.Receivers = append(both.Receivers, other)
		knows := func(want ...string) {
			t.Helper()
			s.observer.note(func() {
				if !slices.Equal(s.observer.receivers, want) {
					t.Errorf("the observer knows of the receivers %q, not %q", s.observer.receivers, want)
				}
			})
		}
		knows("ops")
		s.Reload(both)
		knows("ops", "new")
		pass(soon)
		expect(t, to, "component:asm firing", "component:asm firing")
		if got := to.attempts()[1].message.URL; got != "https://countersign.example/components/asm" {
			t.Errorf("the link is %s", got)
		}
		on.always(func() {
			if on.lease.Fence != 1 {
				t.Errorf("with other settings the lease was taken anew: its fence is %d", on.lease.Fence)
			}
		})
		s.Reload(alert.Settings{})
		knows()
		pass(soon)
		on.always(func() {
			if on.lease.Holder != "" {
				t.Error("a process that tells nobody keeps the lease")
			}
		})
		s.Reload(hook())
		pass(soon)
		on.always(func() {
			if len(on.deliveries) != 1 {
				t.Errorf("deliveries of receivers that are gone are kept: %v", on.deliveries)
			}
		})
		expect(t, to, "component:asm firing", "component:asm firing")
	})
}
