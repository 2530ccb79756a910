package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ofRegistry are the tests of the registry's part of the suite.
func ofRegistry() map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"a result is kept, folded and told whole":              recorded,
		"a batch given again changes nothing":                  recordedTwice,
		"a component that is redefined begins anew":            registered,
		"documents are kept of what is remarkable":             documents,
		"changes and hours add up":                             history,
		"tools are accepted as they are seen":                  accepted,
		"a preflight is kept with its run":                     preflights,
		"preflights are listed page by page":                   preflightsByPages,
		"a lease has one holder, and late writes are refused":  lease,
		"tokens are counted by the day and never past a limit": budgets,
		"tokens are settled, and old days are left behind":     settlements,
		"results of models pass as their proof says":           modelResults,
		"results of harnesses pass as their proof says":        harnessResults,
		"results of knowledge bases pass as their proof says":  knowledgeBaseResults,
		"what is too old is trimmed":                           trimmedByAge,
		"what does not fit is trimmed":                         trimmedByBytes,
		"hours that take more than their half are trimmed":     trimmedOfHours,
		"preflights beyond the limit are trimmed":              surplusPreflights,
		"tools that nothing refers to are trimmed":             unusedTools,
		"history stays within its bytes":                       year,
		"the store does what the registry does":                registryModel,
		"known asks little of many":                            knownOfMany,
	}
}

func recorded(t *testing.T, location string) {
	db := open(t, location)
	passed := recordOf("asm", found(day(), "", tools("first")))
	failed := recordOf("asm", found(day().Add(time.Minute), registry.ZeroTools, nil))
	mustRecord(t, db, failed, passed) // They are folded by the time of their probes.
	want, _ := registry.Known{}.After(passed)
	want, _ = want.After(failed)
	got := mustKnow(t, db, "asm")
	if reason := got.Standing.Last.Reason; strings.Contains(reason, "\x00") || !utf8.ValidString(reason) {
		t.Errorf("the reason %q is no text for every database", got.Standing.Last.Reason)
	}
	want.Standing.Last.Reason = got.Standing.Last.Reason
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	kept := mustResult(t, db, passed.ID)
	wantKept := registry.Kept{
		ID: passed.ID, Component: "asm", Kind: registry.KindMCPServer, Seen: registry.SeenOf(passed.ID, passed.Summary),
		Latency: 3 * time.Millisecond, Document: passed.Document,
	}
	if diff := cmp.Diff(wantKept, kept); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if read, err := registry.DecodeResult(registry.KindMCPServer, mustResult(t, db, failed.ID).Document); err != nil || read.Passed() {
		t.Errorf("the document of the failure: %v, %v", read, err)
	}
	listed, err := db.Results(t.Context(), "asm", "", 10)
	if err != nil || len(listed) != 2 || listed[0].ID != failed.ID || listed[1].ID != passed.ID || listed[1].Document != nil {
		t.Errorf("results: %v, %v", listed, err)
	}
	listed, err = db.Results(t.Context(), "asm", failed.ID, 10)
	if err != nil || len(listed) != 1 || listed[0].ID != passed.ID {
		t.Errorf("results before the newest: %v, %v", listed, err)
	}
	if _, err := db.Result(t.Context(), idAt(day())); !errors.Is(err, fault.NotFound) {
		t.Errorf("an unknown result: got %v, want E_NOT_FOUND", err)
	}
	for _, id := range []string{"", "\x00", failed.ID + "\x00", "\xff", "\xed\xa0\x80"} { // PostgreSQL refuses what is no text
		if _, err := db.Result(t.Context(), id); !errors.Is(err, fault.NotFound) {
			t.Errorf("the result %q: got %v, want E_NOT_FOUND", id, err)
		}
	}
}

func recordedTwice(t *testing.T, location string) {
	db := open(t, location)
	batch := []registry.Record{
		recordOf("asm", found(day(), "", tools("first"))),
		recordOf("asm", found(day().Add(time.Minute), registry.Refused, nil)),
		recordOf("other", found(day(), registry.Refused, nil)),
	}
	mustRecord(t, db, append(batch, batch[1])...)
	before := dumpRegistry(t, raw(t, location, false))
	mustRecord(t, db, batch...)
	mustRecord(t, db, batch[1:]...)
	if diff := cmp.Diff(before, dumpRegistry(t, raw(t, location, false))); diff != "" {
		t.Errorf("given again (-before +after):\n%s", diff)
	}
	if got := mustKnow(t, db, "asm").Standing; got.Streak != 1 || got.Outcomes != "pf" {
		t.Errorf("streak %d, outcomes %q", got.Streak, got.Outcomes)
	}
}

