package probe_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// structured is the answer to a search as structured content.
func structured(document string) reply {
	return result(`{"content":[{"type":"text","text":"see there"}],"structuredContent":` + document + `}`)
}

// text is the answer to a search as one text.
func text(of string) reply {
	quoted, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return result(`{"content":[{"type":"text","text":` + strings.ReplaceAll(string(quoted), "%", "%%") + `}]}`)
}

// toolError is an answer that says that the search has failed.
func toolError(said string) reply {
	return result(`{"content":[{"type":"text","text":"` + said + `"}],"isError":true}`)
}

const handbook = `{"results":[{"id":"pw-1","text":"Use a pass phrase."},{"id":7,"text":"Never twice."}],"content_version":"2026.1","count":2,"fallback":false}`

// searches is a server with a tool search that answers so.
func searches(answer any) script {
	return script{
		"tools/list": result(`{"tools":[{"name":"search","inputSchema":{"type":"object"}}]}`),
		"tools/call": answer,
	}
}

// spec is a knowledge base at an address, with everything that one may demand.
func spec(url string) *registry.KnowledgeBase {
	return &registry.KnowledgeBase{
		MCPServer: registry.MCPServer{URL: url, Profile: registry.ThreeGates},
		Retrieve: registry.Retrieval{
			Tool: "search", Arguments: json.RawMessage(`{"query":"password policy"}`),
			Chunks: "$.results", IDs: "$.results[*].id", ExpectIDs: []string{"pw-1", "7"},
			Version: "$.content_version", Count: "$.count", Fallback: "$.fallback",
		},
		PinnedVersion: "2026.1",
	}
}

// retrieved examines a knowledge base, and holds its result against what all of
// them have to be.
func retrieved(t *testing.T, of *registry.KnowledgeBase, limit time.Duration) *registry.KnowledgeBaseResult {
	t.Helper()
	result := probe.Examine(t.Context(), &registry.Component{Name: "handbook", Spec: of}, settings(limit))
	got, ok := result.(*registry.KnowledgeBaseResult)
	if !ok {
		t.Fatalf("got a %T", result)
	}
	document, tools, err := probe.Recorded(got)
	if err != nil || got.Gates.ListTools.ToolCount != len(tools) {
		t.Errorf("recorded with %d tools, %v", len(tools), err)
	}
	read, err := registry.DecodeResult(registry.KindKnowledgeBase, document)
	if err != nil || read.Passed() != got.Passed() {
		t.Errorf("%s\nis read as %+v, %v", document, read, err)
	}
	if summary := got.Summary(); (summary.Outcome == registry.OutcomePassed) != got.Passed() || got.Passed() != (got.Error() == "") {
		t.Errorf("passed is %v, the summary %+v, the error %q", got.Passed(), summary, got.Error())
	}
	return got
}

func TestKnowledgeBase_passesOnWhatItRetrieves(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]reply{
		"structured content":  structured(handbook),
		"a text that is JSON": text(handbook),
	} {
		got := retrieved(t, spec(double{mcp: searches(answer).serve}.start(t).URL), generous)
		want := registry.Retrieved{Chunks: 2, Count: new(2), FoundIDs: []string{"pw-1", "7"}, Version: "2026.1", Pinned: "2026.1"}
		if diff := cmp.Diff(want, got.Retrieve.Retrieved); diff != "" || !got.Passed() {
			t.Errorf("%s: passed %v, %s (-want +got):\n%s", name, got.Passed(), got.Error(), diff)
		}
		summary := got.Summary()
		if summary.ContentVersion != "2026.1" || summary.Degraded || summary.ToolsDigest == "" || summary.Tools[0] != "search" {
			t.Errorf("%s: got the summary %+v", name, summary)
		}
		if detail := got.Retrieve.Detail; detail != "search: 2 chunks of version 2026.1, with pw-1, 7" {
			t.Errorf("%s: got the detail %q", name, detail)
		}
	}
}

func TestKnowledgeBase_passesOnPlainMarkdownWithoutAVersion(t *testing.T) {
	t.Parallel()
	of := spec(double{mcp: searches(text("# Passwords\n\nUse 100% of them.")).serve}.start(t).URL)
	of.Retrieve = registry.Retrieval{Tool: "search", Chunks: "$.content"}
	of.PinnedVersion = ""
	if got := retrieved(t, of, generous); !got.Passed() || got.Retrieve.Chunks != 1 || got.Summary().ContentVersion != "" {
		t.Errorf("got %+v, %s", got.Retrieve, got.Error())
	}
}

