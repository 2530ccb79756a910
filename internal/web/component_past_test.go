package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// withoutScanner is a registry whose configuration names the scanner no more.
func withoutScanner(t *testing.T) *fleetDouble {
	t.Helper()
	fleet := foreign(asItIs).fleet(t)
	view := fleet.views["scanner"]
	view.Unregistered, view.Slots, view.Drift, view.Status, view.Since = true, nil, nil, registry.Unknown, ""
	view.Reason, view.Drifting = "it is no longer registered; before that it had failed: no nmap", ""
	fleet.views["scanner"] = view
	fleet.registered = registry.Registered{}
	return fleet
}

// Alerts of a component link to its page for as long as they are kept.
func TestComponent_showsWhatWasKeptOfOneThatIsNoLongerRegistered(t *testing.T) {
	answer := visit(t, web.Options{Fleet: withoutScanner(t)}, "/components/scanner")
	page := answer.Body.String()
	for wanted, want := range map[string]bool{
		"No longer registered": true, "required tools unusable: nmap": true, "Changes of status": true, `id="history"`: true,
		"Probe now": false, "component accept": false, `id="fills"`: false,
	} {
		if strings.Contains(page, wanted) != want {
			t.Errorf("the page holds %q: %v, want %v", wanted, !want, want)
		}
	}
	if answer.Code != http.StatusOK {
		t.Errorf("it is answered with %d", answer.Code)
	}
}

// The result of before a new definition is marked when it is shown by itself.
func TestComponent_marksTheResultOfAnEarlierDefinitionThatIsShown(t *testing.T) {
	for name, ago := range map[string]time.Duration{"earlier": 2 * time.Hour, "present": time.Minute} {
		fleet := foreign(asItIs).fleet(t)
		view := fleet.views["scanner"]
		view.Changes = []registry.Change{{At: noon.Add(-time.Hour), From: registry.Probing, To: registry.Available, Redefined: true}}
		fleet.views["scanner"] = view
		fleet.results = []registry.KeptResult{{
			ResultID: "shown", Component: "scanner", Kind: registry.KindMCPServer, ProbedAt: registry.Timestamp(noon.Add(-ago)), Outcome: registry.OutcomePassed,
		}}
		page := visit(t, web.Options{Fleet: fleet}, "/components/scanner?result=shown").Body.String()
		if got := strings.Contains(page, "It is of an earlier definition of the component."); got != (name == "earlier") || !strings.Contains(page, "This is the result of") {
			t.Errorf("the result of the %s definition is marked as of an earlier one: %v", name, got)
		}
	}
}

// A result does not say of which definition it is; the changes of status tell it.
func TestComponent_marksResultsOfEarlierDefinitions(t *testing.T) {
	const mark = "The component was defined anew here"
	at := func(ago time.Duration) string { return registry.Timestamp(noon.Add(-ago)) }
	of := func(id string, ago time.Duration) registry.KeptResult {
		return registry.KeptResult{ResultID: id, Component: "scanner", ProbedAt: at(ago), Outcome: registry.OutcomePassed}
	}
	for name, c := range map[string]struct {
		newest  *string
		results []registry.KeptResult
		changed []time.Duration // when a definition began
		want    []int           // below how many results a mark stands
	}{
		"of one definition":      {new("b"), []registry.KeptResult{of("b", time.Hour), of("a", 2*time.Hour)}, nil, nil},
		"between two":            {new("c"), []registry.KeptResult{of("c", time.Hour), of("b", 2*time.Hour), of("a", 3*time.Hour)}, []time.Duration{2 * time.Hour}, []int{2}},
		"twice":                  {new("c"), []registry.KeptResult{of("c", time.Hour), of("b", 2*time.Hour), of("a", 3*time.Hour)}, []time.Duration{time.Hour, 2 * time.Hour}, []int{1, 2}},
		"on a page of before":    {new("z"), []registry.KeptResult{of("b", 2*time.Hour), of("a", 3*time.Hour)}, []time.Duration{time.Hour}, []int{0}},
		"with no result of now":  {nil, []registry.KeptResult{of("b", 2*time.Hour), of("a", 3*time.Hour)}, nil, []int{0}},
		"after its deadline too": {new("b"), []registry.KeptResult{of("b", time.Hour), of("a", 3*time.Hour)}, []time.Duration{2 * time.Hour}, []int{1}},
	} {
		fleet := foreign(asItIs).fleet(t)
		view := fleet.views["scanner"]
		view.ResultID, view.Result, view.Changes = c.newest, nil, nil
		for _, ago := range c.changed {
			view.Changes = append(view.Changes, registry.Change{At: noon.Add(-ago), From: registry.Probing, To: registry.Available, Redefined: true})
		}
		fleet.views["scanner"], fleet.results = view, c.results
		page := visit(t, web.Options{Fleet: fleet}, "/components/scanner").Body.String()
		var got []int
		rows := 0
		for above := range strings.SplitSeq(page, mark) {
			rows += strings.Count(above, `<td role="cell" data-label="Latency"`)
			got = append(got, rows)
		}
		got = got[:len(got)-1]
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: marks stand below %d results, want %d", name, got, c.want)
		}
	}
}