func registered(t *testing.T, location string) {
	db := open(t, location)
	pass(t, db, "asm", day())
	pass(t, db, "other", day())
	other := mustKnow(t, db, "other")
	redefined := registrationOf("asm")
	redefined.Definition = "sha256:b"
	now := day().Add(time.Hour)
	err := db.Register(t.Context(), now, []registry.Registration{redefined, registrationOf("new"), registrationOf("other")})
	if err != nil {
		t.Fatal(err)
	}
	got := mustKnow(t, db, "asm")
	if diff := cmp.Diff(registry.Standing{RegisteredAt: now}, got.Standing); diff != "" {
		t.Errorf("a redefined component (-want +got):\n%s", diff)
	}
	if got.Registration != redefined || got.AcceptedDigest == "" || got.ToolsDigest != "" {
		t.Errorf("a redefined component is %+v", got)
	}
	if diff := cmp.Diff(other, mustKnow(t, db, "other")); diff != "" {
		t.Errorf("a component that stayed what it was:\n%s", diff)
	}
	known, err := db.Known(t.Context(), []string{"new", "never", "asm"})
	if err != nil || len(known) != 2 || known[0].Registration.Name != "new" || known[1].Registration.Name != "asm" {
		t.Errorf("known: %+v, %v", known, err)
	}
	// A probe of what it was before, which ends late, says nothing.
	fail(t, db, "asm", day().Add(time.Minute))
	if diff := cmp.Diff(got, mustKnow(t, db, "asm")); diff != "" {
		t.Errorf("after a result of what it was before:\n%s", diff)
	}
}

func documents(t *testing.T, location string) {
	db := open(t, location)
	at := func(minute int) time.Time { return day().Add(time.Duration(minute) * time.Minute) }
	kept := map[string]string{
		pass(t, db, "asm", at(0)): "the first pass",
		fail(t, db, "asm", at(3)): "a failure",
		fail(t, db, "asm", at(4)): "a failure that changed the status",
		pass(t, db, "asm", at(5)): "the pass after it",
	}
	given := pass(t, db, "asm", at(6))
	if mustResult(t, db, given).Document == nil {
		t.Error("the newest result has no document")
	}
	drifted := recordOf("asm", found(at(7), "", tools("another")))
	kept[mustRecord(t, db, drifted)] = "a pass with other tools"
	undecided := recordOf("asm", found(at(8), registry.Denied, nil))
	kept[mustRecord(t, db, undecided)] = "an undecided one"
	kept[pass(t, db, "asm", at(9))] = "the newest"
	for id, what := range kept {
		if _, err := registry.DecodeResult(registry.KindMCPServer, mustResult(t, db, id).Document); err != nil {
			t.Errorf("the document of %s: %v", what, err)
		}
	}
	if mustResult(t, db, given).Document != nil {
		t.Error("the document of an unremarkable pass was kept")
	}
	// One that is too long is given up, and the result stands by its proof.
	for i, long := range []bool{false, true} {
		record := recordOf("long", found(day().Add(time.Duration(i)*time.Minute), registry.ZeroTools, nil))
		record.Document = []byte(`"` + strings.Repeat("x", 1<<20-2+i) + `"`)
		id := mustRecord(t, db, record)
		if kept := mustResult(t, db, id); (kept.Document == nil) != long || kept.Seen.Outcome != registry.OutcomeFailed {
			t.Errorf("of a document of %d bytes %d are kept, and the result is %s", len(record.Document), len(kept.Document), kept.Seen.Outcome)
		}
	}
	balanced(t, raw(t, location, false))
}

