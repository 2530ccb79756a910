package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// ofAlerts are the tests of the alerts' part of the suite.
func ofAlerts() map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"alerts and what was told of them are kept whole":       keptAlerts,
		"alerts are written under a lease of their own":         leasedAlerts,
		"alerts move along the feed once":                       movedAlerts,
		"claims that wait and their verdicts are found":         waitingClaims,
		"every row of a change is written, however many it has": manyAlerts,
	}
}

// firingAlert is an alert of a component that fires.
func firingAlert(component, id string) alert.Alert {
	return alert.Alert{
		ID: id, Key: "component:" + component, Kind: alert.OfComponent, Subject: component, State: alert.Firing,
		Since: day(), ChangedAt: day().Add(time.Second),
		Content: alert.Content{Summary: component + " is unavailable", Reason: "it \x00 says \u202e no", Causes: []registry.Cause{registry.Refused}},
	}
}

// holding takes the lease on the alerts and returns its fence.
func holding(t testing.TB, db *store.Database, holder string) int64 {
	t.Helper()
	seen, err := db.Alerts().Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease, taken, err := db.Alerts().TakeLease(t.Context(), seen, holder)
	if err != nil || !taken {
		t.Fatalf("take the lease %+v: %v, %v", seen, taken, err)
	}
	return lease.Fence
}

