package probe_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// page is a way in which GET /healthz or GET /test is answered, and the cause
// that each of the two gates finds in it; empty when the gate holds.
type page struct {
	answer  http.HandlerFunc
	healthz registry.Cause
	test    registry.Cause
	limit   time.Duration
}

func pages() map[string]page {
	return map[string]page{
		"200 and ok true":           {answer: says(200, `{"ok":true}`)},
		"201":                       {answer: says(201, `{"ok":true}`)},
		"204 without a body":        {answer: says(204, ``), test: registry.NotJSON},
		"200 and ok false":          {answer: says(200, `{"ok":false}`), test: registry.NotOK},
		"503 and ok false":          {answer: says(503, `{"ok":false}`), healthz: registry.HTTPStatus, test: registry.NotOK},
		"503 and ok true":           {answer: says(503, `{"ok":true}`), healthz: registry.HTTPStatus, test: registry.HTTPStatus},
		"503 in plain text":         {answer: says(503, `no`), healthz: registry.HTTPStatus, test: registry.HTTPStatus},
		"ok as a string":            {answer: says(200, `{"ok":"true"}`), test: registry.WrongShape},
		"ok in capitals":            {answer: says(200, `{"OK":true}`), test: registry.WrongShape},
		"ok nested":                 {answer: says(200, `{"tools":{"a":{"ok":true}}}`), test: registry.WrongShape},
		"ok twice":                  {answer: says(200, `{"ok":false,"ok":true}`), test: registry.WrongShape},
		"a list":                    {answer: says(200, `[true]`), test: registry.WrongShape},
		"HTML that holds ok true":   {answer: says(200, `<p>{"ok":true}</p>`), test: registry.NotJSON},
		"something behind the JSON": {answer: says(200, `{"ok":true} ok`), test: registry.NotJSON},
		"an empty body":             {answer: says(200, ``), test: registry.NotJSON},
		"a body that breaks off":    {answer: breaksOff("application/json", `{"ok":true}`), test: registry.NotJSON},
		"404":                       {answer: http.NotFound, healthz: registry.HTTPStatus, test: registry.HTTPStatus},
		"400":                       {answer: says(400, `{"ok":true}`), healthz: registry.HTTPStatus, test: registry.HTTPStatus},
		"405":                       {answer: says(405, ``), healthz: registry.HTTPStatus, test: registry.HTTPStatus},
		"401":                       {answer: says(401, `{"ok":true}`), healthz: registry.Auth, test: registry.Auth},
		"403":                       {answer: says(403, `{"ok":false}`), healthz: registry.Forbidden, test: registry.Forbidden},
		"429":                       {answer: says(429, `{"ok":false}`), healthz: registry.RateLimited, test: registry.RateLimited},
		"a redirect":                {answer: leads("/elsewhere"), healthz: registry.Redirect, test: registry.Redirect},
		"304":                       {answer: says(304, ``), healthz: registry.Redirect, test: registry.Redirect},
		"no answer": {
			answer: hangs, healthz: registry.Timeout, test: registry.Timeout, limit: short,
		},
		"a body that drips":       {answer: drips("application/json", `{"ok":true}`), test: registry.Timeout, limit: short},
		"a body that never ends":  {answer: floods("application/json", `{"ok":true,"detail":"`), test: registry.TooLarge},
		"a header of a megabyte":  {answer: bigHeader, healthz: registry.TooLarge, test: registry.TooLarge},
		"a connection that drops": {answer: hangsUp, healthz: registry.Unreachable, test: registry.Unreachable},
	}
}

func bigHeader(w http.ResponseWriter, _ *http.Request) {
	for range 64 {
		w.Header().Add("X-Padding", strings.Repeat("x", 16<<10))
	}
}

func TestPages_haveTheCauseOfTheContractAndSpareTheOtherGates(t *testing.T) {
	t.Parallel()
	for name, row := range pages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := generous
			if row.limit != 0 {
				limit = row.limit
			}
			got := probed(t, double{healthz: row.answer}.start(t).URL, limit)
			checkGates(t, got, row.healthz, "", "")
			got = probed(t, double{test: row.answer}.start(t).URL, limit)
			checkGates(t, got, "", row.test, "")
		})
	}
}

// checkGates holds the causes against the wanted ones, and the result against
// what follows from them.
func checkGates(t *testing.T, got registry.ProbeResult, healthz, test, listTools registry.Cause) {
	t.Helper()
	passed := true
	for gate, want := range map[registry.Gate]registry.Cause{
		registry.Healthz: healthz, registry.Test: test, registry.ListTools: listTools,
	} {
		passed = passed && want == ""
		found := got.Gate(gate)
		if found.Cause != want || found.OK != (want == "") {
			t.Errorf("%s: ok %v, cause %q (%s), want cause %q", gate, found.OK, found.Cause, found.Detail, want)
		}
		if found.LatencyMs <= 0 || found.Detail == "" {
			t.Errorf("%s: latency %v, detail %q, want both", gate, found.LatencyMs, found.Detail)
		}
	}
	if got.Passed() != passed || (got.Error() == "") != passed {
		t.Errorf("passed %v with the error %q, want %v", got.Passed(), got.Error(), passed)
	}
	if got.SessionsOpened != got.SessionsClosed {
		t.Errorf("%d sessions opened, %d closed", got.SessionsOpened, got.SessionsClosed)
	}
}

func TestPages_detailTellsWhereARedirectLeads(t *testing.T) {
	t.Parallel()
	got := probed(t, double{healthz: leads("http://other.example/x"), test: leads("/y")}.start(t).URL, generous)
	if want := "status 302; Location: http://other.example/x"; got.Healthz.Detail != want {
		t.Errorf("healthz: %q, want %q", got.Healthz.Detail, want)
	}
	if want := "status 302; Location: /y"; got.Test.Detail != want {
		t.Errorf("test: %q, want %q", got.Test.Detail, want)
	}
}

func TestHealthz_givesTheReasonOfTheServer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
		limit  time.Duration
	}{
		"a detail":               {says(503, `{"status":"down","detail":"no API key"}`), "status 503: no API key", generous},
		"no JSON":                {says(503, `no API key`), "status 503", generous},
		"a page that is missing": {http.NotFound, "status 404", generous},
		"a long one":             {says(500, `{"detail":"`+strings.Repeat("x", 9<<10)+`"}`), "status 500", generous},
		"a body that drips": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			drips("application/json", `{"detail":"no API key"}`)(w, r)
		}, "status 503", short},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := probed(t, double{healthz: row.answer}.start(t).URL, row.limit); got.Healthz.Detail != row.want || got.Healthz.Cause != registry.HTTPStatus {
				t.Errorf("%s: %q, want %q", got.Healthz.Cause, got.Healthz.Detail, row.want)
			}
		})
	}
}