func history(t *testing.T, location string) {
	db := open(t, location)
	first := pass(t, db, "asm", day().Add(58*time.Minute))
	fail(t, db, "asm", day().Add(59*time.Minute))
	second := fail(t, db, "asm", day().Add(60*time.Minute))
	third := pass(t, db, "asm", day().Add(80*time.Minute))
	got, err := db.Changes(t.Context(), "asm", 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []registry.Change{
		{Component: "asm", At: day().Add(80 * time.Minute), From: registry.Unknown, To: registry.Available, Causes: []registry.Cause{}, ResultID: third},
		{Component: "asm", At: day().Add(63 * time.Minute), From: registry.Unavailable, To: registry.Unknown, Causes: []registry.Cause{}, ResultID: second},
		{Component: "asm", At: day().Add(60 * time.Minute), From: registry.Available, To: registry.Unavailable, Causes: []registry.Cause{registry.ZeroTools}, ResultID: second},
		{Component: "asm", At: day().Add(58 * time.Minute), From: registry.Probing, To: registry.Available, Causes: []registry.Cause{}, ResultID: first},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	pass(t, db, "other", day())
	if all, err := db.Changes(t.Context(), "", 2); err != nil || len(all) != 2 || all[0].Component != "other" || all[1].ResultID != third {
		t.Errorf("changes of all: %v, %v", all, err)
	}
	hours, err := db.Hours(t.Context(), "asm", day(), 10)
	if err != nil {
		t.Fatal(err)
	}
	wantHours := make([]registry.Hour, 2)
	wantHours[0] = registry.Hour{Component: "asm", Start: day().Add(time.Hour), Passed: 1, Failed: 1}
	wantHours[0].LatencyMs.Sum, wantHours[0].LatencyMs.Max = 6, 3
	wantHours[1] = registry.Hour{Component: "asm", Start: day(), Passed: 1, Failed: 1}
	wantHours[1].LatencyMs = wantHours[0].LatencyMs
	if diff := cmp.Diff(wantHours, hours); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
	if since, err := db.Hours(t.Context(), "asm", day().Add(time.Minute), 10); err != nil || len(since) != 1 {
		t.Errorf("hours since: %v, %v", since, err)
	}
	foreign := raw(t, location, false)
	balanced(t, foreign)
	addedUp(t, foreign)
}

func accepted(t *testing.T, location string) {
	db := open(t, location)
	pass(t, db, "asm", day())
	before := mustKnow(t, db, "asm")
	if before.Drifted() || before.AcceptedDigest == "" {
		t.Fatalf("the tools of the first pass are not the accepted ones: %+v", before)
	}
	mustRecord(t, db, recordOf("asm", found(day().Add(time.Minute), "", tools("another"))))
	drifted := mustKnow(t, db, "asm")
	if !drifted.Drifted() {
		t.Fatalf("other tools are no drift: %+v", drifted)
	}
	for digest, want := range map[string][]registry.Tool{before.ToolsDigest: tools("first"), drifted.ToolsDigest: tools("another")} {
		got, err := db.ToolList(t.Context(), digest)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the tools of %s: %v\n%s", digest, err, diff)
		}
	}
	now := day().Add(time.Hour)
	if err := db.Accept(t.Context(), "asm", before.ToolsDigest, now); !errors.Is(err, fault.WrongState) {
		t.Errorf("accepting what is there no more: got %v, want E_WRONG_STATE", err)
	}
	if err := db.Accept(t.Context(), "asm", "", now); !errors.Is(err, fault.WrongState) {
		t.Errorf("accepting nothing: got %v, want E_WRONG_STATE", err)
	}
	if err := db.Accept(t.Context(), "never", before.ToolsDigest, now); !errors.Is(err, fault.NotFound) {
		t.Errorf("accepting tools of nobody: got %v, want E_NOT_FOUND", err)
	}
	if err := db.Accept(t.Context(), "asm", drifted.ToolsDigest, now); err != nil {
		t.Fatal(err)
	}
	if got := mustKnow(t, db, "asm"); got.Drifted() || !got.AcceptedAt.Equal(now) || got.AcceptedDigest != drifted.ToolsDigest {
		t.Errorf("accepted: %+v", got)
	}
	mustTrim(t, db, day(), registry.Retention{Raw: time.Hour, Hourly: time.Hour, MaxBytes: registry.DefaultMaxBytes})
	if _, err := db.ToolList(t.Context(), before.ToolsDigest); !errors.Is(err, fault.NotFound) {
		t.Errorf("tools that nothing refers to: got %v, want E_NOT_FOUND", err)
	}
	if _, err := db.ToolList(t.Context(), drifted.ToolsDigest); err != nil {
		t.Errorf("the accepted tools: %v", err)
	}
}

// slotResult is a slot that was filled by asm, or by nothing.
func slotResult(required, ok bool) registry.SlotResult {
	slot := registry.SlotResult{Slot: "recon", Required: required, OK: ok, Attempts: []registry.Attempt{
		{Component: "asm", Passed: ok, Causes: []registry.Cause{}, ResultID: idAt(day()), Reason: "it \x00 says"},
	}}
	if ok {
		slot.Component = "asm"
	}
	return slot
}

func preflights(t *testing.T, location string) {
	db := open(t, location)
	allowed := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{slotResult(true, true), slotResult(false, false)})
	allowed.Ticket = &registry.Ticket{Version: registry.TicketVersion, Run: "nightly"}
	refused := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{slotResult(true, false)})
	for range 2 { // Given again, it changes nothing.
		for minute, preflight := range []*registry.Preflight{&allowed, &refused} {
			if err := db.KeepPreflight(t.Context(), day().Add(time.Duration(minute)*time.Minute), preflight); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := db.Preflights(t.Context(), "nightly", registry.PreflightPlace{}, 10)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	want := []registry.KeptPreflight{{At: day().Add(time.Minute), Preflight: refused}, {At: day(), Preflight: allowed}}
	text, wantText := mustJSON(t, got), strings.ReplaceAll(mustJSON(t, want), `\u0000`, "\ufffd")
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Errorf("preflights (-want +got):\n%s", diff)
	}
	lying := refused
	lying.Allowed = true
	err = db.KeepPreflight(t.Context(), day(), &lying)
	if name := db.Violated(err); name != "preflights_allowed" {
		t.Errorf("an allowed preflight of an empty slot: got %v (%s)", err, name)
	}
	if other, err := db.Preflights(t.Context(), "other", registry.PreflightPlace{}, 10); err != nil || len(other) > 0 {
		t.Errorf("of another run: %v, %v", other, err)
	}
	balanced(t, raw(t, location, false))
}

