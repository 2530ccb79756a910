package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestRegistry_doesNothingTwiceWhenAnAnswerWasLost retries writes of the registry
// that were stored.
func TestRegistry_doesNothingTwiceWhenAnAnswerWasLost(t *testing.T) {
	db, engine := openEngine(t)
	db.dialect.transient = func(err error) bool { return errors.Is(err, errLost) }
	lose := func() { db.engine = &lossyEngine{engine: engine} }
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

	lose()
	lease, taken, err := db.TakeLease(t.Context(), registry.Lease{}, "one")
	if err != nil || !taken || lease.Fence != 1 {
		t.Fatalf("the lease: %+v, %v, %v", lease, taken, err)
	}
	lose()
	if err := db.Record(t.Context(), &lease.Fence, []registry.Record{failureAt(at), failureAt(at.Add(time.Minute))}); err != nil {
		t.Fatal(err)
	}
	known, err := db.Known(t.Context(), []string{"asm"})
	if err != nil || len(known) != 1 || known[0].Standing.Outcomes != "ff" {
		t.Errorf("known: %+v, %v", known, err)
	}
	hours, err := db.Hours(t.Context(), "asm", at, 10)
	if err != nil || len(hours) != 1 || hours[0].Failed != 2 {
		t.Errorf("hours: %+v, %v", hours, err)
	}
	lose()
	preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{{Slot: "recon", Required: true}})
	if err := db.KeepPreflight(t.Context(), at, &preflight); err != nil {
		t.Fatal(err)
	}
	kept, err := db.Preflights(t.Context(), "nightly", registry.PreflightPlace{}, 10)
	if err != nil || len(kept) != 1 || cmp.Diff(preflight.Slots, kept[0].Preflight.Slots) != "" {
		t.Errorf("preflights: %+v, %v", kept, err)
	}
	lose()
	if err := db.ReleaseLease(t.Context(), lease.Fence); err != nil {
		t.Error(err)
	}
	lose()
	if removed, err := db.Trim(t.Context(), at, registry.Retention{}, 10); err != nil || removed == 0 {
		t.Errorf("trimmed %d, %v", removed, err)
	}
}

// failureAt is a failed result of asm, with an id of that time.
func failureAt(at time.Time) registry.Record {
	result := registry.ProbeResult{ProbedAt: at}
	return registry.Record{
		ID:           idAt(at) + "-7000-8000-000000000000",
		Registration: registry.Registration{Name: "asm", Kind: registry.KindMCPServer, Definition: "d"},
		Policy:       registry.Policy{Rise: 1, Fall: 1, Interval: time.Minute, TTL: time.Hour, ProbingDeadline: time.Hour},
		Summary:      result.Summary(),
	}
}

// TestRegistry_meetsAnIndexWithEveryList reads SQLite's plans: lists and the
// search for what is to be trimmed come in their order from an index.
func TestRegistry_meetsAnIndexWithEveryList(t *testing.T) {
	_, engine := openEngine(t)
	sqlite := sqliteDialect()
	led := func(text string) string { return sqlite.led(text, "$1") }
	for text, want := range map[string]string{
		led(selectKept + ofComponent):       "INDEX results_by_component (component=? AND id<?)",
		led(selectHours):                    "INDEX hours_by_component (component=? AND start>?)",
		selectChanges + ofAll:               "SCAN changes",
		led(selectChanges + ofOneComponent): "INDEX changes_by_component (component=?)",
		selectPreflights:                    "INDEX sqlite_autoindex_preflights_1 (run=? AND (at,digest)<(?,?))",
		selectOldResults:                    "INDEX sqlite_autoindex_results_1 (id<?)",
		selectOldHours:                      "PRIMARY KEY (start<?)",
		selectLoose:                         "COVERING INDEX tool_lists_loose",
		selectSurplusPreflights:             "COVERING INDEX sqlite_autoindex_preflights_1",
	} {
		steps, err := all(t.Context(), engine.reader, scanPlan, "EXPLAIN QUERY PLAN "+text, "x", "y", 20, 20)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if told := strings.Join(steps, "; "); !strings.Contains(told, want) || strings.Contains(told, "TEMP B-TREE FOR ORDER BY") {
			t.Errorf("%s: got the plan %q, want %q", text, told, want)
		}
	}
}

// A text of SQL may hold signs that formats give a meaning.
func TestLed_leavesTheRestOfATextAsItIs(t *testing.T) {
	const want = `SELECT 1 WHERE a LIKE '%s 100%' AND component = $1 AND b % 2 = 0`
	sqlite := sqliteDialect()
	if got := sqlite.led(`SELECT 1 WHERE a LIKE '%s 100%' AND {led} AND b % 2 = 0`, "$1"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
