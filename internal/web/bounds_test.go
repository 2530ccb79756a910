package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// How large a run is made, and how often the component busy is needed.
const (
	largeSlots    = 100
	largeFillers  = 16
	largeUses     = 400
	largeRuns     = 50
	worstReason   = `"'<&>`
	worstRepeated = registry.MaxDetail / len(worstReason)
)

// longName is a name of the greatest length.
func longName(what string, n ...int) string {
	name := strings.ReplaceAll(fmt.Sprint(append([]any{what}, n)...), " ", "-")
	name = strings.Trim(strings.NewReplacer("[", "-", "]", "").Replace(name), "-")
	return name + strings.Repeat("x", registry.MaxName-len(name))
}

// largestRun is a run of which everything is as long as it may be. Only its last
// slot is empty, and of the others only the last component is well.
func largestRun() registry.RunView {
	view := registry.RunView{Run: "largest"}
	whole := registry.Preflight{Run: "largest", Ticket: &registry.Ticket{Version: 1, Run: "largest", IssuedAt: "2026-01-02T11:57:00.000Z", KeyID: "8f1c2a33aa7b01ff"}}
	reason := strings.Repeat(worstReason, worstRepeated)
	for i := range largeSlots {
		slot := registry.RunSlotView{Required: true, SlotView: registry.SlotView{Slot: longName("slot", i), MinVersion: "1.4.0"}}
		found := registry.SlotResult{Slot: slot.Slot, Required: true, OK: i < largeSlots-1, Fallback: i < largeSlots-1}
		for j := range largeFillers {
			one := reading(longName("component", i, j), registry.Unavailable, time.Second)
			one.Causes, one.Reason, one.Drifting, one.Flapping, one.Degraded = []registry.Cause{registry.NotOK}, reason, registry.DriftBlocks, true, true
			slot.Components = append(slot.Components, one)
			slot.RequireTools = append(slot.RequireTools, longName("tool", j))
			found.Attempts = append(found.Attempts, registry.Attempt{Component: one.Name, Causes: one.Causes, Reason: reason, ResultID: resultText, Degraded: true, Reused: true})
		}
		slot.Primary = slot.Components[0].Name
		if found.OK {
			slot.Fills = slot.Components[largeFillers-1].Name
			found.Component = slot.Fills
			whole.Ticket.Slots = append(whole.Ticket.Slots, registry.TicketSlot{
				Slot: slot.Slot, Component: slot.Fills, Kind: registry.KindKnowledgeBase, Fallback: true, ResultID: resultText,
				ToolsDigest: "sha256:" + strings.Repeat("ab12", 16), ImageDigest: "sha256:" + strings.Repeat("ab12", 16), ContentVersion: reason,
			})
		}
		view.Slots, whole.Slots = append(view.Slots, slot), append(whole.Slots, found)
	}
	for i := range registry.ShownPreflights {
		view.Preflights = append(view.Preflights, registry.KeptPreflight{At: noon.Add(-time.Duration(i) * time.Minute), Preflight: whole})
	}
	return view
}

// resultText is the id of a result.
const resultText = "01a22df7-0000-7000-8000-000000000001"

// largestConfiguration has the largest run, and a component that every slot of every
// run may be filled by.
func largestConfiguration() web.Options {
	fleet := &fleetDouble{views: map[string]registry.ComponentView{}, run: largestRun()}
	busy := registry.ComponentView{Reading: reading("busy", registry.Available, time.Second)}
	var slots []registry.RunSlot
	for i := range largeUses {
		name := longName("slot", i)
		busy.Slots = append(busy.Slots, name)
		fleet.registered.Slots = append(fleet.registered.Slots, registry.Slot{Name: name, Primary: "busy"})
		slots = append(slots, registry.RunSlot{Slot: name, Required: true})
	}
	fleet.registered.Components = []registry.Component{{Name: "busy", Spec: &registry.MCPServer{}}}
	last := &registry.PreflightSummary{At: noon}
	for _, slot := range slots[:largeSlots] {
		last.Unfilled, last.Fallbacks = append(last.Unfilled, slot.Slot), append(last.Fallbacks, slot.Slot)
	}
	for i := range largeRuns {
		summary := registry.RunSummary{Run: longName("run", i), Slots: last.Unfilled}
		if i%2 == 0 { // The others were never checked.
			summary.Last = last
		}
		fleet.registered.Runs = append(fleet.registered.Runs, registry.Run{Name: summary.Run, Slots: slots})
		fleet.runs.Runs = append(fleet.runs.Runs, summary)
	}
	fleet.views["busy"] = busy
	return web.Options{Fleet: fleet, Runs: fleet}
}

