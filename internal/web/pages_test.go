package web_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/web"
)

func TestPages_areThoseOfTheRoutes(t *testing.T) {
	served, err := web.Pages(web.Options{Tasks: &gateDouble{}, Agents: &countDouble{}, Fleet: &fleetDouble{}, Runs: &fleetDouble{}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, route := range web.Routes() {
		if served[route.Pattern] == nil {
			t.Errorf("%s is not served", route.Pattern)
		}
		mux.Handle(route.Pattern, http.NotFoundHandler())
		delete(served, route.Pattern)
	}
	for pattern := range served {
		t.Errorf("%s is served and no route", pattern)
	}
}

func TestPages_tellOfARejectedConfigurationWhileItLasts(t *testing.T) {
	var now *web.Rejection
	options := web.Options{Rejected: func() *web.Rejection { return now }}
	shows := func(path string) bool {
		return strings.Contains(visit(t, options, path).Body.String(), "The changed configuration was rejected")
	}
	if shows("/") {
		t.Error("a rejection is shown before there is one")
	}
	now = &web.Rejection{File: "a.yaml", Message: "line 3: unknown key\nline 9: no component \"a\"\n" + strings.Repeat("é", 100_000), Since: noon}
	if !shows("/") || !shows("/connect") {
		t.Error("the rejection is not shown on every page")
	}
	page := visit(t, options, "/").Body.String()
	for _, wanted := range []string{"<span>line 9: no component &#34;a&#34;</span>", "The server’s log has the rest.", "<title>Configuration rejected · "} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
	if len(page) > 48<<10 || strings.Contains(page, "\ufffd") {
		t.Errorf("the page has %d bytes, or broken characters", len(page))
	}
	now = nil
	if shows("/") {
		t.Error("the rejection is still shown")
	}
}

func TestPages_hideWhatIsNoFaultBehindAReference(t *testing.T) {
	answer := visit(t, web.Options{Fleet: &fleetDouble{err: errors.New("pq: password is hunter2")}}, "/components")
	if page := answer.Body.String(); answer.Code != http.StatusInternalServerError || strings.Contains(page, "hunter2") || !strings.Contains(page, "Look for reference ") {
		t.Errorf("the answer is %d:\n%s", answer.Code, page)
	}
}

func TestPages_haveTitlesOfTheirOwn(t *testing.T) {
	options := foreign(asItIs).opened(t)
	seen := map[string]string{}
	for _, path := range []string{"/", "/components", "/components/scanner", "/components/writer", "/runs", "/tasks", "/agents", "/connect"} {
		_, rest, _ := strings.Cut(visit(t, options, path).Body.String(), "<title>")
		title, _, _ := strings.Cut(rest, "</title>")
		if other, taken := seen[title]; taken || !strings.HasSuffix(title, " · Countersign") {
			t.Errorf("%s has the title %q, and so has %q", path, title, other)
		}
		seen[title] = path
	}
}

func TestBusy_isAPageThatReadsAndLogsNothing(t *testing.T) {
	var log strings.Builder
	page, err := web.Busy(web.Options{Fleet: &fleetDouble{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/components/scanner/probe", nil))
	body := answer.Body.String()
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "1" || log.Len() > 0 {
		t.Errorf("the answer is %d, Retry-After %q, and the log %q", answer.Code, answer.Header().Get("Retry-After"), log.String())
	}
	for _, wanted := range []string{"<h1>Too many at once</h1>", "Nothing was done.", "E_UNAVAILABLE", `href="/components"`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page does not say %q:\n%s", wanted, body)
		}
	}
}

func TestMissing_leadsToTheOtherPages(t *testing.T) {
	page, err := web.Missing(web.Options{Fleet: &fleetDouble{}})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/nowhere", nil))
	if body := answer.Body.String(); answer.Code != http.StatusNotFound || !strings.Contains(body, `href="/components"`) || strings.Contains(body, `href="/tasks"`) {
		t.Errorf("the answer is %d:\n%s", answer.Code, body)
	}
}
