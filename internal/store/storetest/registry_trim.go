package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// roomy keeps everything that is young.
func roomy() registry.Retention {
	return registry.Retention{Raw: 24 * time.Hour, Hourly: 10 * 24 * time.Hour, MaxBytes: registry.DefaultMaxBytes}
}

// trimmedByAge trims what is too old, and never the newest result of a component.
func trimmedByAge(t *testing.T, location string) {
	db := open(t, location)
	old := fail(t, db, "asm", day())
	lone := fail(t, db, "lone", day())
	young := pass(t, db, "asm", day().Add(20*time.Hour))
	if removed := mustTrim(t, db, day().Add(24*time.Hour), roomy()); removed != 0 {
		t.Errorf("%d rows went in time", removed)
	}
	now := day().Add(24*time.Hour + time.Minute)
	if removed := mustTrim(t, db, now, roomy()); removed != 1 {
		t.Errorf("%d rows went, want 1", removed)
	}
	for id, want := range map[string]bool{old: false, lone: true, young: true} {
		if isKept(t, db, id) != want {
			t.Errorf("result %s kept: %v, want %v", id, !want, want)
		}
	}
	before, err := db.Changes(t.Context(), "", 100)
	if err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	if removed := mustTrim(t, db, day().Add(24*365*time.Hour), roomy()); removed != 3 {
		t.Errorf("%d rows went after a year, want the 3 hours", removed)
	}
	if after, err := db.Changes(t.Context(), "", 100); err != nil || cmp.Diff(before, after) != "" {
		t.Errorf("changes went: %v, %v", after, err)
	}
	if kept := mustResult(t, db, young); kept.Document == nil {
		t.Error("the newest result has lost its document")
	}
	balanced(t, raw(t, location, false))
}

// trimmedByBytes trims the oldest results, then hours, then preflights, in small
// steps, until what is left fits.
func trimmedByBytes(t *testing.T, location string) {
	db := open(t, location)
	foreign := raw(t, location, false)
	var ids []string
	for minute := range 60 {
		ids = append(ids, fail(t, db, "asm", day().Add(time.Duration(minute)*time.Minute)))
	}
	full := bytesOf(t, db)
	retention := roomy()
	retention.MaxBytes = full / 2
	now := day().Add(time.Hour)
	removed, err := db.Trim(t.Context(), now, retention, 3)
	if err != nil || removed != 3 || isKept(t, db, ids[2]) || !isKept(t, db, ids[3]) {
		t.Errorf("a step of 3 removed %d rows, %v", removed, err)
	}
	mustTrim(t, db, now, retention)
	if bytes := bytesOf(t, db); bytes > retention.MaxBytes || bytes < retention.MaxBytes*3/4 {
		t.Errorf("%d bytes are left of %d; %d are permitted", bytes, full, retention.MaxBytes)
	}
	balanced(t, foreign)
	for i, id := range ids {
		if i > 0 && isKept(t, db, ids[i-1]) && !isKept(t, db, id) {
			t.Errorf("result %d went before the older one", i)
		}
	}
	preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{slotResult(true, true)})
	if err := db.KeepPreflight(t.Context(), day(), &preflight); err != nil {
		t.Fatal(err)
	}
	retention.MaxBytes = 1
	mustTrim(t, db, now, retention)
	left, err := db.Results(t.Context(), "asm", "", 100)
	if err != nil || len(left) != 1 || left[0].ID != ids[len(ids)-1] {
		t.Errorf("with room for nothing %d results are left, %v", len(left), err)
	}
	if hours, err := db.Hours(t.Context(), "asm", day(), 100); err != nil || len(hours) > 0 {
		t.Errorf("with room for nothing %d hours are left, %v", len(hours), err)
	}
	if kept, err := db.Preflights(t.Context(), "nightly", registry.PreflightPlace{}, 100); err != nil || len(kept) > 0 {
		t.Errorf("with room for nothing %d preflights are left, %v", len(kept), err)
	}
	balanced(t, foreign)
	pass(t, db, "asm", day().Add(2*time.Hour)) // The hour that went is begun anew.
	fail(t, db, "asm", day().Add(time.Minute))
	balanced(t, foreign)
}

// trimmedOfHours trims the oldest hours before any result while hours have more
// than half of what is permitted, and leaves them the half.
func trimmedOfHours(t *testing.T, location string) {
	db := open(t, location)
	const hours, results = 200, 30
	begun := day().Add(-hours * time.Hour)
	for hour := range hours {
		fail(t, db, "old", begun.Add(time.Duration(hour)*time.Hour))
	}
	now := day().Add(24 * time.Hour)
	mustTrim(t, db, now, roomy()) // Of the old ones the hours stay.
	var ids []string
	for minute := range results {
		ids = append(ids, fail(t, db, "young", now.Add(time.Duration(minute)*time.Minute)))
	}
	retention := roomy()
	retention.MaxBytes = bytesOf(t, db)
	mustTrim(t, db, now, retention)
	for i, id := range ids {
		if !isKept(t, db, id) {
			t.Errorf("result %d went, though the hours have more than half", i)
		}
	}
	left, err := db.Hours(t.Context(), "old", begun, 1000)
	if err != nil || len(left) == 0 || len(left) >= hours || left[len(left)-1].Start.Equal(begun) {
		t.Errorf("%d of %d hours are left, %v", len(left), hours, err)
	}
	retention.MaxBytes /= 4
	mustTrim(t, db, now, retention)
	if isKept(t, db, ids[0]) {
		t.Error("with room for a quarter the oldest result stays")
	}
	if left, err = db.Hours(t.Context(), "old", begun, 1000); err != nil || len(left) == 0 {
		t.Errorf("the hours did not keep their half: %d are left, %v", len(left), err)
	}
	balanced(t, raw(t, location, false))
}

