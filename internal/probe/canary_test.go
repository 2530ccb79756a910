package probe_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// canaryCase is a canary, what the server does with it, and the cause of g2.
type canaryCase struct {
	annotations string // of the tool noop; not marked when it is empty
	answer      any    // to tools/call; one text "yes" when it is nil
	canary      registry.Canary
	cause       registry.Cause
	detail      string // part of the detail
	limit       time.Duration
}

func canaries() map[string]canaryCase {
	forced := func(expect registry.Expectation) registry.Canary {
		return registry.Canary{Tool: "noop", Force: true, Expect: expect}
	}
	plain := registry.Canary{Tool: "noop"}
	structured := result(`{"content":[],"structuredContent":{"count":3,"names":["a","b"]}}`)
	return map[string]canaryCase{
		"marked read-only":                   {annotations: `{"readOnlyHint":true}`, canary: plain},
		"not marked":                         {canary: plain, cause: registry.NotConfigured, detail: "only with force"},
		"marked as not read-only":            {annotations: `{"readOnlyHint":false}`, canary: plain, cause: registry.NotConfigured, detail: "only with force"},
		"marked destructive":                 {annotations: `{"readOnlyHint":true,"destructiveHint":true}`, canary: plain, cause: registry.NotConfigured, detail: "destructive"},
		"marked by a word":                   {annotations: `{"readOnlyHint":"true"}`, canary: plain, cause: registry.NotConfigured, detail: "only with force"},
		"forced":                             {annotations: `{"destructiveHint":true}`, canary: forced(registry.Expectation{})},
		"not listed":                         {canary: registry.Canary{Tool: "other", Force: true}, cause: registry.CanaryFailed, detail: "other: the server does not list"},
		"an error of the tool":               {answer: result(`{"isError":true,"content":[{"type":"text","text":"no database"}]}`), canary: forced(registry.Expectation{}), cause: registry.CanaryFailed, detail: "no database"},
		"an error of the protocol":           {answer: failure(200, -32602, ""), canary: forced(registry.Expectation{}), cause: registry.CanaryFailed, detail: "noop: error -32602"},
		"an error with 400":                  {answer: failure(400, -32602, ""), canary: forced(registry.Expectation{}), cause: registry.CanaryFailed},
		"nothing":                            {answer: result(`{"content":[]}`), canary: forced(registry.Expectation{}), cause: registry.CanaryFailed},
		"input is asked for":                 {answer: result(`{"resultType":"input_required"}`), canary: forced(registry.Expectation{}), cause: registry.CanaryFailed},
		"a match":                            {canary: forced(registry.Expectation{Matches: regexp.MustCompile("^yes$")})},
		"no match":                           {canary: forced(registry.Expectation{Matches: regexp.MustCompile("no")}), cause: registry.CanaryFailed},
		"the path is equal":                  {answer: structured, canary: forced(registry.Expectation{Path: "$.count", Equals: json.RawMessage("3")})},
		"the path is different":              {answer: structured, canary: forced(registry.Expectation{Path: "$.count", Equals: json.RawMessage("4")}), cause: registry.CanaryFailed},
		"the path selects enough":            {answer: structured, canary: forced(registry.Expectation{Path: "$.names[*]", MinCount: 2})},
		"the path selects too little":        {answer: structured, canary: forced(registry.Expectation{Path: "$.names[*]", MinCount: 3}), cause: registry.CanaryFailed},
		"401 at the call":                    {answer: says(401, ``), canary: forced(registry.Expectation{}), cause: registry.Auth},
		"429 at the call":                    {answer: says(429, ``), canary: forced(registry.Expectation{}), cause: registry.RateLimited},
		"500 at the call":                    {answer: says(500, ``), canary: forced(registry.Expectation{}), cause: registry.HTTPStatus},
		"a page at the call":                 {answer: says(200, `<html>`), canary: forced(registry.Expectation{}), cause: registry.NotMCP},
		"a stream that ends at the call":     {answer: streams(``), canary: forced(registry.Expectation{}), cause: registry.ProtocolError},
		"silence at the call":                {answer: http.HandlerFunc(hangs), canary: forced(registry.Expectation{}), cause: registry.Timeout, limit: 2 * time.Second},
		"a body that never ends at the call": {answer: floods("application/json", `"`), canary: forced(registry.Expectation{}), cause: registry.TooLarge},
	}
}