func mustWrite(t testing.TB, db *store.Database, fence int64, change alert.Change) {
	t.Helper()
	if err := db.Alerts().Write(t.Context(), fence, change); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t testing.TB, db *store.Database) alert.Kept {
	t.Helper()
	kept, err := db.Alerts().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func keptAlerts(t *testing.T, location string) {
	db := open(t, location)
	if diff := cmp.Diff(alert.Kept{}, mustLoad(t, db)); diff != "" {
		t.Errorf("of a new database (-want +got):\n%s", diff)
	}
	fence := holding(t, db, "one")
	fires, ends := firingAlert("asm", "id-1"), firingAlert("other", "id-2")
	run := firingAlert("nightly", "id-3")
	run.Kind, run.Key, run.EndsAt, run.Again = alert.OfRun, "run:nightly", day().Add(time.Hour), 2
	run.Content = alert.Content{
		Slots:    []alert.Fallback{{Slot: "recon", Component: "asm", Failed: []alert.Failed{{Component: "other", Causes: []registry.Cause{registry.DNS}}}}},
		Replaced: []alert.Replaced{{ID: "id-0", Since: day(), EndedAt: day().Add(time.Second), Ended: "it ended", Cause: registry.DNS}},
	}
	ends.State, ends.EndedAt, ends.Content.Ended = alert.Resolved, day().Add(time.Minute), "it is available again"
	told := alert.Delivery{
		Receiver: "ops", Key: fires.Key, Taken: alert.Notification{AlertID: "id-0", State: alert.Resolved}, TakenAt: day(), MayFire: true,
		Tried: alert.Notification{AlertID: "id-1", State: alert.Firing}, TriedSince: day().Add(time.Second), Attempts: 3, Next: day().Add(time.Minute), GivenUp: true,
	}
	other := alert.Delivery{Receiver: "chat", Key: fires.Key, Tried: told.Tried, TriedSince: day()}
	strange := alert.Delivery{Receiver: "ops", Key: ends.Key}
	mustWrite(t, db, fence, alert.Change{Alerts: []alert.Alert{fires, ends, run}, Deliveries: []alert.Delivery{other, told, strange}})
	fires.Content.Reason = "it \ufffd says \u202e no"
	ends.Content.Reason = fires.Content.Reason
	want := alert.Kept{Alerts: []alert.Alert{fires, ends, run}, Deliveries: []alert.Delivery{other, told, strange}}
	if diff := cmp.Diff(want, mustLoad(t, db)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	fires.State, fires.EndedAt, told.Attempts, told.GivenUp = alert.Resolved, day().Add(time.Minute), 4, false
	mustWrite(t, db, fence, alert.Change{Alerts: []alert.Alert{fires}, Deliveries: []alert.Delivery{told}, Gone: []string{ends.Key}, Forgotten: []string{"chat"}})
	want = alert.Kept{Alerts: []alert.Alert{fires, run}, Deliveries: []alert.Delivery{told}}
	if diff := cmp.Diff(want, mustLoad(t, db)); diff != "" {
		t.Errorf("kept after a change (-want +got):\n%s", diff)
	}
}

// leasedAlerts holds the lease on the alerts beside that of the patrol, and writes
// with a fence that no longer holds.
func leasedAlerts(t *testing.T, location string) {
	one, two := open(t, location), open(t, location)
	patrol := mustTake(t, one, mustLease(t, one), "patrol")
	first := holding(t, one, "one")
	before, err := two.Alerts().Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, one, first, alert.Change{})
	after, err := two.Alerts().Lease(t.Context())
	if err != nil || after.Beat <= before.Beat || after.Holder != "one" {
		t.Errorf("a write has not beaten: %+v, then %+v, %v", before, after, err)
	}
	second := holding(t, two, "two")
	late := alert.Change{Alerts: []alert.Alert{firingAlert("asm", "late")}, Move: &alert.Move{To: feed.Position{Number: 1}}}
	if err := one.Alerts().Write(t.Context(), first, late); !errors.Is(err, registry.ErrLeaseLost) {
		t.Errorf("a late write: %v", err)
	}
	if diff := cmp.Diff(alert.Kept{}, mustLoad(t, one)); diff != "" {
		t.Errorf("a late write was made:\n%s", diff)
	}
	if err := one.Alerts().ReleaseLease(t.Context(), first); err != nil {
		t.Error(err)
	}
	mustWrite(t, two, second, late)
	if err := two.Alerts().ReleaseLease(t.Context(), second); err != nil {
		t.Error(err)
	}
	if err := two.Alerts().Write(t.Context(), second, alert.Change{}); !errors.Is(err, registry.ErrLeaseLost) {
		t.Errorf("a write under a lease that was given back: %v", err)
	}
	if got := mustLease(t, two); got != patrol {
		t.Errorf("the lease of the patrol is %+v, and was %+v", got, patrol)
	}
}

func movedAlerts(t *testing.T, location string) {
	db := open(t, location)
	fence := holding(t, db, "one")
	first, second := feed.Position{Turn: 7, Number: 1}, feed.Position{Turn: 7, Number: 9}
	mustWrite(t, db, fence, alert.Change{Move: &alert.Move{To: first}})
	step := alert.Change{Move: &alert.Move{From: &first, To: second}, Alerts: []alert.Alert{firingAlert("asm", "id")}}
	mustWrite(t, db, fence, step)
	mustWrite(t, db, fence, step) // The answer to the first was lost.
	for name, move := range map[string]alert.Move{"from the beginning": {To: first}, "from where it was": {From: &first, To: feed.Position{Turn: 8}}} {
		change := alert.Change{Move: &move, Alerts: []alert.Alert{firingAlert("other", "id")}}
		if err := db.Alerts().Write(t.Context(), fence, change); !errors.Is(err, registry.ErrLeaseLost) {
			t.Errorf("a step %s: %v", name, err)
		}
	}
	kept := mustLoad(t, db)
	if kept.Position == nil || *kept.Position != second || len(kept.Alerts) != 1 {
		t.Errorf("kept %+v", kept)
	}
}

func waitingClaims(t *testing.T, location string) {
	db := open(t, location)
	fence := holding(t, db, "one")
	first, second := brought(t, db, task.Claimed), brought(t, db, task.Claimed)
	brought(t, db, task.Pending)
	brought(t, db, task.Verified)
	later := time.Now().Add(time.Hour)
	waiting := func(before time.Time, limit int) (ids []task.ID) {
		t.Helper()
		found, err := db.Alerts().Waiting(t.Context(), before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range found {
			read := mustRead(t, db, claim.TaskID)
			if claim.Title != read.Title || claim.ClaimedBy != alice || !claim.ClaimedAt.Equal(read.ClaimedAt.Time()) {
				t.Errorf("the claim %+v is of %+v", claim, read)
			}
			ids = append(ids, claim.TaskID)
		}
		return ids
	}
	for name, got := range map[string][2][]task.ID{
		"all":       {waiting(later, 10), {first, second}},
		"the first": {waiting(later, 1), {first}},
		"none":      {waiting(later.Add(-2*time.Hour), 10), nil},
	} {
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	fires := firingAlert(string(first), "id")
	fires.Kind, fires.Key = alert.OfTask, "task:"+string(first)
	mustWrite(t, db, fence, alert.Change{Alerts: []alert.Alert{fires}})
	if diff := cmp.Diff([]task.ID{second}, waiting(later, 10)); diff != "" {
		t.Errorf("beside an alert (-want +got):\n%s", diff)
	}
	if decided, err := db.Alerts().Decided(t.Context(), 10); err != nil || len(decided) != 0 {
		t.Errorf("decided: %v, %v", decided, err)
	}
	verdict := mustApply(t, db, newRecord(task.KindRejected, first, bob, "it does not"))
	decided, err := db.Alerts().Decided(t.Context(), 10)
	if want := []alert.Verdict{{TaskID: first, Status: task.Rejected, At: verdict.At.Time()}}; err != nil || !cmp.Equal(want, decided) {
		t.Errorf("decided: %v, %v, want %v", decided, err, want)
	}
}

func manyAlerts(t *testing.T, location string) {
	db := open(t, location)
	fence := holding(t, db, "one")
	var change alert.Change
	for i := range alert.MaxWritten {
		made := firingAlert(nameOf(i), "id")
		change.Alerts = append(change.Alerts, made)
		change.Deliveries = append(change.Deliveries, alert.Delivery{Receiver: "ops", Key: made.Key})
		change.Gone = append(change.Gone, made.Key)
	}
	gone := change.Gone
	change.Gone = nil
	mustWrite(t, db, fence, change)
	if kept := mustLoad(t, db); len(kept.Alerts) != alert.MaxWritten || len(kept.Deliveries) != alert.MaxWritten {
		t.Errorf("kept %d and %d rows", len(kept.Alerts), len(kept.Deliveries))
	}
	change.Alerts = append(change.Alerts, firingAlert("one-more", "id"))
	if err := db.Alerts().Write(t.Context(), fence, change); err == nil {
		t.Error("more rows than the limit were written")
	}
	mustWrite(t, db, fence, alert.Change{Gone: gone})
	if diff := cmp.Diff(alert.Kept{}, mustLoad(t, db)); diff != "" {
		t.Errorf("kept after all went:\n%s", diff)
	}
}

// Alerts: no rule stops somebody with a prompt from changing them, but for their
// form.
func onAlerts() []attack {
	row := func(values string) string { return `INSERT INTO alerts VALUES (` + values + `)` }
	delivery := func(values string) string { return `INSERT INTO alert_deliveries VALUES (` + values + `)` }
	const fine = `'run:r', 'i', 'run', 'r', 'firing', 5, NULL, 5, NULL, 0, '{}'`
	const told = `'ops', 'run:r', '', '', NULL, 0, '', '', NULL, 0, NULL, 0`
	return []attack{
		{name: "an alert twice", text: row(fine) + `; ` + row(fine), refusedBy: []string{"alerts_key"}},
		{name: "an alert under another key", text: row(`'run:s', 'i', 'run', 'r', 'firing', 5, NULL, 5, NULL, 0, '{}'`), refusedBy: []string{"alerts_name"}},
		{name: "an alert that smoulders", text: row(`'run:r', 'i', 'run', 'r', 'smouldering', 5, NULL, 5, NULL, 0, '{}'`), refusedBy: []string{"alerts_state"}},
		{name: "an alert that ended at no time", text: row(`'run:r', 'i', 'run', 'r', 'resolved', 5, NULL, 5, NULL, 0, '{}'`), refusedBy: []string{"alerts_state"}},
		{name: "an alert before all time", text: row(`'run:r', 'i', 'run', 'r', 'firing', -5, NULL, 5, NULL, 0, '{}'`), refusedBy: []string{"alerts_numbers"}},
		{name: "an alert that says a list", text: row(`'run:r', 'i', 'run', 'r', 'firing', 5, NULL, 5, NULL, 0, '[]'`), refusedBy: []string{"alerts_said"}},
		{name: "a delivery twice", text: delivery(told) + `; ` + delivery(told), refusedBy: []string{"alert_deliveries_key"}},
		{name: "a delivery of a state of nothing", text: delivery(`'ops', 'run:r', '', 'firing', NULL, 0, '', '', NULL, 0, NULL, 0`), refusedBy: []string{"alert_deliveries_states"}},
		{name: "a delivery to nobody", text: delivery(`'', 'run:r', '', '', NULL, 0, '', '', NULL, 0, NULL, 0`), refusedBy: []string{"alert_deliveries_numbers"}},
		{name: "a second position of the alerts", text: `INSERT INTO alert_position VALUES (2, 1, 1)`, refusedBy: []string{"alert_position_single"}},
		{name: "the position of the alerts twice", text: `INSERT INTO alert_position VALUES (1, 1, 1)`, refusedBy: []string{"alert_position_key"}},
	}
}
