package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// knowing is the result of a knowledge base that passed.
func knowing() *registry.KnowledgeBaseResult {
	held := registry.Pass(2*time.Millisecond, "1 tool")
	return &registry.KnowledgeBaseResult{
		Gates: registry.ProbeResult{
			Target: "handbook", Profile: registry.ThreeGates, ProbedAt: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
			Healthz: registry.Pass(time.Millisecond, "200 OK"), Test: registry.Pass(time.Millisecond, "ok"),
			ListTools: registry.ToolsResult{GateResult: held, ToolCount: 1},
			Tools:     []string{"search"}, ToolsDigest: "sha256:abc", Era: registry.Modern, Transport: registry.StreamableHTTP,
			Server: registry.Server{Name: "library", Version: "1.2.0"},
		},
		Retrieve: registry.RetrievalResult{
			GateResult: registry.Pass(7*time.Millisecond, "search: 2 chunks of version 2026.1, with pw-1"),
			Retrieved:  registry.Retrieved{Chunks: 2, Count: new(2), FoundIDs: []string{"pw-1"}, Version: "2026.1", Pinned: "2026.1"},
		},
	}
}

func TestKnowledgeBaseResult_hasTheDocumentOfTheContract(t *testing.T) {
	t.Parallel()
	golden(t, "knowledge-base", knowing())
	failed := knowing()
	failed.Retrieve = registry.RetrievalResult{
		GateResult: registry.Fail(time.Millisecond, registry.MissingChunk, "search: 2 chunks, without pw-1"),
		Retrieved:  registry.Retrieved{Chunks: 2, MissingIDs: []string{"pw-1"}, Fallback: true, Warnings: []string{"retrieve.count: $.n selects nothing"}},
	}
	golden(t, "knowledge-base-failed", failed)
}

