package probe

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ofMCPServers is their row of the table.
func ofMCPServers() kindOf {
	return kindOf{
		kind: registry.KindMCPServer, examine: examineMCPServer,
		timeout: func(of registry.Spec) time.Duration {
			spec, ok := of.(*registry.MCPServer)
			return serverTimeout(ok && spec.URL == "")
		},
		failed: func(of *registry.Component, settings Settings, cause registry.Cause, detail string) registry.Result {
			return failedServer(of.Name, settings, cause, detail)
		},
		lighter: lighterServers, gates: gatesOfServers,
	}
}

// examineMCPServer runs the three gates of a component of the kind mcp_server.
func examineMCPServer(ctx context.Context, component *registry.Component, settings Settings) registry.Result {
	server, err := FromComponent(component)
	if err != nil {
		detail := err.Error()
		if refused, ok := fault.Of(err); ok {
			detail = refused.Message
		}
		return failedServer(component.Name, settings, registry.NotConfigured, detail)
	}
	result := server.probe(ctx, settings, nil)
	return &result
}

// failedServer is the result of a server none of whose gates could be asked.
func failedServer(name string, settings Settings, cause registry.Cause, detail string) *registry.ProbeResult {
	failed := registry.Fail(0, cause, registry.Shorten(detail, registry.MaxDetail))
	return &registry.ProbeResult{
		Target: name, ProbedAt: settings.Now().UTC(),
		Healthz: failed, Test: failed, ListTools: registry.ToolsResult{GateResult: failed},
	}
}

func gatesOfServers(of registry.Result) []*registry.GateResult {
	result, ok := of.(*registry.ProbeResult)
	if !ok {
		return nil
	}
	return []*registry.GateResult{&result.Healthz, &result.Test, &result.ListTools.GateResult}
}

// lighterServers returns the result, and then what is left of it when it is too
// large: without transcripts, without what g2 says of its tools, without the names
// of the tools. What is left out is said in a warning.
func lighterServers(of registry.Result) []registry.Result {
	result, ok := of.(*registry.ProbeResult)
	if !ok {
		return nil
	}
	lighter := []registry.Result{result}
	left := *result
	for _, step := range []struct {
		leave func(*registry.ProbeResult)
		what  string
	}{
		{func(r *registry.ProbeResult) {
			r.Healthz.Transcript, r.Test.Transcript, r.ListTools.Transcript = nil, nil, nil
		}, "the transcripts"},
		{func(r *registry.ProbeResult) { r.Dependencies = nil }, "what /test says of each tool"},
		{func(r *registry.ProbeResult) { r.Tools, r.LikelyCanary = nil, "" }, "the names of the tools"},
	} {
		step.leave(&left)
		left.Warnings = append(slices.Clone(left.Warnings), "left out of the record for its size: "+step.what)
		once := left
		lighter = append(lighter, &once)
	}
	return lighter
}
