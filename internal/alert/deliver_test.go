package alert_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestDeliver_triesAgainWithBackOffUntilItIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		to.fails(http.StatusInternalServerError)
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(10 * time.Minute)
		all := to.attempts()
		if len(all) < 8 || len(all) > 14 {
			t.Errorf("%d attempts in 10 minutes", len(all))
		}
		pause := time.Duration(0)
		for i := 1; i < len(all); i++ {
			next := all[i].at.Sub(all[i-1].at)
			if whole := min(time.Second<<(i-1), 15*time.Minute); next < whole/2-time.Millisecond || next > whole+time.Second {
				t.Errorf("attempt %d came %v after the one before, want between %v and %v", i+1, next, whole/2, whole)
			}
			if all[i].message.ID != all[0].message.ID || all[i].body != all[0].body {
				t.Errorf("attempt %d has another id or body", i+1)
			}
			pause = max(pause, next)
		}
		if pause < time.Minute {
			t.Errorf("the longest pause is %v", pause)
		}
		if failing := s.ReceiverStates()[0]; failing.Failures != len(all) || failing.Reason != "it answered with the status 500" || failing.FailingSince.IsZero() {
			t.Errorf("the state of the receiver is %+v", failing)
		}
		to.works()
		pass(15 * time.Minute)
		expect(t, to, "component:asm firing")
		if well := s.ReceiverStates()[0]; well != (alert.ReceiverState{Receiver: "ops", Protocol: alert.Webhook}) {
			t.Errorf("the state of the receiver is %+v", well)
		}
	})
}

func TestDeliver_givesUpAfterADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		to.fails(http.StatusServiceUnavailable)
		first := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(12 * time.Hour)
		first.stop()
		s := alerts(t, on, to, hook(), nil) // The age is kept.
		pass(12 * time.Hour)
		pass(16 * time.Minute)
		before := len(to.attempts())
		pass(2 * time.Hour)
		if got := s.observer.counts(); got[0] != 0 || got[1] == 0 || got[2] != 1 || len(to.attempts()) != before {
			t.Errorf("%v were delivered, failed and given up; %d more attempts were made", got, len(to.attempts())-before)
		}
		if !strings.Contains(s.log.String(), "level=ERROR msg=\"an alert could not be told and is given up\" receiver=ops alert=component:asm") {
			t.Error("the log does not tell it")
		}
		to.works()
		on.probed(t, "asm", true)
		pass(20 * time.Minute)
		expect(t, to)
	})
}

func TestDeliver_givesUpAtOnceOnlyWhatIsBadItself(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusBadRequest: "given up", http.StatusRequestEntityTooLarge: "given up", http.StatusUnprocessableEntity: "given up",
		http.StatusUnauthorized: "tried again", http.StatusForbidden: "tried again", http.StatusNotFound: "tried again",
		http.StatusMethodNotAllowed: "tried again", http.StatusFound: "tried again", http.StatusPermanentRedirect: "tried again",
		http.StatusRequestTimeout: "tried again", http.StatusTooEarly: "tried again", http.StatusTooManyRequests: "tried again",
		http.StatusInternalServerError: "tried again", http.StatusBadGateway: "tried again", http.StatusServiceUnavailable: "tried again",
	} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase("asm"), &endpoint{}
			to.fails(status)
			s := alerts(t, on, to, hook(), nil)
			pass(soon)
			on.probed(t, "asm", false)
			pass(time.Minute)
			got := "tried again"
			if s.observer.counts()[2] == 1 && len(to.attempts()) == 1 {
				got = "given up"
			}
			if got != want {
				t.Errorf("%d: %s after %d attempts, want %s", status, got, len(to.attempts()), want)
			}
		})
	}
}

