package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// refusals is a page of runs of which the last so many were refused, after others that
// were allowed or never checked.
func refusals(refused int, allowed bool, next string) registry.RunPage {
	page := registry.RunPage{NextCursor: next, Runs: []registry.RunSummary{{Run: "fresh"}}}
	if allowed {
		page.Runs = append(page.Runs, registry.RunSummary{Run: "good", Last: &registry.PreflightSummary{At: noon, Allowed: true}})
	}
	for i := range 12 + refused {
		made := registry.RunSummary{Run: fmt.Sprintf("run-%02d", i)}
		if i >= 12 {
			made.Last = &registry.PreflightSummary{At: noon.Add(-time.Hour), Unfilled: []string{"recon"}}
		}
		page.Runs = append(page.Runs, made)
	}
	return page
}

func TestOverview_saysFirstWhatWasRefused(t *testing.T) {
	fleet, claims := `<a href="#fleet">2 of 4 components need attention.</a>`, `<a href="#claims">One claim waits for a verdict.</a>`
	for _, of := range []struct {
		runs registry.RunPage
		want []string
	}{
		{refusals(1, true, ""), []string{`<a href="#runs">One run was refused by its last preflight.</a>`, fleet, claims}},
		{refusals(3, false, ""), []string{`<a href="#runs">3 runs were refused by their last preflights.</a>`, fleet, claims}},
		{refusals(1, true, "run-12"), []string{`<a href="#runs">At least one run was refused by its last preflight.</a>`, fleet, claims}},
		{refusals(0, true, ""), []string{fleet, claims, `<a href="#runs">No run was refused by its last preflight.</a>`}},
		{refusals(0, true, "run-11"), []string{fleet, claims}},
		{refusals(0, false, ""), []string{fleet, claims}},
	} {
		double := &fleetDouble{runs: of.runs, counts: registry.StatusCounts{Unavailable: 2, Available: 2, Attention: 2}}
		gate := &gateDouble{page: task.Page{Counts: task.Counts{Claimed: 1}, CountsCappedAt: 1000}}
		page := mainOf(t, visit(t, web.Options{Fleet: double, Runs: double, Tasks: gate}, "/").Body.String())
		if want := `<p class="lead" id="headline" data-live>` + strings.Join(of.want, " ") + "</p>"; !strings.Contains(page, want) {
			t.Errorf("it does not say %s:\n%.600s", want, page)
		}
		for _, place := range []string{"runs", "fleet", "claims"} {
			if !strings.Contains(page, `<section class="entry" id="`+place+`"`) {
				t.Errorf("the headline leads to no %s", place)
			}
		}
		if rows := strings.Count(page, `id="run-`); rows != 12 || !strings.Contains(page, ">All runs</a>") {
			t.Errorf("it shows %d runs", rows)
		}
	}
}

// A server takes up no file that is written beside it: /components says so, and so does
// the page of runs.
func TestRuns_sayHowAServerWithoutAFileComesToOne(t *testing.T) {
	const restart = "End this server, and start it again with"
	looked := web.Source{LookedFor: []string{"/home/ada/countersign.yaml"}}
	for _, address := range []string{"/components", "/runs"} {
		for source, wanted := range map[string]string{"": restart, "/srv/runs.yaml": "this server reads <code><bdi>/srv/runs.yaml</bdi></code>"} {
			from := web.Source{File: source}
			if source == "" {
				from = looked
			}
			page := visit(t, web.Options{Fleet: &fleetDouble{}, Runs: &fleetDouble{}, Source: from}, address).Body.String()
			if !strings.Contains(page, wanted) || strings.Contains(page, restart) != (source == "") || strings.Contains(page, looked.LookedFor[0]) != (source == "") {
				t.Errorf("%s of a server with the file %q:\n%s", address, source, mainOf(t, page))
			}
		}
	}
}

func TestComponents_beginReasonsAsSentencesDo(t *testing.T) {
	for reason, want := range map[string]string{
		"it has not been probed yet": "It has not been probed yet", "healthz: refused": "healthz: refused",
		"healthz, test: timeout": "healthz, test: timeout", "écrit": "Écrit", "\xff odd": "\ufffd odd",
	} {
		fleet := &fleetDouble{
			counts:     registry.StatusCounts{Unknown: 1, Attention: 1},
			readings:   []registry.Reading{{Name: "scanner", Status: registry.Unknown, Reason: reason}},
			registered: registry.Registered{Components: []registry.Component{{Name: "scanner"}}},
		}
		for _, address := range []string{"/", "/components"} {
			if page := visit(t, web.Options{Fleet: fleet}, address).Body.String(); !strings.Contains(page, "<small><bdi>"+want+"</bdi></small>") {
				t.Errorf("%s shows %q otherwise than as %q:\n%s", address, reason, want, mainOf(t, page))
			}
		}
	}
}
