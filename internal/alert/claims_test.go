package alert_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/task"
)

// claimedMany makes claims that are as old as that, the ids of which begin alike.
func (d *database) claimedMany(begins string, number int, age time.Duration) (ids []task.ID) {
	for i := range number {
		ids = append(ids, task.ID(fmt.Sprintf("%s-%03d", begins, i)))
		d.claimed(ids[i], age)
	}
	return ids
}

func (d *database) decideAll(ids []task.ID) {
	for _, id := range ids {
		d.decide(id, task.Verified)
	}
}

// ofClaims is what was told, by whether it was about many claims or about one.
func ofClaims(to *endpoint) map[string]int {
	counts := map[string]int{}
	for _, word := range to.told() {
		if of, state, _ := strings.Cut(word, " "); of != "task:claims" {
			word = "one " + state
		}
		counts[word]++
	}
	return counts
}

func expectClaims(t *testing.T, to *endpoint, when string, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, ofClaims(to)); diff != "" {
		t.Errorf("%s, told (-want +got):\n%s", when, diff)
	}
}

// TestClaims_manyThatWaitAreOneAlert has claims wait over a restart, more of them
// come, and verdicts on nearly all.
func TestClaims_manyThatWaitAreOneAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		old := on.claimedMany("old", 143, 25*time.Hour)
		first := alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		expect(t, to, "task:claims firing")
		got := to.attempts()[0].message
		const summary = "143 claims have waited for their verdict for more than 24 hours; the oldest: old-000, old-001, old-002"
		if got.Summary != summary || got.Subject != "claims" || got.URL != "http://127.0.0.1:8484/tasks?status=claimed&order=oldest" || got.Title+got.ClaimedBy != "" {
			t.Errorf("the message is %+v", got)
		}
		more := on.claimedMany("more", 30, 23*time.Hour)
		pass(2 * time.Hour)
		first.stop()
		alerts(t, on, to, hook(), nil)
		pass(time.Hour)
		expect(t, to, "task:claims firing")
		on.decideAll(more)
		on.decideAll(old[:len(old)-alert.FewClaims-1])
		pass(time.Minute)
		expect(t, to, "task:claims firing")
		on.decide(old[len(old)-1], task.Verified)
		pass(time.Minute)
		expectClaims(t, to, "with few left", map[string]int{"task:claims firing": 1, "task:claims resolved": 1, "one firing": alert.FewClaims})
		if end := to.attempts()[1].message; end.AlertID != got.AlertID || end.Summary != "no more than 10 claims have waited for too long now" {
			t.Errorf("the end of %+v is %+v", got, end)
		}
		on.decideAll(old)
		pass(time.Minute)
		expectPairs(t, to)
	})
}

// TestClaims_thatPassOneByOneAreFewAlertsToo has a claim become too old each minute,
// as when nobody verifies over night.
func TestClaims_thatPassOneByOneAreFewAlertsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		var ids []task.ID
		for i := range 100 {
			ids = append(ids, task.ID(fmt.Sprintf("id-%03d", i)))
			on.claimed(ids[i], 24*time.Hour-time.Duration(i+1)*time.Minute)
		}
		alerts(t, on, to, hook(), nil)
		pass(alert.ManyClaims*time.Minute + 10*time.Second)
		expectClaims(t, to, "before they are many", map[string]int{"one firing": alert.ManyClaims})
		pass(2 * time.Hour)
		expectClaims(t, to, "when they are many", map[string]int{"one firing": alert.ManyClaims, "task:claims firing": 1})
		const summary = "21 claims have waited for their verdict for more than 24 hours, 20 of them alerted before; the oldest of the rest: id-020"
		if got := to.attempts()[alert.ManyClaims].message.Summary; got != summary {
			t.Errorf("it says %q", got)
		}
		on.decideAll(ids[:10]) // Those that were told alone end alone.
		pass(time.Minute)
		expectClaims(t, to, "with some verdicts", map[string]int{"one firing": alert.ManyClaims, "one resolved": 10, "task:claims firing": 1})
		on.decideAll(ids[10:])
		pass(time.Minute)
		expectClaims(t, to, "with all", map[string]int{
			"one firing": alert.ManyClaims, "one resolved": alert.ManyClaims, "task:claims firing": 1, "task:claims resolved": 1,
		})
		expectPairs(t, to)
	})
}

func TestClaims_asManyAsTheLimitAreToldOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		on.claimedMany("old", alert.ManyClaims, 25*time.Hour)
		alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		expectClaims(t, to, "at the limit", map[string]int{"one firing": alert.ManyClaims})
	})
}

func TestClaims_areCountedUpToABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		on.claimedMany("old", alert.MaxWritten+1, 25*time.Hour)
		alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		expect(t, to, "task:claims firing")
		if got := to.attempts()[0].message.Summary; !strings.HasPrefix(got, "at least 1000 claims have waited") {
			t.Errorf("it says %q", got)
		}
	})
}

func TestClaims_thatAllHaveAlertsNeedNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		on.backlog(alert.ManyClaims + 1)
		alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		expectClaims(t, to, "of those", map[string]int{"one firing": alert.ManyClaims + 1})
	})
}