func TestDeliver_leavesAReceiverAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string][2]time.Duration{
		"gone": {time.Hour, time.Hour + 2*time.Second},
		"90":   {90 * time.Second, 92 * time.Second}, "999999": {time.Hour, time.Hour + 2*time.Second}, "soon": {0, 2 * time.Second}, "-5": {0, 2 * time.Second},
		"date": {5 * time.Minute, 5*time.Minute + 3*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase("asm"), &endpoint{}
			to.answers(func(context.Context, attempt) (int, http.Header, error) {
				header := asked
				if header == "gone" {
					return http.StatusGone, nil, nil
				}
				if header == "date" {
					header = time.Now().Add(5*time.Minute + time.Second).UTC().Format(http.TimeFormat)
				}
				return http.StatusTooManyRequests, http.Header{"Retry-After": {header}}, nil
			})
			alerts(t, on, to, hook(), nil)
			pass(soon)
			on.probed(t, "asm", false)
			pass(2 * time.Hour)
			all := to.attempts()
			if len(all) < 2 {
				t.Fatalf("%s: %d attempts", asked, len(all))
			}
			if next := all[1].at.Sub(all[0].at); next < want[0] || next > want[1] {
				t.Errorf("Retry-After: %s: tried again after %v, want between %v and %v", asked, next, want[0], want[1])
			}
		})
	}
}

func TestDeliver_anEndTakesThePlaceOfWhatWasNotTakenYet(t *testing.T) {
	t.Parallel()
	refused := errors.New("dial tcp 127.0.0.1:1: connect: connection refused")
	for name, c := range map[string]struct {
		while func(context.Context, attempt) (int, http.Header, error)
		want  []string
	}{
		"nothing answers":      {func(context.Context, attempt) (int, http.Header, error) { return 0, nil, refused }, nil},
		"it is overloaded":     {func(context.Context, attempt) (int, http.Header, error) { return 503, nil, nil }, nil},
		"it takes and hangs":   {hangs, []string{"component:asm resolved"}},
		"it may have taken it": {func(context.Context, attempt) (int, http.Header, error) { return 504, nil, nil }, []string{"component:asm resolved"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			on, to := newDatabase("asm"), &endpoint{}
			to.answers(c.while)
			alerts(t, on, to, hook(), nil)
			pass(soon)
			on.probed(t, "asm", false)
			pass(time.Minute)
			on.probed(t, "asm", true)
			pass(time.Minute)
			to.works()
			pass(30 * time.Minute)
			if diff := cmp.Diff(c.want, to.told()); diff != "" {
				t.Errorf("%s: told (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestDeliver_aHangingReceiverIsCutOffAndKeepsNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		to.answers(func(ctx context.Context, got attempt) (int, http.Header, error) {
			if got.host == "hanging.example" {
				return hangs(ctx, got)
			}
			return http.StatusOK, nil, nil
		})
		settings := hook()
		settings.Receivers = append(settings.Receivers, alert.Receiver{Name: "hanging", Protocol: alert.Webhook, URL: registry.SecretText("http://hanging.example/")})
		s := alerts(t, on, to, settings, nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(soon)
		on.probed(t, "other", false)
		pass(soon)
		expect(t, to, "component:asm firing", "component:other firing")
		pass(alert.SendTimeout)
		if got := s.ReceiverStates()[0]; got.Receiver != "hanging" || got.Reason != "it did not answer within 10s" {
			t.Errorf("the state of the receiver is %+v", got)
		}
		if got := s.ReceiverStates()[1]; got.Failures != 0 {
			t.Errorf("the state of the other receiver is %+v", got)
		}
	})
}

func TestDeliver_manyPendingAlertsAreNoStormOnAReceiverThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := []string{}
		for i := range 100 {
			names = append(names, "c-"+strings.Repeat("x", i/10)+string(rune('0'+i%10)))
		}
		on, to := newDatabase(names...), &endpoint{}
		to.fails(http.StatusServiceUnavailable)
		for _, name := range names {
			on.probed(t, name, false)
		}
		alerts(t, on, to, hook(), nil)
		pass(10 * time.Minute)
		if got := len(to.attempts()); got > 14 {
			t.Errorf("%d attempts in 10 minutes", got)
		}
		to.works()
		pass(16 * time.Minute)
		if got := len(to.told()); got != 100 {
			t.Errorf("%d were told", got)
		}
	})
}

