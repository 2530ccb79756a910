package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestSummary_tellsHowLongEachPartTookAndWhatWasOpened(t *testing.T) {
	t.Parallel()
	took := func(ms float64) registry.GateResult { return registry.GateResult{OK: true, LatencyMs: ms} }
	began := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	alive := took(1)
	alive.Began = began
	server := registry.ProbeResult{
		Healthz: alive, Test: registry.Fail(2*time.Millisecond, registry.Timeout, "late"),
		ListTools:      registry.ToolsResult{GateResult: took(3), ToolCount: 1},
		SessionsOpened: 2, SessionsClosed: 1, ProcessesStarted: 3, ProcessesEnded: 3,
	}
	gates := []registry.PartTime{
		{Part: "healthz", OK: true, Began: began, Took: time.Millisecond},
		{Part: "test", Cause: registry.Timeout, Took: 2 * time.Millisecond},
		{Part: "listTools", OK: true, Took: 3 * time.Millisecond},
	}
	knowledge := registry.KnowledgeBaseResult{Gates: server}
	knowledge.Retrieve.LatencyMs = 4
	for name, row := range map[string]struct {
		result registry.Result
		parts  []registry.PartTime
		opened registry.Opened
	}{
		"MCP server":     {&server, gates, registry.Opened{Opened: 5, Ended: 4}},
		"knowledge base": {&knowledge, append(gates[:3:3], registry.PartTime{Part: "retrieve", Took: 4 * time.Millisecond}), registry.Opened{Opened: 5, Ended: 4}},
		"model":          {&registry.ModelResult{Invoke: registry.GateResult{LatencyMs: 5}}, []registry.PartTime{{Part: "invoke", Cause: registry.NoContent, Took: 5 * time.Millisecond}}, registry.Opened{}},
	} {
		got := row.result.Summary()
		if diff := cmp.Diff(row.parts, got.Parts); diff != "" || got.Sessions != row.opened {
			t.Errorf("%s: %+v opened, parts (-want +got):\n%s", name, got.Sessions, diff)
		}
	}
	var known []string
	for _, part := range (&registry.HarnessResult{Signed: new(registry.GateResult)}).Summary().Parts {
		known = append(known, part.Part)
	}
	if diff := cmp.Diff(append([]string{"healthz", "test", "listTools", "retrieve", "invoke"}, known...), registry.Parts()); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}
