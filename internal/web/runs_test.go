package web_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// reading is the status of a component, probed a while ago.
func reading(name string, status registry.Status, age time.Duration) registry.Reading {
	return registry.Reading{Name: name, Kind: registry.KindMCPServer, Status: status, AgeMs: new(age.Milliseconds()), Causes: []registry.Cause{}}
}

// someRun has a slot on a fallback, one that nothing fills, and one that is well.
func someRun() registry.RunView {
	down := reading("scanner", registry.Unavailable, 12*time.Second)
	down.Causes, down.Reason = []registry.Cause{registry.NotOK}, "test: the index is gone"
	shaky := reading("scanner-eu", registry.Available, time.Minute)
	shaky.Flapping, shaky.Degraded = true, true
	changed := reading("scanner-us", registry.Available, time.Minute)
	changed.Drifting, changed.Reason = registry.DriftBlocks, "its tools are not the accepted ones, so a preflight refuses it"
	begun := registry.Reading{Name: "opus", Kind: registry.KindModel, Status: registry.Probing, Reason: "it has not been probed yet"}
	return registry.RunView{Run: "nightly", Slots: []registry.RunSlotView{
		{Required: true, SlotView: registry.SlotView{
			Slot: "recon", Primary: "scanner", Fallbacks: []string{"scanner-us", "scanner-eu"}, RequireTools: []string{"scan", "list"}, MinVersion: "1.4.0",
			Components: []registry.Reading{down, changed, shaky}, Fills: "scanner-eu",
		}},
		{SlotView: registry.SlotView{Slot: "judge", Primary: "opus", MaxAgeMs: 60_000, Components: []registry.Reading{begun}}},
		{Required: true, SlotView: registry.SlotView{
			Slot: "notes", Primary: "handbook", Fallbacks: []string{"manual"},
			Components: []registry.Reading{reading("handbook", registry.Available, 5*time.Second), reading("manual", registry.Available, 5*time.Second)}, Fills: "handbook",
		}},
	}, Preflights: []registry.KeptPreflight{
		{At: noon.Add(-3 * time.Minute), Preflight: somePreflight()},
		{At: noon.Add(-time.Hour), Preflight: registry.Preflight{Run: "nightly", Slots: []registry.SlotResult{{Slot: "recon", Required: true, Attempts: []registry.Attempt{
			{Component: "scanner", Causes: []registry.Cause{registry.Refused, "made_up"}, Reason: "healthz: connection refused", ResultID: "r-0"},
		}}}}},
	}}
}

// somePreflight is one that was allowed on a fallback, with its ticket.
func somePreflight() registry.Preflight {
	return registry.Preflight{Run: "nightly", Allowed: true, Slots: []registry.SlotResult{
		{Slot: "recon", Required: true, OK: true, Component: "scanner-eu", Fallback: true, Attempts: []registry.Attempt{
			{Component: "scanner", Causes: []registry.Cause{registry.NotOK}, Reason: "test: the index is gone", ResultID: "r-1"},
			{Component: "scanner-eu", Passed: true, ResultID: "r-2", Trusted: true, Degraded: true},
		}},
		{Slot: "judge", Attempts: []registry.Attempt{{Component: "opus", Causes: []registry.Cause{registry.Timeout}, Reason: "no answer in 10 s", ResultID: "r-3"}}},
		{Slot: "notes", Required: true, OK: true, Component: "handbook", Attempts: []registry.Attempt{
			{Component: "handbook", Passed: true, ResultID: "r-4", Reused: true}, {Component: "manual", Passed: true, ResultID: "r-5", Drifting: registry.DriftWarns},
		}},
	}, Ticket: &registry.Ticket{
		Version: 1, Run: "nightly", IssuedAt: "2026-01-02T11:57:00.000Z", KeyID: "8f1c2a33aa7b01ff", Signature: "c2lnbmVk",
		Slots: []registry.TicketSlot{
			{Slot: "recon", Component: "scanner-eu", Kind: registry.KindMCPServer, Fallback: true, ResultID: "r-2", ToolsDigest: "sha256:" + strings.Repeat("ab12", 16)},
			{Slot: "notes", Component: "handbook", Kind: registry.KindKnowledgeBase, ResultID: "r-4", ContentVersion: "v7"},
		},
	}}
}

