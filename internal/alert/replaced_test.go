package alert_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

// expectPairs wants each alert_id of a webhook begun once and ended once, and each
// message to have an id of its own.
func expectPairs(t *testing.T, to *endpoint) {
	t.Helper()
	ids, states := map[string]bool{}, map[string][]alert.State{}
	for _, one := range to.attempts() {
		if !one.taken {
			continue
		}
		if ids[one.message.ID] {
			t.Errorf("the id %s was given twice", one.message.ID)
		}
		ids[one.message.ID] = true
		states[one.message.AlertID] = append(states[one.message.AlertID], one.message.State)
	}
	for id, got := range states {
		if diff := cmp.Diff([]alert.State{alert.Firing, alert.Resolved}, got); diff != "" {
			t.Errorf("of %s was told (-want +got):\n%s", id, diff)
		}
	}
}

// TestReplaced_noAlertStaysOpenThoughOthersCameWhileTheReceiverFailed has a component
// break again, and again, before its first end could be told; also over a restart.
func TestReplaced_noAlertStaysOpenThoughOthersCameWhileTheReceiverFailed(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase("asm"), &endpoint{}
			s := alerts(t, on, to, hook(), nil)
			pass(soon)
			on.probed(t, "asm", false)
			pass(soon)
			to.fails(http.StatusServiceUnavailable)
			healed := time.Now()
			on.probed(t, "asm", true)
			for range 3 {
				for range 16 { // long enough to be another trouble
					pass(time.Minute)
					on.probed(t, "asm", true)
				}
				pass(time.Minute)
				on.probed(t, "asm", false)
			}
			pass(soon)
			if restart {
				s.stop()
				alerts(t, on, to, hook(), nil)
			}
			to.works()
			pass(16 * time.Minute)
			expect(t, to, "component:asm firing", "component:asm resolved", "component:asm firing")
			all := slices.DeleteFunc(to.attempts(), func(one attempt) bool { return !one.taken })
			if end := all[1].message; end.EndedAt == nil || *end.EndedAt != registry.Timestamp(healed) || end.Summary != "asm is available again" {
				t.Errorf("of its first end it is told: %+v", end)
			}
			for range 16 {
				on.probed(t, "asm", true)
				pass(time.Minute)
			}
			expectPairs(t, to)
		})
	}
}

// TestReplaced_anAlertmanagerIsToldTheEndUnderTheLabelsOfTheBeginning has a run start
// on other fallbacks, for another cause.
func TestReplaced_anAlertmanagerIsToldTheEndUnderTheLabelsOfTheBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		alerts(t, on, to, manager(), nil)
		pass(soon)
		on.preflight("asm-eu")
		pass(3 * time.Minute)
		other := preflightOf("asm-us")
		other.Slots[0].Attempts[0].Causes = []registry.Cause{registry.DNS}
		on.keep(other)
		pass(3 * time.Minute)
		on.preflight("asm")
		pass(3 * time.Minute)
		open, ends := map[string]bool{}, map[string]int{}
		for _, one := range to.attempts() {
			for _, each := range postedIn(t, one) {
				labels := fmt.Sprint(each.Labels)
				if each.EndsAt.After(one.at) {
					open[labels] = true
				} else {
					ends[labels]++
					delete(open, labels)
				}
			}
		}
		if len(ends) != 2 || slices.ContainsFunc(slices.Collect(maps.Values(ends)), func(n int) bool { return n != 1 }) || len(open) > 0 {
			t.Errorf("there were the ends %v, and %v still fires", ends, open)
		}
	})
}

// TestReplaced_anEndThatIsNeverTakenKeepsWhatFiresBackForMinutesOnly has a receiver
// that knows nothing of what is to end.
func TestReplaced_anEndThatIsNeverTakenKeepsWhatFiresBackForMinutesOnly(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][]string{
		http.StatusNotFound:           {"run:nightly firing", "run:nightly firing"},
		http.StatusServiceUnavailable: {"run:nightly firing"}, // it says that it can take nothing now
	} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase(), &endpoint{}
			to.answers(func(_ context.Context, got attempt) (int, http.Header, error) {
				if got.message.State == alert.Resolved {
					return status, nil, nil
				}
				return http.StatusOK, nil, nil
			})
			alerts(t, on, to, hook(), nil)
			pass(soon)
			on.preflight("asm-eu")
			pass(soon)
			on.preflight("asm-us")
			pass(3 * time.Minute)
			expect(t, to, "run:nightly firing")
			pass(20 * time.Minute)
			expect(t, to, want...)
		})
	}
}

func TestReplaced_anEndThatIsRefusedKeepsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		to.answers(func(_ context.Context, got attempt) (int, http.Header, error) {
			if got.message.State == alert.Resolved {
				return http.StatusUnprocessableEntity, nil, nil
			}
			return http.StatusOK, nil, nil
		})
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		for _, filler := range []string{"asm-eu", "asm-us", "asm-eu"} {
			on.preflight(filler)
			pass(soon)
		}
		expect(t, to, "run:nightly firing", "run:nightly firing", "run:nightly firing")
		if got := s.observer.counts(); got != [3]int{3, 2, 2} {
			t.Errorf("%v were delivered, failed and given up", got)
		}
	})
}

func TestReload_triesAtOnceWhatFailedOrWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusBadRequest} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase("asm"), &endpoint{}
			to.fails(status)
			s := alerts(t, on, to, hook(), nil)
			pass(soon)
			on.probed(t, "asm", false)
			pass(time.Hour)
			before := len(to.attempts())
			s.Reload(hook()) // Only what failed stands anew: one attempt.
			pass(soon)
			if got := len(to.attempts()) - before; got != 1 {
				t.Errorf("%d: %d attempts after a reload that helps nothing", status, got)
			}
			to.works()
			s.Reload(hook())
			pass(soon)
			expect(t, to, "component:asm firing")
			s.Reload(hook())
			pass(soon)
			expect(t, to, "component:asm firing")
		})
	}
}