func (c canaryCase) server() script {
	tool := `{"name":"noop","inputSchema":{"type":"object"}}`
	if c.annotations != "" {
		tool = `{"name":"noop","inputSchema":{"type":"object"},"annotations":` + c.annotations + `}`
	}
	answers := withCanary(script{"tools/list": result(`{"tools":[` + tool + `]}`)})
	if c.answer != nil {
		answers["tools/call"] = c.answer
	}
	return answers
}

// TestCanaries_countInG2 probes each server in both profiles. In three-gates the
// canary is beside the page, which holds.
func TestCanaries_countInG2(t *testing.T) {
	t.Parallel()
	for name, row := range canaries() {
		for _, profile := range []registry.Profile{registry.ThreeGates, registry.Protocol} {
			t.Run(name+", "+string(profile), func(t *testing.T) {
				t.Parallel()
				url := double{mcp: row.server().serve}.start(t).URL
				server, err := probe.ParseMCPServer(url, "")
				if profile == registry.Protocol {
					server, err = probe.ParseEndpoint(url + "/mcp")
				}
				if err != nil {
					t.Fatal(err)
				}
				server.Canary = &row.canary
				limit := generous
				if row.limit != 0 {
					limit = row.limit
				}
				got := server.Probe(t.Context(), settings(limit))
				checkProtocol(t, got, "", row.cause, "")
				if !strings.Contains(got.Test.Detail, row.detail) || got.Profile != profile {
					t.Errorf("profile %q, detail %q, want %q with %q", got.Profile, got.Test.Detail, profile, row.detail)
				}
			})
		}
	}
}

func TestCanaries_doNotHideAPageThatFails(t *testing.T) {
	t.Parallel()
	server, err := probe.ParseMCPServer(double{test: says(503, `{"ok":false,"detail":"no database"}`), mcp: withCanary(nil).serve}.start(t).URL, "")
	if err != nil {
		t.Fatal(err)
	}
	server.Canary = &registry.Canary{Tool: "noop", Force: true}
	got := server.Probe(t.Context(), settings(generous))
	checkGates(t, got, "", registry.NotOK, "")
	if got.Test.Detail != "no database" {
		t.Errorf("detail %q, want that of the page", got.Test.Detail)
	}
}

func TestProtocol_offersALikelyCanaryWhereNoneIsDeclared(t *testing.T) {
	t.Parallel()
	for annotations, want := range map[string]string{`{"readOnlyHint":true}`: "noop", `{}`: ""} {
		server, err := probe.ParseEndpoint(double{mcp: canaryCase{annotations: annotations}.server().serve}.start(t).URL + "/mcp")
		if err != nil {
			t.Fatal(err)
		}
		got := server.Probe(t.Context(), settings(generous))
		checkProtocol(t, got, "", registry.NotConfigured, "")
		if got.LikelyCanary != want {
			t.Errorf("%s: the likely canary is %q, want %q", annotations, got.LikelyCanary, want)
		}
	}
}

func TestIdentity_isThatOfTheServerItself(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answers script
		expect  string
		cause   registry.Cause
	}{
		"the expected one":  {script{}, "double", ""},
		"another one":       {script{}, "other", registry.Identity},
		"in other letters":  {script{}, "Double", registry.Identity},
		"nameless":          {script{"initialize": result(`{"protocolVersion":"2025-11-25"}`)}, "double", registry.Identity},
		"none is expected":  {script{"initialize": result(`{"protocolVersion":"2025-11-25"}`)}, "", ""},
		"and without tools": {script{"tools/list": result(`{"tools":[]}`)}, "other", registry.Identity},
	} {
		server, err := probe.ParseMCPServer(double{mcp: row.answers.serve}.start(t).URL, "")
		if err != nil {
			t.Fatal(err)
		}
		server.ExpectServer = row.expect
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkGates(t, server.Probe(t.Context(), settings(generous)), "", "", row.cause)
		})
	}
}

// TestAlive_holdsForEveryCompleteAnswer fixes g1 of the profile protocol.
func TestAlive_holdsForEveryCompleteAnswer(t *testing.T) {
	t.Parallel()
	gone := double{}.start(t)
	gone.Close()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		alive  registry.Cause
		list   registry.Cause
	}{
		"401":                     {says(401, ``), "", registry.Auth},
		"503":                     {says(503, ``), "", registry.HTTPStatus},
		"a redirect":              {leads("/elsewhere"), "", registry.Redirect},
		"a page":                  {says(200, `<html>`), "", registry.NotMCP},
		"a stream that ends":      {streams(``), "", registry.ProtocolError},
		"a body that breaks off":  {breaksOff("application/json", `{`), registry.NotMCP, registry.NotMCP},
		"a connection that drops": {hangsUp, registry.Unreachable, registry.Unreachable},
		"a body that drips":       {drips("application/json", `{`), registry.Timeout, registry.Timeout},
		"no answer":               {hangs, registry.Timeout, registry.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := generous
			if row.alive == registry.Timeout {
				limit = short
			}
			got := probedAt(t, double{mcp: row.answer}.start(t).URL+"/mcp", limit)
			checkProtocol(t, got, row.alive, row.list, row.list)
		})
	}
	got := probedAt(t, gone.URL+"/mcp", generous)
	checkProtocol(t, got, registry.Refused, registry.Refused, registry.Refused)
}