// surplusPreflights keeps the newest preflights of each run.
func surplusPreflights(t *testing.T, location string) {
	db := open(t, location)
	for run, count := range map[string]int{"nightly": store.MaxPreflights + 3, "weekly": 2} {
		preflight := registry.NewPreflight(&registry.Run{Name: run}, []registry.SlotResult{slotResult(true, true)})
		for minute := range count {
			if err := db.KeepPreflight(t.Context(), day().Add(time.Duration(minute)*time.Minute), &preflight); err != nil {
				t.Fatal(err)
			}
		}
	}
	if removed := mustTrim(t, db, day(), roomy()); removed != 3 {
		t.Errorf("%d preflights went, want 3", removed)
	}
	nightly, err := db.Preflights(t.Context(), "nightly", registry.PreflightPlace{}, 1000)
	if err != nil || len(nightly) != store.MaxPreflights || !nightly[len(nightly)-1].At.Equal(day().Add(3*time.Minute)) {
		t.Errorf("%d preflights are left, %v", len(nightly), err)
	}
	if weekly, err := db.Preflights(t.Context(), "weekly", registry.PreflightPlace{}, 10); err != nil || len(weekly) != 2 {
		t.Errorf("%d preflights of another run are left, %v", len(weekly), err)
	}
	balanced(t, raw(t, location, false))
}

// unusedTools removes lists that no component refers to, and only those.
func unusedTools(t *testing.T, location string) {
	db := open(t, location)
	digests := map[string]bool{}
	record := func(component string, minute int, list string, kept bool) {
		record := recordOf(component, found(day().Add(time.Duration(minute)*time.Minute), "", tools(list)))
		mustRecord(t, db, record)
		digests[record.Summary.ToolsDigest] = kept
	}
	record("asm", 0, "accepted of asm", true)
	record("asm", 1, "once", false)
	record("asm", 2, "of both", true)
	record("other", 3, "of both", true)
	record("asm", 4, "newest of asm", true)
	mustTrim(t, db, day(), roomy())
	for digest, want := range digests {
		if _, err := db.ToolList(t.Context(), digest); (err == nil) != want || err != nil && !errors.Is(err, fault.NotFound) {
			t.Errorf("tools %s: %v, kept is to be %v", digest, err, want)
		}
	}
	if _, err := raw(t, location, false).ExecContext(t.Context(), `UPDATE tool_lists SET tools = '[]'`); err != nil {
		t.Fatal(err)
	}
	for digest, kept := range digests {
		if _, err := db.ToolList(t.Context(), digest); kept && (err == nil || errors.Is(err, fault.NotFound)) {
			t.Errorf("altered tools: got %v", err)
		}
	}
}

// bytesOf is what the account says.
func bytesOf(t testing.TB, db *store.Database) int64 {
	t.Helper()
	bytes, err := db.HistoryBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// Year stores the results of some components for a year, trimming as it goes: a
// failure for every three passes, one result every six hours. What is left
// always fits, and the newest is always there.
func Year(t *testing.T, db *store.Database, components, days int, maxBytes int64) {
	t.Helper()
	retention := registry.Retention{Raw: 30 * 24 * time.Hour, Hourly: 90 * 24 * time.Hour, MaxBytes: maxBytes}
	for hour := 0; hour < 24*days; hour += 6 {
		now := day().Add(time.Duration(hour) * time.Hour)
		records := make([]registry.Record, components)
		for i := range records {
			cause := registry.Cause("")
			if (hour/6+i)%4 == 0 {
				cause = registry.ZeroTools
			}
			records[i] = recordOf(nameOf(i), found(now.Add(time.Duration(i)*time.Second), cause, tools("first")))
			records[i].Policy.TTL = 12 * time.Hour
		}
		mustRecord(t, db, records...)
		if _, err := db.Trim(t.Context(), now, retention, 4*components); err != nil {
			t.Fatal(err)
		}
		if bytes := bytesOf(t, db); bytes > retention.MaxBytes {
			t.Fatalf("on day %d the history takes %d bytes", hour/24, bytes)
		}
		if newest := records[components-1].ID; !isKept(t, db, newest) {
			t.Fatalf("on day %d the newest result is gone", hour/24)
		}
	}
}

// year is Year with a few components, by the account.
func year(t *testing.T, location string) {
	db := open(t, location)
	const components, days, maxBytes = 10, 14, 128 << 10
	Year(t, db, components, days, maxBytes)
	foreign := raw(t, location, false)
	balanced(t, foreign)
	rows := dumpQuery(t, foreign, "SELECT count(*) FROM results")
	if want := fmt.Sprint(components * 4 * days); rows[0] == want {
		t.Errorf("all %s results are left", want)
	}
}
