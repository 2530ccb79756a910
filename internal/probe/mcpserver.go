package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Settings are what a probe needs beside its target.
type Settings struct {
	Timeout time.Duration // of each gate, from its start; 0 for that of the target
	Version string        // of Countersign, told to the server
	Now     func() time.Time
	Eras    *mcpwire.Eras // nil to find out the era of the target anew

	Network     registry.Network                       // what may be dialled
	Resolve     func(reference string) (string, error) // has a secret; nil when nothing is to be had
	Transcripts bool                                   // keep a transcript of each gate that fails
	Purse       Purse                                  // of a component that has a daily budget; nil for none

	outlet mcpwire.Outlet // of one probe and, by its recorder, of one gate
	clocks func() reading // by which stalls are noticed; nil for those of this machine
}

// Probe runs the three gates at once. It never fails: whatever goes wrong is a
// failed gate. When ctx ends early, the gates that were not done have failed,
// and sessions, streams and processes are ended all the same; it returns at most
// mcpwire.CloseTimeout after the last gate, or mcpwire.ProcessCloseTimeout when
// the target is a process and ctx has not been cancelled. What failed because
// this process stood still is undecided: see watch.
func (s MCPServer) Probe(ctx context.Context, settings Settings) (result registry.ProbeResult) {
	stalls := settings.watched(s.limit(settings))
	defer func() { stalls.end(func() []*registry.GateResult { return gatesOfServers(&result) }) }()
	return s.probe(ctx, settings, nil)
}

// probe is Probe, with what else is asked in the conversation of g3.
func (s MCPServer) probe(ctx context.Context, settings Settings, more further) registry.ProbeResult {
	result := registry.ProbeResult{Target: s.Title(), Profile: s.Profile, ProbedAt: settings.Now().UTC()}
	settings.Timeout = s.limit(settings)
	settings = settings.opened(s)
	if s.Profile == registry.Protocol {
		s.protocol(ctx, settings, more, &result)
	} else {
		s.threeGates(ctx, settings, more, &result)
	}
	settings.clean(&result)
	digestTools(&result)
	return result
}

// digestTools tells the tools as they are kept, without secrets, from others.
func digestTools(result *registry.ProbeResult) {
	var err error
	if result.ToolsDigest, err = registry.ToolsDigest(result.ToolList); err != nil {
		warning := registry.Shorten(fmt.Sprintf("listTools: the tools have no digest: %v", err), registry.MaxDetail)
		result.Warnings = append(result.Warnings, warning)
	}
}

// threeGates asks the pages of the server, and speaks with it.
func (s MCPServer) threeGates(ctx context.Context, settings Settings, more further, result *registry.ProbeResult) {
	var test testFound
	var talk talkFound
	g1, g2, g3 := settings.recorded(), settings.recorded(), settings.recorded()
	var gates sync.WaitGroup
	gates.Go(func() { result.Healthz = g1.kept(s.Healthz(ctx, g1)) })
	gates.Go(func() { test = s.test(ctx, g2); test.gate = g2.kept(test.gate) })
	gates.Go(func() { talk = s.converse(ctx, g3, more) })
	gates.Wait()

	result.Test, result.Dependencies = test.gate, test.dependencies
	if s.Canary != nil {
		result.Test = both(test.gate, g3.kept(talk.canary))
	}
	result.Warnings = append(test.warnings, talk.report.Warnings...)
	talk.fill(result)
	result.ListTools.GateResult = g3.kept(talk.list)
}

// both is g2 of a server that has a page and a canary.
func both(page, canary registry.GateResult) registry.GateResult {
	switch {
	case !page.OK:
		return page
	case canary.OK:
		canary.Detail = registry.Shorten(page.Detail+"; "+canary.Detail, registry.MaxDetail)
	}
	canary.Began, canary.LatencyMs = page.Began, page.LatencyMs+canary.LatencyMs
	return canary
}

// protocol learns all that it knows from one conversation.
func (s MCPServer) protocol(ctx context.Context, settings Settings, more further, result *registry.ProbeResult) {
	settings = settings.recorded()
	talk := s.converse(ctx, settings, more)
	result.Healthz, result.Test = settings.kept(talk.alive), settings.kept(talk.canary)
	result.Warnings = talk.report.Warnings
	talk.fill(result)
	result.ListTools.GateResult = settings.kept(talk.list)
	if s.Canary == nil {
		result.LikelyCanary = talk.likely
	}
}

// finding is what a gate concludes; it holds when the cause is empty.
type finding struct {
	cause  registry.Cause
	detail string
}

// guarded runs one gate under its own deadline. A gate that panics has failed.
func guarded(ctx context.Context, limit time.Duration, gate func(context.Context) finding) (got registry.GateResult) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	defer func() {
		if thrown := recover(); thrown != nil {
			got = panicked(began, thrown)
		}
		got.Began, got.Ended = began, time.Now()
	}()
	found := gate(ctx)
	if found.cause != "" {
		return registry.Fail(time.Since(began), found.cause, found.detail)
	}
	return registry.Pass(time.Since(began), found.detail)
}

func panicked(began time.Time, thrown any) registry.GateResult {
	return registry.Fail(time.Since(began), registry.Overloaded,
		registry.Shorten(fmt.Sprintf("the gate ended in a panic: %v", thrown), registry.MaxDetail))
}

// found turns an error of the wire into a finding.
func found(err error) finding {
	if failure, ok := errors.AsType[*mcpwire.Failure](err); ok {
		return finding{failure.Cause, failure.Detail}
	}
	return finding{registry.Overloaded, registry.Shorten(err.Error(), registry.MaxDetail)}
}

// get asks for a page over a connection of its own; the connection ends when
// the exchange is closed and done is called.
func get(ctx context.Context, address *url.URL, settings Settings) (exchange *mcpwire.Exchange, done func(), err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for a page: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", clientName+"/"+settings.Version)
	client := settings.outlet.Client()
	exchange, err = mcpwire.Do(ctx, client, request)
	if err != nil {
		client.CloseIdleConnections()
		return nil, nil, err
	}
	return exchange, func() { exchange.Close(); client.CloseIdleConnections() }, nil
}

// clientName is how the prober introduces itself.
const clientName = "countersign"