// counted counts the requests that a server gets.
func counted(next http.Handler) (handler http.HandlerFunc, take func() []string) {
	var mu sync.Mutex
	var seen []string
	handler = func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		var message struct {
			Method string `json:"method"`
		}
		_ = json.Unmarshal(body, &message)
		mu.Lock()
		seen = append(seen, strings.TrimSpace(request.Method+" "+message.Method))
		mu.Unlock()
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, request)
	}
	take = func() []string {
		mu.Lock()
		defer mu.Unlock()
		taken := seen
		seen = nil
		return taken
	}
	return handler, take
}

// TestProbe_sendsNoMoreThanTheContractSays counts with the two pages, so that a
// modern server gets 4 requests, a legacy one 5 or, with a session, 6, and one
// more on first contact.
func TestProbe_sendsNoMoreThanTheContractSays(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
	server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}}, nil)
	sdk := func(options *mcp.StreamableHTTPOptions) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	}
	legacy := []string{"POST initialize", "POST notifications/initialized", "POST tools/list"}
	for name, row := range map[string]struct {
		handler      http.Handler
		first, later []string
	}{
		"modern": {
			sdk(&mcp.StreamableHTTPOptions{Stateless: true}),
			[]string{"POST server/discover", "POST tools/list"},
			[]string{"POST server/discover", "POST tools/list"},
		},
		"legacy": {http.HandlerFunc(script{}.serve), append([]string{"POST server/discover"}, legacy...), legacy},
		"legacy with a session": {
			sdk(nil), append(append([]string{"POST server/discover"}, legacy...), "DELETE"), append(legacy[:3:3], "DELETE"),
		},
	} {
		handler, take := counted(row.handler)
		target, err := probe.ParseMCPServer(double{mcp: handler}.start(t).URL, "")
		if err != nil {
			t.Fatal(err)
		}
		with := settings(generous)
		with.Eras = mcpwire.NewEras()
		for _, want := range [][]string{row.first, row.later, row.later} {
			checkGates(t, target.Probe(t.Context(), with), "", "", "")
			if diff := cmp.Diff(want, take()); diff != "" {
				t.Errorf("%s: requests beside the two pages (-want +got):\n%s", name, diff)
			}
		}
	}
}

// TestProbe_findsTheEraAnewWhenTheServerChangesIt lets one address change what
// it speaks between probes.
func TestProbe_findsTheEraAnewWhenTheServerChangesIt(t *testing.T) {
	t.Parallel()
	modern := script{
		"server/discover": result(`{"supportedVersions":["2026-07-28"],"resultType":"complete"}`),
		"initialize":      failure(400, -32022, `,"data":{"supported":["2026-07-28"]}`),
	}
	var now http.HandlerFunc
	server, err := probe.ParseMCPServer(double{mcp: func(w http.ResponseWriter, request *http.Request) { now(w, request) }}.start(t).URL, "")
	if err != nil {
		t.Fatal(err)
	}
	with := settings(generous)
	with.Eras = mcpwire.NewEras()
	for _, step := range []struct {
		name    string
		handler http.HandlerFunc
		era     registry.Era
		cause   registry.Cause
	}{
		{"legacy", script{}.serve, registry.Legacy, ""},
		{"modern instead", modern.serve, registry.Modern, ""},
		{"legacy again", script{}.serve, registry.Legacy, ""},
		{"modern, and initialize is not found", script{"server/discover": modern["server/discover"], "initialize": http.HandlerFunc(http.NotFound)}.serve, registry.Modern, ""},
		{"no server at all", http.NotFound, "", registry.HTTPStatus},
		{"legacy after that", script{}.serve, registry.Legacy, ""},
	} {
		now = step.handler
		got := server.Probe(t.Context(), with)
		if got.Era != step.era || got.ListTools.Cause != step.cause {
			t.Errorf("%s: era %q, cause %q (%s); want %q, %q", step.name, got.Era, got.ListTools.Cause, got.ListTools.Detail, step.era, step.cause)
		}
	}
}
