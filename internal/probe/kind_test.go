package probe_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

func examined(t *testing.T, spec *registry.MCPServer) *registry.ProbeResult {
	t.Helper()
	result, ok := probe.Examine(t.Context(), &registry.Component{Name: "asm", Spec: spec}, settings(generous)).(*registry.ProbeResult)
	if !ok {
		t.Fatal("the result is of another kind")
	}
	return result
}

func TestExamine_bringsTheToolsHome(t *testing.T) {
	t.Parallel()
	url := double{mcp: script{"tools/list": result(`{"tools":[
		{"name":"b","description":"B","annotations":{"destructiveHint":true}},
		{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}]}`)}.serve}.start(t).URL
	got := examined(t, &registry.MCPServer{URL: url, Profile: registry.ThreeGates})
	checkGates(t, *got, "", "", "")
	want := []registry.Tool{
		{Name: "b", Description: json.RawMessage(`"B"`), DestructiveHint: json.RawMessage("true")},
		{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"string"}`)},
	}
	if diff := cmp.Diff(want, got.ToolList); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	document, tools, err := probe.Recorded(got)
	if digest, _ := registry.ToolsDigest(tools); err != nil || digest != got.ToolsDigest {
		t.Errorf("the digest %q is not that of the recorded tools: %v", got.ToolsDigest, err)
	}
	read, err := registry.DecodeResult(registry.KindMCPServer, document)
	if err != nil || !read.Passed() {
		t.Errorf("the document is read as %+v, %v", read, err)
	}
}

func TestExamine_failsWhatCannotBeProbed(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]*registry.MCPServer{
		"no scheme":         {URL: "127.0.0.1:8080", Profile: registry.ThreeGates},
		"another scheme":    {URL: "ftp://127.0.0.1", Profile: registry.Protocol},
		"a broken address":  {URL: "http://127.0.0.1:x", Profile: registry.ThreeGates},
		"a query":           {URL: "http://127.0.0.1/?a=b", Profile: registry.ThreeGates},
		"a broken endpoint": {URL: "http://127.0.0.1", MCPURL: "http://", Profile: registry.ThreeGates},
		"nothing":           {Profile: registry.ThreeGates},
	} {
		got := examined(t, spec)
		if got.Healthz.Detail == "" || got.Target != "asm" || got.ProbedAt.IsZero() {
			t.Errorf("%s: got %+v", name, got)
		}
		summary := got.Summary()
		if diff := cmp.Diff([]registry.Cause{registry.NotConfigured}, summary.Causes); diff != "" || summary.Outcome != registry.OutcomeFailed {
			t.Errorf("%s is %s; causes (-want +got):\n%s", name, summary.Outcome, diff)
		}
	}
}

// unheardOf is a component of a kind for which there is no probe.
type unheardOf struct{ registry.MCPServer }

func (*unheardOf) Kind() registry.Kind { return "teapot" }

func TestExamine_failsAKindThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	got := probe.Examine(t.Context(), &registry.Component{Name: "asm", Spec: &unheardOf{}}, settings(generous))
	if summary := got.Summary(); summary.Outcome != registry.OutcomeFailed || !strings.Contains(summary.Reason, `the kind "teapot"`) {
		t.Errorf("got %+v", summary)
	}
}

func TestExamine_isUndecidedAfterAPanic(t *testing.T) {
	t.Parallel()
	panics := settings(generous)
	panics.Resolve = func(string) (string, error) { panic("no such drawer") }
	for name, spec := range map[string]*registry.MCPServer{
		"of a private text": {URL: "http://127.0.0.1:1", Profile: registry.ThreeGates, Private: []registry.Secret{registry.SecretAt("env:A")}},
		"of a credential":   {URL: "http://127.0.0.1:1", Profile: registry.ThreeGates, Credentials: registry.Credentials{Bearer: registry.SecretAt("env:A")}},
		"of a variable":     {Command: []string{"true"}, Profile: registry.Protocol, Env: map[string]registry.Secret{"A": registry.SecretAt("env:A")}},
	} {
		got := probe.Examine(t.Context(), &registry.Component{Name: "asm", Spec: spec}, panics)
		if summary := got.Summary(); summary.Outcome != registry.OutcomeUndecided || !strings.Contains(summary.Reason, "panic: no such drawer") {
			t.Errorf("%s: got %+v", name, summary)
		}
	}
}

func TestRecorded_leavesOutWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	pass := registry.Pass(time.Millisecond, "")
	large := func(transcript, dependencies, tools int) *registry.ProbeResult {
		made := &registry.ProbeResult{Test: pass, ProbedAt: time.Now()}
		made.ListTools = registry.ToolsResult{GateResult: pass, ToolCount: tools / 100}
		made.Healthz = registry.Fail(0, registry.HTTPStatus, "")
		made.Healthz.Transcript = &registry.Transcript{Stderr: strings.Repeat("x", transcript)}
		made.Dependencies = map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("x", dependencies) + `"`)}
		for i := range tools / 100 {
			made.Tools = append(made.Tools, fmt.Sprintf("%0100d", i))
		}
		return made
	}
	const over = probe.MaxDocument
	for name, row := range map[string]struct {
		result                          *registry.ProbeResult
		transcript, dependencies, tools bool // are left
	}{
		"small":               {large(100, 100, 1000), true, true, true},
		"a long transcript":   {large(over, 100, 1000), false, true, true},
		"many dependencies":   {large(100, over, 1000), false, false, true},
		"many tools":          {large(100, 100, over), false, false, false},
		"all of it too large": {large(over, over, over), false, false, false},
	} {
		document, _, err := probe.Recorded(row.result)
		if err != nil || len(document) > probe.MaxDocument {
			t.Fatalf("%s: %d bytes, %v", name, len(document), err)
		}
		var left struct {
			Healthz      struct{ Transcript any }
			Dependencies any
			Tools        []string
			Warnings     []string
		}
		if err := json.Unmarshal(document, &left); err != nil {
			t.Fatal(err)
		}
		got := [3]bool{left.Healthz.Transcript != nil, left.Dependencies != nil, left.Tools != nil}
		if want := [3]bool{row.transcript, row.dependencies, row.tools}; got != want {
			t.Errorf("%s: transcript, dependencies and tools are left: %v, want %v", name, got, want)
		}
		if (len(left.Warnings) == 0) != row.transcript {
			t.Errorf("%s: got the warnings %q", name, left.Warnings)
		}
		if _, err := registry.DecodeResult(registry.KindMCPServer, document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if row.result.Healthz.Transcript == nil || row.result.Tools == nil {
			t.Errorf("%s: the result itself was changed", name)
		}
	}
}