func TestClaims_theOneAlertOfManyEndsWhenNobodyIsToKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		on.claimedMany("old", alert.ManyClaims+1, 25*time.Hour)
		s := alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		off := hook()
		off.ClaimWaits = 0
		s.Reload(off)
		pass(time.Minute)
		expect(t, to, "task:claims firing", "task:claims resolved")
		if got := to.attempts()[1].message.Summary; got != "claims that wait are not alerted any more" {
			t.Errorf("its end says %q", got)
		}
	})
}

// changes is a store that notes which changes are about the alert of many claims.
type changes struct {
	*database

	ofMany []alert.Change
}

func (c *changes) Write(ctx context.Context, fence int64, change alert.Change) error {
	for _, a := range change.Alerts {
		if a.Key == "task:claims" {
			c.always(func() { c.ofMany = append(c.ofMany, change) })
		}
	}
	return c.database.Write(ctx, fence, change)
}

// TestClaims_theEndOfManyAndTheAlertsOfTheRestAreOneChange is what keeps a crash in
// between from losing either.
func TestClaims_theEndOfManyAndTheAlertsOfTheRestAreOneChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		kept := &changes{database: on}
		ids := on.claimedMany("old", alert.ManyClaims+1, 25*time.Hour)
		alerts(t, on, to, hook(), func(o *alert.Options) { o.Store = kept })
		pass(time.Minute)
		on.decideAll(ids[alert.FewClaims:])
		pass(time.Minute)
		var sizes []int
		on.always(func() {
			for _, change := range kept.ofMany {
				sizes = append(sizes, len(change.Alerts))
			}
		})
		if diff := cmp.Diff([]int{1, 1 + alert.FewClaims}, sizes); diff != "" {
			t.Errorf("alerts in each change (-want +got):\n%s", diff)
		}
	})
}

// TestClaims_manyAreToldOnceToAnAlertmanager has the labels stay the same, by which an
// Alertmanager knows an alert again.
func TestClaims_manyAreToldOnceToAnAlertmanager(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase(), &endpoint{}
		settings := manager()
		settings.ClaimWaits = alert.DefaultClaimWaits
		on.claimedMany("old", alert.ManyClaims+1, 25*time.Hour)
		alerts(t, on, to, settings, nil)
		pass(time.Minute)
		on.claimedMany("more", 5, 25*time.Hour)
		pass(10 * time.Minute)
		all := to.attempts()
		if len(all) < 10 {
			t.Fatalf("it was reminded %d times", len(all))
		}
		for _, one := range all {
			posted := postedIn(t, one)
			want := map[string]string{"alertname": "CountersignClaimWaits", "severity": "warning"}
			if diff := cmp.Diff(want, posted[0].Labels); diff != "" || len(posted) != 1 {
				t.Fatalf("%d were posted with the labels (-want +got):\n%s", len(posted), diff)
			}
		}
	})
}

func TestClaims_forWhichThereIsNoRoomAreSaidToBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm", "other"), &endpoint{}
		on.probed(t, "asm", false)
		on.probed(t, "other", false)
		on.claimed("old", 25*time.Hour)
		alerts(t, on, to, hook(), func(o *alert.Options) { o.MaxOpen = 2 })
		pass(time.Minute)
		if diff := cmp.Diff([]string{"alerts:open", "component:asm", "component:other"}, on.firing()); diff != "" {
			t.Errorf("firing without room (-want +got):\n%s", diff)
		}
		on.decide("old", task.Verified)
		for range 20 {
			pass(time.Minute)
			on.probed(t, "asm", true)
			on.probed(t, "other", true)
		}
		if got := on.firing(); got != nil {
			t.Errorf("with room again there fire %v", got)
		}
	})
}

// TestStore_manyClaimsAreOneSignedMessage has what is really stored told to a real
// receiver, that fails at first, by two processes in turn.
func TestStore_manyClaimsAreOneSignedMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, location string) {
		db, to := opened(t, location), &endpoint{}
		var ids []task.ID
		for range alert.ManyClaims + 5 {
			ids = append(ids, claimedTask(t, db))
		}
		to.fails(http.StatusServiceUnavailable)
		url := service(t, to)
		first := onDatabase(t, location, url)
		until(t, "it is tried", func() bool { return len(to.attempts()) > 0 })
		first.stop()
		to.works()
		onDatabase(t, location, url)
		until(t, "it is told", func() bool { return len(to.told()) > 0 })
		for _, id := range ids[alert.FewClaims:] {
			decide(t, db, id)
		}
		until(t, "its end and the rest are told", func() bool { return len(to.told()) == 2+alert.FewClaims })
		expectClaims(t, to, "with few left", map[string]int{"task:claims firing": 1, "task:claims resolved": 1, "one firing": alert.FewClaims})
		if got := to.attempts()[0].message; !strings.Contains(got.Summary, "25 claims have waited") || !strings.Contains(got.Summary, string(ids[0])) {
			t.Errorf("it says %q", got.Summary)
		}
		mustVerify(t, to.attempts())
	})
}

// backlog keeps alerts of claims that fire, each on its own, and that nobody was told.
func (d *database) backlog(number int) {
	ids := d.claimedMany("old", number, 25*time.Hour)
	d.always(func() {
		for _, id := range ids {
			key := "task:" + string(id)
			at := time.Now().UTC().Truncate(time.Millisecond)
			d.alerts[key] = alert.Alert{ID: "of-" + string(id), Key: key, Kind: alert.OfTask, Subject: string(id), State: alert.Firing, Since: at, ChangedAt: at}
		}
	})
}