// TestDeliver_whatIsBrokenDoesNotWaitForClaims has a receiver take its time for each
// alert, and fail for a while.
func TestDeliver_whatIsBrokenDoesNotWaitForClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 500
		on, to := newDatabase("asm"), &endpoint{}
		to.answers(func(context.Context, attempt) (int, http.Header, error) {
			<-time.After(time.Second)
			return http.StatusOK, nil, nil
		})
		on.backlog(many)
		alerts(t, on, to, hook(), nil)
		pass(30 * time.Second)
		on.probed(t, "asm", false)
		pass(110 * time.Second)
		if !slices.Contains(to.told(), "component:asm firing") {
			t.Errorf("%d of %d claims were told before the component", len(to.told()), many)
		}
		to.fails(http.StatusServiceUnavailable)
		on.probed(t, "asm", true)
		pass(5 * time.Minute)
		to.works()
		before := len(to.told())
		pass(time.Hour)
		if got := slices.Index(to.told()[before:], "component:asm resolved"); got < 0 || got > 100 {
			t.Errorf("%d were told after the receiver had failed, the component at %d", len(to.told())-before, got)
		}
	})
}

func TestDeliver_remindsAnAlertmanagerBeforeItTakesAnAlertForEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		first := alerts(t, on, to, manager(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		on.probed(t, "other", false)
		pass(30 * time.Minute)
		to.fails(http.StatusBadRequest) // once, in the middle
		pass(65 * time.Second)
		to.works()
		pass(5 * time.Minute)
		first.stop()
		alerts(t, on, to, manager(), nil)
		pass(10 * time.Minute)
		on.probed(t, "asm", true)
		on.probed(t, "other", true)
		pass(10 * time.Minute)
		firing, ends := map[string]time.Time{}, map[string]int{}
		for _, one := range to.attempts() {
			if one.path != "/prefix/api/v2/alerts" {
				t.Fatalf("posted to %s", one.path)
			}
			if !one.taken {
				continue
			}
			for _, posted := range postedIn(t, one) {
				name := posted.Labels["component"]
				if until, is := firing[name]; is && one.at.After(until) {
					t.Errorf("%s was taken for ended at %v, and told again at %v", name, until, one.at)
				}
				if posted.EndsAt.After(one.at) {
					firing[name] = posted.EndsAt
				} else {
					ends[name]++
					delete(firing, name)
				}
			}
		}
		if diff := cmp.Diff(map[string]int{"asm": 1, "other": 1}, ends); diff != "" || len(firing) > 0 {
			t.Errorf("ends (-want +got):\n%s\nand %v still fire", diff, firing)
		}
		if got := len(to.attempts()); got > 70 {
			t.Errorf("%d requests in 46 minutes", got)
		}
	})
}

// posted is an alert as an Alertmanager reads it.
type posted struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
	GeneratorURL        string
}

func postedIn(t *testing.T, one attempt) []posted {
	t.Helper()
	var all []posted
	if err := json.Unmarshal([]byte(one.body), &all); err != nil {
		t.Fatalf("%v in %s", err, one.body)
	}
	return all
}

func TestDeliver_oneAlertThatAnAlertmanagerRefusesSparesTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "bad", "other"), &endpoint{}
		to.answers(func(_ context.Context, got attempt) (int, http.Header, error) {
			if strings.Contains(got.body, `"component":"bad"`) {
				return http.StatusBadRequest, nil, nil
			}
			return http.StatusOK, nil, nil
		})
		for _, name := range []string{"asm", "bad", "other"} {
			on.probed(t, name, false)
		}
		s := alerts(t, on, to, manager(), nil)
		pass(30 * time.Second)
		told := map[string]int{}
		for _, one := range to.attempts() {
			if one.taken {
				told[postedIn(t, one)[0].Labels["component"]]++
			}
		}
		if diff := cmp.Diff(map[string]int{"asm": 1, "other": 1}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got := s.observer.counts(); got[0] != 2 || got[2] != 1 {
			t.Errorf("%v were delivered, failed and given up", got)
		}
	})
}