// someRuns is a page of runs with every outcome.
func someRuns() registry.RunPage {
	last := func(ago time.Duration, allowed bool, fallbacks, unfilled []string) *registry.PreflightSummary {
		return &registry.PreflightSummary{At: noon.Add(-ago), Allowed: allowed, Fallbacks: fallbacks, Unfilled: unfilled}
	}
	return registry.RunPage{NextCursor: "weekly", Runs: []registry.RunSummary{
		{Run: "bare", Slots: []string{"recon", "judge"}, Last: last(time.Minute, true, nil, []string{"judge"})},
		{Run: "nightly", Slots: []string{"recon", "judge"}, Last: last(3*time.Minute, true, nil, nil)},
		{Run: "release", Slots: []string{"recon"}, Last: last(3*time.Hour, true, []string{"recon"}, []string{"judge"})},
		{Run: "strict", Slots: []string{"judge"}, Last: last(time.Second, false, nil, []string{"judge"})},
		{Run: "weekly", Slots: []string{"recon"}},
	}}
}

func TestRuns_areTheGoldenPages(t *testing.T) {
	unchecked := someRun()
	unchecked.Preflights = nil
	unregistered := someRun()
	unregistered.Unregistered, unregistered.Slots = true, nil
	for name, of := range map[string]struct {
		runs    *runDouble
		address string
	}{
		"runs.html":          {&runDouble{page: someRuns()}, "/runs"},
		"runs_none.html":     {&runDouble{}, "/runs"},
		"run.html":           {&runDouble{view: someRun()}, "/runs/nightly"},
		"run_unchecked.html": {&runDouble{view: unchecked}, "/runs/nightly"},

		"run_unregistered.html": {&runDouble{view: unregistered}, "/runs/nightly"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, mainOf(t, visit(t, web.Options{Runs: of.runs}, of.address).Body.String()))
		})
	}
}

func TestRuns_asksForOnePage(t *testing.T) {
	runs := &runDouble{page: someRuns()}
	visit(t, web.Options{Runs: runs}, "/runs?cursor=nightly&limit=1000000")
	if diff := cmp.Diff(registry.PageQuery{Limit: 50, Cursor: "nightly"}, runs.asked); diff != "" {
		t.Errorf("it asks (-want +got):\n%s", diff)
	}
}

func TestRun_asksForOnePageOfItsPreflights(t *testing.T) {
	runs := &runDouble{view: someRun()}
	page := mainOf(t, visit(t, web.Options{Runs: runs}, "/runs/nightly?cursor=after&limit=1000000").Body.String())
	if diff := cmp.Diff(registry.PageQuery{Limit: 10, Cursor: "after"}, runs.asked); diff != "" {
		t.Errorf("it asks (-want +got):\n%s", diff)
	}
	for _, wanted := range []string{"allowed on a fallback</span></p>", "Nothing is on this page any more.", `href="/runs/nightly?limit=1000000#preflights">First page`} {
		if !strings.Contains(page, wanted) {
			t.Errorf("a page behind the last has no %q:\n%s", wanted, page)
		}
	}
}