// TestKnowledgeBase_tellsEachFaultByItsCause goes through what a retrieval may
// lack. Every gate holds in all of them, and none of them passes.
func TestKnowledgeBase_tellsEachFaultByItsCause(t *testing.T) {
	t.Parallel()
	changed := func(old, fresh string) reply { return structured(strings.Replace(handbook, old, fresh, 1)) }
	for name, row := range map[string]struct {
		answer any
		want   registry.Cause
		says   string // is part of the detail
	}{
		"an empty corpus":                    {structured(`{"results":[],"content_version":"2026.1"}`), registry.Empty, "there is no chunk"},
		"an empty list of lists":             {structured(`{"results":[[]],"content_version":"2026.1"}`), registry.Empty, "there is no chunk"},
		"blank chunks":                       {structured(`{"results":[" ","",null,0,false,{}],"content_version":"2026.1"}`), registry.Empty, "there is no chunk"},
		"a count of zero beside chunks":      {changed(`"count":2`, `"count":0`), registry.Empty, "beside 2 chunks"},
		"a count of zero as a text":          {changed(`"count":2`, `"count":"0"`), registry.Empty, "beside 2 chunks"},
		"a fallback with a count of zero":    {structured(`{"results":[{"id":"pw-1"},{"id":"7"}],"content_version":"2026.1","count":0,"fallback":true}`), registry.Empty, "fallback"},
		"an answer of another form":          {structured(`{"hits":[1]}`), registry.Empty, "there is no chunk"},
		"a text instead of a result":         {text("I could not think of anything."), registry.Empty, "could not think"},
		"an empty result":                    {result(`{"content":[]}`), registry.Empty, "there is no chunk"},
		"an error that found nothing":        {toolError("Error: No results found for x."), registry.Empty, "No results"},
		"a collection that is missing":       {toolError("Collection `handbook` doesn't exist!"), registry.Missing, "doesn't exist"},
		"an index that is missing":           {toolError("index_not_found_exception: no such index [handbook]"), registry.Missing, "no such index"},
		"a table that is missing":            {toolError(`relation 'handbook' does not exist`), registry.Missing, "relation"},
		"nothing found where all is missing": {toolError("No results: collection handbook not found"), registry.Missing, "not found"},
		"a collection missing by protocol":   {reply{200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"collection handbook not found"}}`}, registry.Missing, "not found"},
		"another version":                    {changed(`2026.1`, `2025.9`), registry.WrongVersion, `the content version is "2025.9"; "2026.1" is pinned`},
		"no version":                         {changed(`"content_version":"2026.1",`, ``), registry.WrongVersion, "no content version is stated"},
		"an expected chunk that is absent":   {changed(`pw-1`, `pw-2`), registry.MissingChunk, "2 chunks, without pw-1"},
		"no ids":                             {structured(`{"results":["a"],"content_version":"2026.1","count":1}`), registry.MissingChunk, "1 chunk, without pw-1, 7"},
		"a tool that fails":                  {toolError("connection to the embedding server lost"), registry.CanaryFailed, "embedding server"},
		"an error of the protocol":           {failure(200, -32603, ""), registry.CanaryFailed, "no"},
		"a result that is none":              {result(`[]`), registry.WrongShape, "no JSON object"},
		"an answer that is none":             {says(200, `hello`), registry.NotMCP, ""},
		"an error of the server":             {says(500, ``), registry.HTTPStatus, "500"},
		"too many requests":                  {says(429, ``), registry.RateLimited, "429"},
		"no answer":                          {http.HandlerFunc(hangsUp), registry.Unreachable, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := retrieved(t, spec(double{mcp: searches(row.answer).serve}.start(t).URL), generous)
			checkGates(t, got.Gates, "", "", "")
			if got.Retrieve.Cause != row.want || !strings.Contains(got.Retrieve.Detail, row.says) {
				t.Errorf("got %s: %s, want %s: %s", got.Retrieve.Cause, got.Retrieve.Detail, row.want, row.says)
			}
			summary := got.Summary()
			if diff := cmp.Diff([]registry.Cause{row.want}, summary.Causes); diff != "" || summary.Outcome != registry.OutcomeFailed || summary.Degraded {
				t.Errorf("got %+v", summary)
			}
		})
	}
}

func TestKnowledgeBase_failsARetrievalThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	got := retrieved(t, spec(double{mcp: searches(http.HandlerFunc(hangs)).serve}.start(t).URL), short)
	if got.Passed() || got.Retrieve.Cause != registry.Timeout {
		t.Errorf("got %+v", got.Retrieve)
	}
}

func TestKnowledgeBase_isDegradedByAFallbackThatStatesItself(t *testing.T) {
	t.Parallel()
	answer := structured(strings.Replace(handbook, `"fallback":false`, `"fallback":true`, 1))
	got := retrieved(t, spec(double{mcp: searches(answer).serve}.start(t).URL), generous)
	summary := got.Summary()
	if !got.Passed() || !got.Retrieve.Fallback || !summary.Degraded || !strings.Contains(summary.Reason, "fallback") {
		t.Errorf("got %+v with the summary %+v", got.Retrieve, summary)
	}
}

func TestKnowledgeBase_failsWhenAGateFailsWhateverItRetrieves(t *testing.T) {
	t.Parallel()
	url := double{test: says(200, `{"ok":false,"detail":"the disk is full"}`), mcp: searches(structured(handbook)).serve}.start(t).URL
	got := retrieved(t, spec(url), generous)
	if got.Passed() || !got.Retrieve.OK || got.Error() != "test: not_ok: the disk is full" {
		t.Errorf("got %s with the retrieval %+v", got.Error(), got.Retrieve)
	}
}

func TestKnowledgeBase_failsTheRetrievalAsItFailedTheConversation(t *testing.T) {
	t.Parallel()
	of := spec("http://127.0.0.1:9")
	got := retrieved(t, of, generous)
	if got.Retrieve.Cause != registry.Refused || got.Summary().Reason != "healthz, test, listTools, retrieve: refused: connection refused by 127.0.0.1:9" {
		t.Errorf("got %+v", got.Summary())
	}
	of.URL = "nowhere"
	if got := retrieved(t, of, generous); got.Retrieve.Cause != registry.NotConfigured {
		t.Errorf("got %+v", got.Retrieve)
	}
	of.MCPServer = registry.MCPServer{Command: []string{"/no/such/program"}, Profile: registry.Protocol}
	if got := retrieved(t, of, generous); got.Retrieve.Cause != registry.ProcessStart || got.Gates.Test.Cause != registry.ProcessStart {
		t.Errorf("got %+v", got.Retrieve)
	}
}

func TestKnowledgeBase_callsTheToolThatIsNamedAndNoDestructiveOne(t *testing.T) {
	t.Parallel()
	of := spec(double{mcp: searches(structured(handbook)).serve}.start(t).URL)
	of.Retrieve.Tool = "seek"
	if got := retrieved(t, of, generous); got.Retrieve.Cause != registry.MissingTool || got.Retrieve.Detail != "seek: the server does not list this tool" {
		t.Errorf("got %+v", got.Retrieve)
	}
	marked := searches(structured(handbook))
	marked["tools/list"] = result(`{"tools":[{"name":"search","inputSchema":{},"annotations":{"destructiveHint":true}}]}`)
	of = spec(double{mcp: marked.serve}.start(t).URL)
	if got := retrieved(t, of, generous); got.Retrieve.Cause != registry.NotConfigured || !strings.Contains(got.Retrieve.Detail, "force") {
		t.Errorf("got %+v", got.Retrieve)
	}
	of.Retrieve.Force = true
	if got := retrieved(t, of, generous); !got.Passed() {
		t.Errorf("with force, got %s", got.Error())
	}
}

// TestKnowledgeBase_needsNoCanaryBesideItsRetrieval has an endpoint without pages:
// g2 is the retrieval, whichever way that ends.
func TestKnowledgeBase_needsNoCanaryBesideItsRetrieval(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer any
		want   registry.Cause
	}{
		"a good one":   {structured(handbook), ""},
		"an empty one": {structured(`{"results":[]}`), registry.Empty},
	} {
		of := spec(double{mcp: searches(row.answer).serve}.start(t).URL + "/mcp")
		of.Profile = registry.Protocol
		got := retrieved(t, of, generous)
		checkGates(t, got.Gates, "", row.want, "")
		if got.Retrieve.Cause != row.want || got.Gates.Test.Detail != got.Retrieve.Detail || got.Gates.LikelyCanary != "" {
			t.Errorf("%s: got g2 %+v beside %+v", name, got.Gates.Test, got.Retrieve)
		}
		of.Canary = &registry.Canary{Tool: "search", Force: true}
		if got := retrieved(t, of, generous); !strings.HasPrefix(got.Gates.Test.Detail, "canary search") {
			t.Errorf("%s: with a canary, g2 is %+v", name, got.Gates.Test)
		}
	}
}

func TestKnowledgeBase_warnsOfPathsThatSelectNothing(t *testing.T) {
	t.Parallel()
	of := spec(double{mcp: searches(structured(`{"results":[{"id":"a"}],"fallback":7}`)).serve}.start(t).URL)
	of.Retrieve.ExpectIDs, of.PinnedVersion = nil, ""
	of.Retrieve.IDs = "$.results[*].key"
	got := retrieved(t, of, generous)
	want := []string{
		"retrieve.count: $.count selects nothing", "retrieve.fallback: $.fallback selects what is neither true nor false",
		"retrieve.version: $.content_version selects nothing", "retrieve.ids: $.results[*].key selects nothing",
	}
	if diff := cmp.Diff(want, got.Retrieve.Warnings); diff != "" || !got.Passed() {
		t.Errorf("passed is %v (-want +got):\n%s", got.Passed(), diff)
	}
}

func TestKnowledgeBase_keepsATranscriptWithoutSecretsOfAFailedRetrieval(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	answer := strings.Replace(handbook, "2026.1", secret, 1)
	answer = strings.Replace(answer, "pw-1", secret, 1)
	of := spec(double{mcp: searches(structured(answer)).serve}.start(t).URL)
	of.Retrieve.ExpectIDs = []string{secret, "gone"}
	of.Credentials.Bearer = registry.SecretText(secret)
	told := settings(generous)
	told.Transcripts = true
	got := probe.Examine(t.Context(), &registry.Component{Name: "handbook", Spec: of}, told)
	document, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	failed, ok := got.(*registry.KnowledgeBaseResult)
	if !ok || failed.Retrieve.Transcript == nil || len(failed.Retrieve.Transcript.Exchanges) == 0 {
		t.Errorf("no transcript was kept: %s", document)
	}
	if strings.Contains(string(document), secret) || strings.Contains(got.Summary().ContentVersion, secret) {
		t.Errorf("the secret is told: %s", document)
	}
}

func TestRecorded_leavesOutWhatIsTooLargeOfAKnowledgeBase(t *testing.T) {
	t.Parallel()
	failed := registry.Fail(0, registry.Empty, "")
	failed.Transcript = &registry.Transcript{Stderr: strings.Repeat("x", probe.MaxDocument)}
	made := &registry.KnowledgeBaseResult{Retrieve: registry.RetrievalResult{GateResult: failed}}
	document, _, err := probe.Recorded(made)
	if err != nil || len(document) > probe.MaxDocument || made.Retrieve.Transcript == nil {
		t.Fatalf("%d bytes, %v", len(document), err)
	}
	if _, err := registry.DecodeResult(registry.KindKnowledgeBase, document); err != nil {
		t.Error(err)
	}
}

// TestKnowledgeBase_searchesInTheConversationOfTheGates counts what a probe opens:
// one session, which is ended.
func TestKnowledgeBase_searchesInTheConversationOfTheGates(t *testing.T) {
	t.Parallel()
	var opened, searched, ended atomic.Int32
	server := searches(nil)
	server["initialize"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		opened.Add(1)
		w.Header().Set("Mcp-Session-Id", "one")
		result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`).write(w, "2")
	})
	server["tools/call"] = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Mcp-Session-Id") == "one" {
			searched.Add(1)
		}
		structured(handbook).write(w, "4")
	})
	server["DELETE"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ended.Add(1) })
	got := retrieved(t, spec(double{mcp: server.serve}.start(t).URL), generous)
	if !got.Passed() || opened.Load() != 1 || searched.Load() != 1 || ended.Load() != 1 || got.Gates.SessionsClosed != 1 {
		t.Errorf("opened %d, searched %d, ended %d: %s", opened.Load(), searched.Load(), ended.Load(), got.Error())
	}
}

// TestKnowledgeBase_isUndecidedWhereItWasNotAsked has an address of the guarded
// ranges, and a probe that ends in a panic.
func TestKnowledgeBase_isUndecidedWhereItWasNotAsked(t *testing.T) {
	t.Parallel()
	guarded := retrieved(t, spec("http://169.254.0.1"), generous)
	if summary := guarded.Summary(); summary.Outcome != registry.OutcomeUndecided || guarded.Retrieve.Cause != registry.Denied {
		t.Errorf("got %+v", summary)
	}
	panics := settings(generous)
	panics.Resolve = func(string) (string, error) { panic("no such drawer") }
	of := spec("http://127.0.0.1:9")
	of.Credentials.Bearer = registry.SecretAt("env:A")
	got := probe.Examine(t.Context(), &registry.Component{Name: "handbook", Spec: of}, panics)
	if summary := got.Summary(); summary.Outcome != registry.OutcomeUndecided || !strings.Contains(summary.Reason, "panic: no such drawer") {
		t.Errorf("got %+v", summary)
	}
}
