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
	Timeout time.Duration // of each gate, from its start
	Version string        // of Countersign, told to the server
	Now     func() time.Time
}

// Probe runs the three gates at once. It never fails: whatever goes wrong is a
// failed gate. When ctx ends early, the gates that were not done have failed,
// and sessions are closed all the same; it returns at most
// mcpwire.CloseTimeout after the last gate.
func (s MCPServer) Probe(ctx context.Context, settings Settings) registry.ProbeResult {
	result := registry.ProbeResult{
		Target: s.Base.String(), Profile: registry.ThreeGates, ProbedAt: settings.Now().UTC(),
	}
	var test testFound
	var tools toolsFound
	var gates sync.WaitGroup
	gates.Go(func() { result.Healthz = s.Healthz(ctx, settings) })
	gates.Go(func() { test = s.test(ctx, settings) })
	gates.Go(func() { tools = s.listTools(ctx, settings) })
	gates.Wait()

	result.Test, result.Dependencies = test.gate, test.dependencies
	result.Warnings = append(test.warnings, tools.report.Warnings...)
	tools.fill(&result)
	return result
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
			got = registry.Fail(time.Since(began), registry.Overloaded,
				registry.Shorten(fmt.Sprintf("the gate ended in a panic: %v", thrown), registry.MaxDetail))
		}
	}()
	found := gate(ctx)
	if found.cause != "" {
		return registry.Fail(time.Since(began), found.cause, found.detail)
	}
	return registry.Pass(time.Since(began), found.detail)
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
	client := mcpwire.NewHTTPClient()
	exchange, err = mcpwire.Do(ctx, client, request)
	if err != nil {
		client.CloseIdleConnections()
		return nil, nil, err
	}
	return exchange, func() { exchange.Close(); client.CloseIdleConnections() }, nil
}

// clientName is how the prober introduces itself.
const clientName = "countersign"