// TestKnowledgeBaseResult_passesOnlyByAllOfItsParts takes one part away at a time.
func TestKnowledgeBaseResult_passesOnlyByAllOfItsParts(t *testing.T) {
	t.Parallel()
	if summary := knowing().Summary(); !knowing().Passed() || summary.Outcome != registry.OutcomePassed || summary.ContentVersion != "2026.1" ||
		summary.Latency != 7*time.Millisecond || summary.Degraded {
		t.Errorf("a good one has the summary %+v", summary)
	}
	if (&registry.KnowledgeBaseResult{}).Passed() {
		t.Error("the zero value has passed")
	}
	for name, row := range map[string]struct {
		take  func(*registry.KnowledgeBaseResult)
		cause registry.Cause
	}{
		"g1": {func(r *registry.KnowledgeBaseResult) { r.Gates.Healthz = registry.Fail(0, registry.Refused, "") }, registry.Refused},
		"g2": {func(r *registry.KnowledgeBaseResult) { r.Gates.Test = registry.Fail(0, registry.NotOK, "") }, registry.NotOK},
		"g3": {func(r *registry.KnowledgeBaseResult) {
			r.Gates.ListTools.GateResult = registry.Fail(0, registry.NotMCP, "")
		}, registry.NotMCP},
		"the tools":      {func(r *registry.KnowledgeBaseResult) { r.Gates.ListTools.ToolCount = 0 }, registry.ZeroTools},
		"the retrieval":  {func(r *registry.KnowledgeBaseResult) { r.Retrieve.GateResult = registry.Fail(0, registry.Timeout, "") }, registry.Timeout},
		"the chunks":     {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Chunks = 0 }, registry.Empty},
		"the count":      {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Count = new(0) }, registry.Empty},
		"a lower count":  {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Count = new(-1) }, registry.Empty},
		"an id":          {func(r *registry.KnowledgeBaseResult) { r.Retrieve.MissingIDs = []string{"x"} }, registry.MissingChunk},
		"the version":    {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Version = "" }, registry.WrongVersion},
		"another pin":    {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Pinned = "2" }, registry.WrongVersion},
		"a fallback's 0": {func(r *registry.KnowledgeBaseResult) { r.Retrieve.Count, r.Retrieve.Fallback = new(0), true }, registry.Empty},
	} {
		result := knowing()
		row.take(result)
		summary := result.Summary()
		if diff := cmp.Diff([]registry.Cause{row.cause}, summary.Causes); diff != "" || result.Passed() || summary.Outcome != registry.OutcomeFailed ||
			summary.Reason == "" || summary.Degraded {
			t.Errorf("without %s: passed is %v, %+v", name, result.Passed(), summary)
		}
		document := marshal(t, result)
		if !strings.Contains(document, `"passed":false`) {
			t.Errorf("without %s the document is %s", name, document)
		}
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	document, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func TestKnowledgeBaseResult_isReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	fallback := knowing()
	fallback.Retrieve.Fallback = true
	failed := knowing()
	failed.Retrieve.GateResult = registry.Fail(0, registry.Empty, "")
	failed.Retrieve.Retrieved = registry.Retrieved{}
	failed.Retrieve.Transcript = &registry.Transcript{Stderr: "x"}
	for _, result := range []*registry.KnowledgeBaseResult{knowing(), fallback, failed} {
		read, err := registry.DecodeResult(registry.KindKnowledgeBase, json.RawMessage(marshal(t, result)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(result, read); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	}
}

// TestKnowledgeBaseResult_refusesAClaimThatItsPartsDoNotSupport edits the document
// of a pass, and that of a failure so that it claims to be one.
func TestKnowledgeBaseResult_refusesAClaimThatItsPartsDoNotSupport(t *testing.T) {
	t.Parallel()
	good := marshal(t, knowing())
	none := knowing()
	none.Retrieve.GateResult = registry.Fail(0, registry.Empty, "search: there is no chunk")
	none.Retrieve.Retrieved = registry.Retrieved{}
	empty := marshal(t, none)
	for _, row := range []struct{ document, old, fresh string }{
		{empty, `"passed":false,"probedAt":"2026-11-30T09:00:00.000Z","error":"retrieve: empty: search: there is no chunk"`, `"passed":true,"probedAt":"2026-11-30T09:00:00.000Z"`},
		{empty, `"ok":false,"latencyMs":0,"detail":"search: there is no chunk","cause":"empty"`, `"ok":true,"latencyMs":0`},
		{good, `"chunks":2`, `"chunks":0`},
		{good, `"chunks":2`, `"chunks":-2`},
		{good, `"chunks":2,`, ``},
		{good, `"count":2`, `"count":0`},
		{good, `"version":"2026.1","pinned`, `"version":"2026.2","pinned`},
		{good, `"foundIds":["pw-1"]`, `"missingIds":["pw-1"]`},
		{good, `"passed":true,"probedAt":"2026-11-30T09:00:00.000Z","retrieve"`, `"passed":false,"probedAt":"2026-11-30T09:00:00.000Z","retrieve"`},
		{good, `"passed":true,"probedAt":"2026-11-30T09:00:00.000Z","tools"`, `"passed":false,"probedAt":"2026-11-30T09:00:00.000Z","tools"`},
		{good, `"healthz":{"ok":true`, `"healthz":{"ok":false`},
		{good, `"toolCount":1`, `"toolCount":0`},
		{good, `"target":"handbook","passed"`, `"target":"other","passed"`},
		{good, `"probedAt":"2026-11-30T09:00:00.000Z","retrieve"`, `"probedAt":"2026-11-30T10:00:00.000Z","retrieve"`},
		{good, `"retrieve":{`, `"retrieve":{"cause":"empty",`},
		{good, `"retrieve":{`, `"retrieve":{"luck":true,`},
		{good, `"retrieve":{"ok":true`, `"retrieve":{"ok":false,"ok":true`},
		{good, `{"target"`, `{"Passed":true,"target"`},
		{good, `"latencyMs":7`, `"latencyMs":-7`},
	} {
		forged := strings.Replace(row.document, row.old, row.fresh, 1)
		if forged == row.document {
			t.Fatalf("there is no %s in %s", row.old, row.document)
		}
		if read, err := registry.DecodeResult(registry.KindKnowledgeBase, json.RawMessage(forged)); err == nil {
			t.Errorf("with %s it is read as %s", row.fresh, marshal(t, read))
		}
	}
}

func TestKnowledgeBase_isDefinedByItsServerAndItsRetrieval(t *testing.T) {
	t.Parallel()
	define := func(spec registry.Spec) string {
		definition, err := (&registry.Component{Name: "handbook", Spec: spec}).Definition()
		if err != nil {
			t.Fatal(err)
		}
		return definition
	}
	made := func(change func(*registry.KnowledgeBase)) registry.Spec {
		base := &registry.KnowledgeBase{MCPServer: registry.MCPServer{URL: "http://127.0.0.1:1"}, PinnedVersion: "1"}
		change(base)
		return base
	}
	plain := define(made(func(*registry.KnowledgeBase) {}))
	for name, change := range map[string]func(*registry.KnowledgeBase){
		"the address": func(k *registry.KnowledgeBase) { k.URL += "0" }, "the pin": func(k *registry.KnowledgeBase) { k.PinnedVersion = "2" },
		"the query": func(k *registry.KnowledgeBase) { k.Retrieve.Arguments = json.RawMessage(`{"q":"x"}`) },
	} {
		if define(made(change)) == plain {
			t.Errorf("%s does not change the definition", name)
		}
	}
	if define(made(func(k *registry.KnowledgeBase) { k.Drift = registry.DriftBlocks })) != plain {
		t.Error("what becomes of a drift changes the definition")
	}
	if define(&registry.MCPServer{URL: "http://127.0.0.1:1"}) == plain {
		t.Error("a server has the definition of a knowledge base")
	}
}

// TestSlot_blocksAKnowledgeBaseWhoseToolsChanged shows that drift works as for
// servers.
func TestSlot_blocksAKnowledgeBaseWhoseToolsChanged(t *testing.T) {
	t.Parallel()
	base := &registry.KnowledgeBase{MCPServer: registry.MCPServer{Drift: registry.DriftBlocks}}
	probed := registry.Probed{Summary: knowing().Summary(), Drift: &registry.Drift{Added: []string{"delete"}}}
	slot := registry.Slot{Name: "lookup", Primary: "handbook"}
	if got := slot.Judge(&registry.Component{Name: "handbook", Spec: base}, probed); got.Passed || got.Causes[0] != registry.ToolsChanged {
		t.Errorf("got %+v", got)
	}
	base.Drift = registry.DriftWarns
	if got := slot.Judge(&registry.Component{Name: "handbook", Spec: base}, probed); !got.Passed || got.Reason == "" {
		t.Errorf("got %+v", got)
	}
}