func TestRun_saysWhoFillsASlotGoingByTheStatuses(t *testing.T) {
	up, down := reading("u", registry.Available, time.Second), reading("d", registry.Unavailable, time.Second)
	const none = "nothing available"
	for name, of := range map[string]struct {
		required   bool
		components []registry.Reading
		fills      string
		lamp, want string
	}{
		"the primary":                    {true, []registry.Reading{up, down}, "u", "good", "filled by u<"},
		"a fallback":                     {true, []registry.Reading{down, up}, "u", "warn", "filled by u, a fallback<"},
		"what the registry says":         {true, []registry.Reading{down, up}, "d", "good", "filled by d<"},
		"nothing":                        {true, []registry.Reading{down}, "", "bad", none},
		"nothing, and nothing is needed": {false, []registry.Reading{down}, "", "warn", none},
		"nobody is there":                {true, nil, "", "bad", none},
	} {
		t.Run(name, func(t *testing.T) {
			slot := registry.SlotView{Slot: "recon", Components: of.components, Fills: of.fills}
			if len(of.components) > 0 {
				slot.Primary = of.components[0].Name
			}
			runs := &runDouble{view: registry.RunView{Run: "r", Slots: []registry.RunSlotView{{Required: of.required, SlotView: slot}}}}
			page := visit(t, web.Options{Runs: runs}, "/runs/r").Body.String()
			if want := `<i class="lamp ` + of.lamp + `" aria-hidden="true"></i>` + of.want; !strings.Contains(page, want) {
				t.Errorf("the page holds no %s:\n%s", want, mainOf(t, page))
			}
		})
	}
}

func TestRun_isAboutItsEventsAndThoseOfItsComponents(t *testing.T) {
	page := visit(t, web.Options{Runs: &runDouble{view: someRun()}}, "/runs/nightly").Body.String()
	if want := `data-topics="run:nightly component:scanner component:scanner-us component:scanner-eu component:opus component:handbook component:manual"`; !strings.Contains(page, want) {
		t.Errorf("the page has no %s", want)
	}
}

func TestRun_givesEachPreflightAnIDOfItsOwn(t *testing.T) {
	view := someRun()
	view.Preflights[1].At = view.Preflights[0].At
	page := visit(t, web.Options{Runs: &runDouble{view: view}}, "/runs/nightly").Body.String()
	for _, id := range []string{`id="preflight-1767355020000"`, `id="preflight-1767355020000-too"`} {
		if strings.Count(page, id) != 1 {
			t.Errorf("%s is there %d times", id, strings.Count(page, id))
		}
	}
}

func TestRuns_tellsOfFaultsOnTheirPage(t *testing.T) {
	for address, of := range map[string]struct {
		err  error
		want int
	}{
		"/runs":         {fault.New(fault.Unavailable, "not now"), http.StatusServiceUnavailable},
		"/runs?cursor=": {errors.New("lost"), http.StatusInternalServerError},
		"/runs/nowhere": {fault.New(fault.NotFound, "there is no run %q", "nowhere"), http.StatusNotFound},
	} {
		if answer := visit(t, web.Options{Runs: &runDouble{err: of.err}}, address); answer.Code != of.want {
			t.Errorf("GET %s = %d, want %d", address, answer.Code, of.want)
		}
	}
}

func TestRun_showsHostileTextAsText(t *testing.T) {
	view := someRun()
	view.Slots[0].Components[0].Reason = hostile
	view.Slots[0].Components[0].Causes = []registry.Cause{hostile}
	view.Slots[0].RequireTools, view.Slots[0].MinVersion = []string{hostile}, hostile
	found := &view.Preflights[0].Preflight
	found.Slots[0].Attempts[0].Reason = hostile
	found.Slots[0].Attempts[0].Causes = []registry.Cause{hostile}
	found.Ticket.KeyID, found.Ticket.Signature = hostile, hostile
	found.Ticket.Slots[0] = registry.TicketSlot{Slot: hostile, Component: hostile, Kind: hostile, ResultID: hostile, ToolsDigest: hostile, ImageDigest: hostile, ContentVersion: hostile}
	inert(t, visit(t, web.Options{Runs: &runDouble{view: view}}, "/runs/nightly").Body.String())
}

func TestRun_saysWhatASlotNeeds(t *testing.T) {
	page := visit(t, web.Options{Runs: &runDouble{view: someRun()}}, "/runs/nightly").Body.String()
	for _, wanted := range []string{
		"Needs: a fresh probe that passes; tools scan, list; version 1.4.0 or newer.", "Needs: a probe that passed within the last 1 min.", "Needs: a fresh probe that passes.",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page does not say %s", wanted)
		}
	}
}
