package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ofKnowledgeBases is their row of the table.
func ofKnowledgeBases() kindOf {
	return kindOf{
		kind: registry.KindKnowledgeBase, examine: examineKnowledgeBase,
		timeout: func(of registry.Spec) time.Duration {
			spec, ok := of.(*registry.KnowledgeBase)
			return serverTimeout(ok && spec.URL == "")
		},
		failed: func(of *registry.Component, settings Settings, cause registry.Cause, detail string) registry.Result {
			return failedKnowledgeBase(of.Name, settings, cause, detail)
		},
		lighter: lighterKnowledgeBases, gates: gatesOfKnowledgeBases,
	}
}

// examineKnowledgeBase runs the three gates of a component of the kind
// knowledge_base, and then its retrieval in the conversation of g3. Where g2 has
// neither a page nor a canary, the retrieval is what it asks.
func examineKnowledgeBase(ctx context.Context, component *registry.Component, settings Settings) registry.Result {
	spec, ok := component.Spec.(*registry.KnowledgeBase)
	if !ok {
		return failedKnowledgeBase(component.Name, settings, registry.NotConfigured, "it is not described as a knowledge base")
	}
	server, err := fromSpec(component, &spec.MCPServer)
	if err != nil {
		detail := err.Error()
		if refused, ok := fault.Of(err); ok {
			detail = refused.Message
		}
		return failedKnowledgeBase(component.Name, settings, registry.NotConfigured, detail)
	}
	search := retrieval{of: spec}
	result := registry.KnowledgeBaseResult{Gates: server.probe(ctx, settings, search.ask)}
	if !search.asked { // no conversation came about
		search.got.GateResult = result.Gates.ListTools.GateResult
	}
	result.Retrieve = search.got
	if spec.RetrievalIsCanary() {
		result.Gates.Test, result.Gates.LikelyCanary = search.got.GateResult, ""
	}
	return &result
}

// failedKnowledgeBase is the result of a knowledge base that could not be asked.
func failedKnowledgeBase(name string, settings Settings, cause registry.Cause, detail string) *registry.KnowledgeBaseResult {
	gates := failedServer(name, settings, cause, detail)
	return &registry.KnowledgeBaseResult{Gates: *gates, Retrieve: registry.RetrievalResult{GateResult: gates.ListTools.GateResult}}
}

// retrieval is the live retrieval of one probe.
type retrieval struct {
	of    *registry.KnowledgeBase
	asked bool
	got   registry.RetrievalResult
}

// ask is further: it makes the call, under a deadline of its own, and judges what
// it brings. What could hold a secret is cleaned after it was judged.
func (r *retrieval) ask(ctx context.Context, talk *conversation, settings Settings, list registry.GateResult) {
	r.asked = true
	tool, refused := r.tool(talk, list)
	if refused.cause != "" {
		r.got.GateResult = registry.Fail(0, refused.cause, refused.detail)
	} else {
		r.got.GateResult = guarded(ctx, settings.Timeout, func(ctx context.Context) finding { return r.search(ctx, talk, tool) })
	}
	if r.got.Pinned == "" {
		r.got.Pinned = r.of.PinnedVersion
	}
	clean := settings.outlet.Redactor.Clean
	for _, text := range []*string{&r.got.Detail, &r.got.Version, &r.got.Pinned} {
		*text = clean(*text)
	}
	for _, list := range [][]string{r.got.FoundIDs, r.got.MissingIDs, r.got.Warnings} {
		for i := range list {
			list[i] = clean(list[i])
		}
	}
	r.got.GateResult = settings.kept(r.got.GateResult)
}

// search calls the tool and judges its result.
func (r *retrieval) search(ctx context.Context, talk *conversation, tool registry.Tool) finding {
	name := registry.Shorten(tool.Name, maxToolName)
	result, err := talk.client.Call(ctx, tool, r.of.Retrieve.Arguments)
	if err != nil {
		failed := failedCall(name, err)
		if failure, ok := errors.AsType[*mcpwire.Failure](err); ok && failure.Answered() {
			failed.cause = registry.RefusedRetrieval(failure.Detail)
		}
		return failed
	}
	retrieved, wrong, detail := r.of.Retrieve.Judge(result, r.of.PinnedVersion)
	r.got.Retrieved = retrieved
	return finding{wrong, registry.Shorten(name+": "+detail, registry.MaxDetail)}
}

// tool returns the tool of the retrieval, or why it cannot be called. Whoever
// names a tool as a retrieval says that it only reads, so it needs no mark of the
// server; one that the server marks destructive is called only with force.
func (r *retrieval) tool(talk *conversation, list registry.GateResult) (registry.Tool, finding) {
	name := registry.Shorten(r.of.Retrieve.Tool, maxToolName)
	i := slices.IndexFunc(talk.tools, func(tool registry.Tool) bool { return tool.Name == r.of.Retrieve.Tool })
	switch {
	case !talk.agreed:
		return registry.Tool{}, finding{list.Cause, list.Detail}
	case !talk.listed:
		return registry.Tool{}, finding{list.Cause, registry.Shorten(
			"the tools could not be listed, so "+name+" was not called: "+list.Detail, registry.MaxDetail)}
	case i < 0:
		return registry.Tool{}, finding{registry.MissingTool, name + ": the server does not list this tool"}
	case talk.tools[i].Destructive() && !r.of.Retrieve.Force:
		return registry.Tool{}, finding{registry.NotConfigured, fmt.Sprintf("%s is marked destructive; it is called only with force", name)}
	}
	return talk.tools[i], finding{}
}

func gatesOfKnowledgeBases(of registry.Result) []*registry.GateResult {
	result, ok := of.(*registry.KnowledgeBaseResult)
	if !ok {
		return nil
	}
	return append(gatesOfServers(&result.Gates), &result.Retrieve.GateResult)
}

// lighterKnowledgeBases is lighterServers for what is nested in the result.
func lighterKnowledgeBases(of registry.Result) []registry.Result {
	result, ok := of.(*registry.KnowledgeBaseResult)
	if !ok {
		return nil
	}
	var lighter []registry.Result
	for i, each := range lighterServers(&result.Gates) {
		gates, ok := each.(*registry.ProbeResult)
		if !ok {
			continue
		}
		left := registry.KnowledgeBaseResult{Gates: *gates, Retrieve: result.Retrieve}
		if i > 0 {
			left.Retrieve.Transcript = nil
		}
		lighter = append(lighter, &left)
	}
	return lighter
}