// preflightsByPages lists the preflights of a run one by one, two of them of one
// moment, while another is stored.
func preflightsByPages(t *testing.T, location string) {
	db := open(t, location)
	keep := func(minute int, oks ...bool) {
		var slots []registry.SlotResult
		for _, ok := range oks {
			slots = append(slots, slotResult(false, ok))
		}
		preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, slots)
		if err := db.KeepPreflight(t.Context(), day().Add(time.Duration(minute)*time.Minute), &preflight); err != nil {
			t.Fatal(err)
		}
	}
	keep(1, true)
	keep(2, true)
	keep(2, false)
	keep(3, true)
	all, err := db.Preflights(t.Context(), "nightly", registry.PreflightPlace{}, 10)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d of 4 preflights, %v", len(all), err)
	}
	var listed []registry.KeptPreflight
	after := registry.PreflightPlace{}
	for range all {
		page, err := db.Preflights(t.Context(), "nightly", after, 1)
		if err != nil || len(page) != 1 {
			t.Fatalf("after %v: %d preflights, %v", after, len(page), err)
		}
		listed, after = append(listed, page...), page[0].Place()
		keep(4+len(listed), true)
	}
	if diff := cmp.Diff(mustJSON(t, all), mustJSON(t, listed)); diff != "" {
		t.Errorf("preflights by pages (-all +listed):\n%s", diff)
	}
	if left, err := db.Preflights(t.Context(), "nightly", after, 1); err != nil || len(left) > 0 {
		t.Errorf("after the last: %v, %v", left, err)
	}
}

func mustJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func knownOfMany(t *testing.T, location string) {
	db := open(t, location)
	const many = 2500
	var registrations []registry.Registration
	var names []string
	for i := range many {
		names = append(names, nameOf(many-i))
		registrations = append(registrations, registrationOf(nameOf(many-i)))
	}
	if err := db.Register(t.Context(), day(), registrations); err != nil {
		t.Fatal(err)
	}
	known, err := db.Known(t.Context(), append(names, "never", names[0]))
	if err != nil || len(known) != many {
		t.Fatalf("%d known, %v", len(known), err)
	}
	for i := range known {
		if known[i].Registration != registrations[i] || !known[i].Standing.RegisteredAt.Equal(day()) {
			t.Fatalf("component %d is %+v", i, known[i])
		}
	}
}
