package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

func TestFleet_isTheGoldenPages(t *testing.T) {
	full := foreign(asItIs).opened(t)
	empty := full
	empty.Fleet, empty.Runs = &fleetDouble{}, &fleetDouble{}
	empty.Source = web.Source{LookedFor: []string{"/home/ada/countersign.yaml", "/home/ada/.config/countersign/countersign.yaml"}}
	named := empty
	named.Source = web.Source{File: "/srv/<gate>.yaml"}
	unregistered := full
	unregistered.Fleet = withoutScanner(t)
	calm := full
	healthy := *foreign(asItIs).fleet(t)
	healthy.counts = registry.StatusCounts{Available: 8}
	calm.Fleet, calm.Runs = &healthy, &fleetDouble{}
	calm.Tasks = &gateDouble{page: task.Page{Counts: task.Counts{Pending: 2}, CountsCappedAt: 1000}}
	broken := full
	broken.Fleet = &fleetDouble{err: fault.New(fault.Unavailable, "the database could not answer in time")}
	broken.Runs, broken.Tasks = &fleetDouble{err: errors.New("a defect")}, &gateDouble{listed: errors.New("a defect")}
	for file, of := range map[string]struct {
		options web.Options
		path    string
	}{
		"overview.html":               {full, "/"},
		"overview_none.html":          {empty, "/"},
		"overview_calm.html":          {calm, "/"},
		"overview_unread.html":        {broken, "/"},
		"components.html":             {full, "/components"},
		"components_none.html":        {empty, "/components"},
		"components_named.html":       {named, "/components"},
		"component_server.html":       {full, "/components/scanner"},
		"component_canary.html":       {full, "/components/files"},
		"component_model.html":        {full, "/components/writer"},
		"component_harness.html":      {full, "/components/image"},
		"component_book.html":         {full, "/components/handbook"},
		"component_unregistered.html": {unregistered, "/components/scanner"},
		"connect.html":                {full, "/connect"},
		"missing.html":                {full, "/components/nowhere"},
	} {
		golden(t, file, mainOf(t, visit(t, of.options, of.path).Body.String()))
	}
}