// What is left out is counted, and is never what is worst.
func TestRun_showsTheWorstOfALargeRunAndCountsTheRest(t *testing.T) {
	page := mainOf(t, visit(t, largestConfiguration(), "/runs/largest").Body.String())
	empty, first, middle := longName("slot", largeSlots-1), longName("slot", 0), longName("slot", 50)
	for _, wanted := range []string{
		">" + empty + " <small>required</small>", ">" + first + " <small>required</small>", "And 76 slots more, of which none is worse; <code>GET /api/v1/runs/largest</code>",
		"filled by " + longName("component", 0, largeFillers-1) + ", a fallback", "And 12 components more.",
		">" + longName("component", 0, largeFillers-1) + "</a> <b class=\"warn\">fills it</b>", "And 13 components more.", "And 96 slots more, of which none is worse; <code>GET /api/v1/runs/largest/preflights</code>",
		"<code>GET /api/v1/runs/largest/preflights</code> has the ticket whole.", `href="/runs/largest?cursor=next#preflights" rel="next">Next page`,
		"tools " + longName("tool", 0), " and 10 others",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page does not say %s", wanted)
		}
	}
	if strings.Contains(page, middle) {
		t.Errorf("the page shows %s", middle)
	}
}

func TestRun_leadsToOlderPreflightsWhenThereAreAny(t *testing.T) {
	const shown = 10
	for n, want := range map[int]bool{shown: false, shown + 1: true} {
		view := someRun()
		for len(view.Preflights) < n {
			view.Preflights = append(view.Preflights, view.Preflights[1])
		}
		page := visit(t, web.Options{Runs: &runDouble{view: view}}, "/runs/nightly").Body.String()
		if strings.Contains(page, `rel="next"`) != want || strings.Count(page, `<details class="preflight"`) != shown {
			t.Errorf("of %d preflights it shows %d", n, strings.Count(page, `<details class="preflight"`))
		}
	}
}

func TestRun_followsAllComponentsWhenItHasTooManyToFollowEach(t *testing.T) {
	if page := visit(t, largestConfiguration(), "/runs/largest").Body.String(); !strings.Contains(page, `data-topics="run:largest component"`) {
		t.Error("the page does not follow all components")
	}
}

func TestComponent_countsTheSlotsAndRunsThatItDoesNotShow(t *testing.T) {
	page := mainOf(t, visit(t, largestConfiguration(), "/components/busy").Body.String())
	for _, wanted := range []string{
		">" + longName("run", 9) + "</a> and 40 others</dd>", "And 380 slots more; <code>GET /api/v1/components/busy</code>",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page does not say %s", wanted)
		}
	}
}

func TestRuns_listSomeOfTheSlots(t *testing.T) {
	for address, rows := range map[string]int{"/": 12, "/runs": largeRuns} {
		page := mainOf(t, visit(t, largestConfiguration(), address).Body.String())
		want := longName("slot", 5) + " and 94 others"
		if got := strings.Count(page, want); !strings.Contains(page, "nothing healthy for ") || got < rows {
			t.Errorf("%s says %d times %s", address, got, want)
		}
		if strings.Contains(page, longName("slot", 6)) {
			t.Errorf("%s lists more than that", address)
		}
	}
}