func TestComponents_asksForWhatTheAddressNames(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	fleet.cursor = "scanner"
	page := visit(t, web.Options{Fleet: fleet}, "/components?kind=model&status=unknown&search=sc%22an&cursor=files").Body.String()
	want := registry.ComponentQuery{Kind: registry.KindModel, Status: registry.Unknown, Search: `sc"an`, Limit: 50, Cursor: "files"}
	if diff := cmp.Diff(want, fleet.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, wanted := range []string{
		`<option selected>model</option>`, `<option selected>unknown</option>`, `value="sc&#34;an"`,
		`href="/components?cursor=scanner&amp;kind=model&amp;search=sc%22an&amp;status=unknown" rel="next"`,
		`href="/components?kind=model&amp;search=sc%22an&amp;status=unknown">First page`, `<a href="/components">Without filters</a>`,
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
}

func TestOverview_leadsToAllThatNeedAttention(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	for more, wanted := range map[int]string{0: "", 1: ">1 more needs attention</a>", 25: ">25 more need attention</a>"} {
		fleet.counts = registry.StatusCounts{Unavailable: 30, Attention: len(fleet.readings) + more}
		page := visit(t, web.Options{Fleet: fleet}, "/").Body.String()
		if link := `<a href="/components?attention=needed"` + wanted; strings.Contains(page, link) != (more > 0) {
			t.Errorf("of %d more the page does not say %s", more, link)
		}
	}
	page := visit(t, web.Options{Fleet: fleet}, "/components?attention=needed&kind=model").Body.String()
	if want := (registry.ComponentQuery{Kind: registry.KindModel, Attention: true, Limit: 50}); fleet.asked != want {
		t.Errorf("it leads to %+v, want %+v", fleet.asked, want)
	}
	for _, wanted := range []string{`aria-label="Components that need attention, the most pressing first"`, `<option selected>needed</option>`} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
	fleet.readings = nil
	if page := visit(t, web.Options{Fleet: fleet}, "/components?attention=needed").Body.String(); !strings.Contains(page, "No component needs attention.") {
		t.Errorf("it does not say that none does:\n%s", mainOf(t, page))
	}
}

func TestComponents_saysWhatIsWrongWithAnAddressOnTheForm(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	fleet.err = fault.New(fault.InvalidArgument, "there is no status %q", "x").WithHint("The statuses are four.")
	answer := visit(t, web.Options{Fleet: fleet}, "/components?status=x")
	if page := answer.Body.String(); answer.Code != http.StatusBadRequest || !strings.Contains(page, "There is no status &#34;x&#34;") || !strings.Contains(page, "<form") {
		t.Errorf("the answer is %d:\n%s", answer.Code, page)
	}
}

func TestComponent_saysWhatLetsACallThroughThatWasHeldBack(t *testing.T) {
	held := registry.Fail(0, registry.NotConfigured, "wipe is not marked read-only; it is called only with force")
	server := foreign(asItIs).results()["files"].(*registry.ProbeResult)
	server.Test = held
	book := foreign(asItIs).results()["handbook"].(*registry.KnowledgeBaseResult)
	book.Retrieve.GateResult = held
	for name, result := range map[string]registry.Result{"files": server, "handbook": book} {
		document, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		fleet := foreign(asItIs).fleet(t)
		view := fleet.views[name]
		view.Result = document
		fleet.views[name] = view
		page := mainOf(t, visit(t, web.Options{Fleet: fleet}, "/components/"+name).Body.String())
		if !strings.Contains(page, "<code>force: true</code>") || strings.Count(page, "was held back") != 1 || strings.Contains(page, "list_folder&#34;, arg") {
			t.Errorf("%s: the page does not say what lets the call through:\n%s", name, page)
		}
	}
}

func TestComponent_showsAnOlderResultOfItsOwnOnly(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	of := func(component string) string {
		for _, kept := range fleet.results {
			if kept.Component == component {
				return kept.ResultID
			}
		}
		return ""
	}
	view := fleet.views["scanner"]
	view.ResultID = new("a newer one")
	fleet.views["scanner"] = view
	options := web.Options{Fleet: fleet}
	if page := visit(t, options, "/components/scanner?result="+of("scanner")).Body.String(); !strings.Contains(page, "not the newest") || !strings.Contains(page, "required tools unusable") {
		t.Errorf("the older result is not shown:\n%s", page)
	}
	for _, id := range []string{of("writer"), "none"} {
		if got := visit(t, options, "/components/scanner?result="+id).Code; got != http.StatusNotFound {
			t.Errorf("the result %s of another is answered with %d", id, got)
		}
	}
	given := fleet.results[0]
	given.Result, given.ResultID, given.Component = nil, "given-up", "scanner"
	broken := given
	broken.Result, broken.ResultID = []byte(`{"passed": true}`), "broken"
	fleet.results = append(fleet.results, given, broken)
	if page := visit(t, options, "/components/scanner?result=given-up").Body.String(); !strings.Contains(page, "Its document was not kept") {
		t.Error("a result that was given up is not told")
	}
	if page := visit(t, options, "/components/scanner?result=broken").Body.String(); !strings.Contains(page, "cannot be read") || strings.Contains(page, "passed</span>") {
		t.Error("a document that nothing supports is shown")
	}
}

func TestComponent_tellsOnlyWhatTheProbeWithThatResultCameTo(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	for _, kept := range fleet.results {
		page := visit(t, web.Options{Fleet: fleet}, "/components/writer?probed="+kept.ResultID).Body.String()
		if told := strings.Contains(page, "Probed: failed in 3.2 ms."); told != (kept.Component == "writer") {
			t.Errorf("the outcome of a probe of %s is told: %v", kept.Component, told)
		}
	}
}

func TestProbeNow_leadsBackToThePage(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	post := func(path string) *httptest.ResponseRecorder {
		pages, err := web.Pages(web.Options{Fleet: fleet})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		for pattern, page := range pages {
			mux.Handle(pattern, page)
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		return answer
	}
	answer := post("/components/writer/probe")
	if want := "/components/writer?probed=" + *fleet.views["writer"].ResultID; answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != want || fleet.probed != "writer" {
		t.Errorf("probing %q leads with %d to %s, want %s", fleet.probed, answer.Code, answer.Header().Get("Location"), want)
	}
	fleet.err = fault.New(fault.Unavailable, "the probe still waited for one of 64 others").WithHint("Try again.")
	if answer := post("/components/writer/probe"); answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "The probe still waited") {
		t.Errorf("a probe that did not end is answered with %d:\n%s", answer.Code, answer.Body)
	}
	if got := visit(t, web.Options{Fleet: fleet}, "/components/writer/probe").Code; got != http.StatusMethodNotAllowed {
		t.Errorf("a link that probes is answered with %d", got)
	}
}

func TestOverview_hidesNoPartBehindOneThatCannotBeRead(t *testing.T) {
	options := foreign(asItIs).opened(t)
	options.Fleet = &fleetDouble{err: fault.New(fault.Unavailable, "the database <is> gone")}
	page := visit(t, options, "/").Body.String()
	for wanted, want := range map[string]bool{"the database &lt;is&gt; gone": true, `id="run-nightly"`: true, `id="component-`: false} {
		if strings.Contains(page, wanted) != want {
			t.Errorf("the page holds %s: %v, want %v", wanted, !want, want)
		}
	}
}

func TestRows_tellOfOneThatFlapsOnlyOnce(t *testing.T) {
	page := visit(t, foreign(asItIs).opened(t), "/components").Body.String()
	for _, wanted := range []string{`data-said="shaky is flapping"`, `data-said="writer is unavailable"`} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
}

func TestComponent_saysOfAServerWithoutGatesHowToDeclareIt(t *testing.T) {
	for detail, want := range map[string]bool{"status 404": true, "status 500": false} {
		fleet := foreign(asItIs).fleet(t)
		without := registry.Fail(time.Millisecond, registry.HTTPStatus, detail)
		document, err := json.Marshal(&registry.ProbeResult{Target: "files", ProbedAt: noon, Healthz: without, Test: without})
		if err != nil {
			t.Fatal(err)
		}
		view := fleet.views["files"]
		view.Result = document
		fleet.views["files"] = view
		page := visit(t, web.Options{Fleet: fleet}, "/components/files").Body.String()
		if got := strings.Contains(page, "<code>profile: protocol</code>"); got != want {
			t.Errorf("of one that answers %s it is said: %v", detail, got)
		}
	}
}

func TestComponent_pagesThroughItsResultsAtTheirPlace(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	fleet.cursor = "older"
	page := visit(t, web.Options{Fleet: fleet}, "/components/files?cursor=old").Body.String()
	for _, wanted := range []string{`href="/components/files?cursor=older#history"`, `href="/components/files#history"`} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
}

func TestRows_sayHowLongAProbeTookInItsUnit(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	for took, want := range map[time.Duration]string{
		400 * time.Microsecond: "0.4 ms", 31 * time.Millisecond: "31 ms", 1240 * time.Millisecond: "1.2 s", 10 * time.Minute: "10 min",
	} {
		fleet.recent["calm"][0].Latency = took
		if page := visit(t, web.Options{Fleet: fleet}, "/components").Body.String(); !strings.Contains(page, "<small>"+want+"</small>") {
			t.Errorf("a probe of %v is not said to take %s", took, want)
		}
	}
}

// Nobody may take it for one that works.
func TestRows_markOneThatNoPreflightTakesBesideItsStatus(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	fleet.readings[0].Status, fleet.readings[0].Drifting = registry.Available, registry.DriftBlocks
	view := fleet.views["files"]
	view.Reading = fleet.readings[0]
	fleet.views["files"] = view
	options := web.Options{Fleet: fleet}
	status := `<span class="status"><i class="lamp warn" aria-hidden="true"></i>available</span>`
	mark := ` <span class="mark bad">blocked</span>`
	for path, wanted := range map[string]string{
		"/": `<td role="cell" class="held">` + status + mark, "/components": `<td role="cell" class="held">` + status + mark,
		"/components/files": `<span class="big">` + status + `</span>` + mark,
	} {
		page := visit(t, options, path).Body.String()
		if !strings.Contains(page, wanted) {
			t.Errorf("%s: the mark does not stand beside the status", path)
		}
		if said := `data-said="files is available, blocked: its tools changed"`; !strings.Contains(page, said) {
			t.Errorf("%s: who hears the page is not told", path)
		}
	}
}

func TestComponent_saysWhatIsProbedAndNoSecret(t *testing.T) {
	options := foreign(asItIs).opened(t)
	for name, target := range map[string]string{
		"scanner": "https://scan.example/mcp", "handbook": "https://scan.example/mcp", "writer": "adder-1 at https://models.example/v1",
		"image": "registry.example/tools/scan@sha256:00",
	} {
		page := visit(t, options, "/components/"+name).Body.String()
		if !strings.Contains(page, "<p>Target <code><bdi>"+target+"</bdi></code></p>") || strings.Contains(page, "hunter2") {
			t.Errorf("%s: it does not say that it probes %s, or shows a secret", name, target)
		}
	}
}

// Who reads from top to bottom has read what is accepted before the command.
func TestComponent_offersToAcceptToolsBelowWhatHasChanged(t *testing.T) {
	page := visit(t, foreign(asItIs).opened(t), "/components/scanner").Body.String()
	last := 0
	for _, wanted := range []string{`<h2 id="drifted">`, "<bdi>whois</bdi>", "Ask who owns a name.", "<bdi>dig</bdi>", "<bdi>ping</bdi>", "Scan\\n", "Not all that has changed", "countersign component accept scanner"} {
		at := strings.Index(page, wanted)
		if at <= last {
			t.Errorf("%q does not stand below what goes before it", wanted)
		}
		last = at
	}
}

func TestComponent_saysOfEachFailureWhatToDo(t *testing.T) {
	page := visit(t, foreign(asItIs).opened(t), "/components/scanner").Body.String()
	if failures, hints := strings.Count(page, `<span class="word bad">`), strings.Count(page, `<p class="todo">`); failures != 2 || hints != failures {
		t.Errorf("of %d failures %d say what to do", failures, hints)
	}
	list := visit(t, foreign(asItIs).opened(t), "/components").Body.String()
	if !strings.Contains(list, "a cross is one that failed") || !strings.Contains(list, "<title>the latest 3 probes: 1 passed, 1 failed, 1 undecided") {
		t.Error("nothing says what the marks of the latency mean")
	}
}
