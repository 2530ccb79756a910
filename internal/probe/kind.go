package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxDocument bounds the document of a result that is to be recorded, in bytes.
const MaxDocument = 256 << 10

// kindOf is how components of one kind are examined. What belongs to one kind
// alone stands in a file of its own, which gives its row.
type kindOf struct {
	kind    registry.Kind
	examine func(context.Context, *registry.Component, Settings) registry.Result
	// timeout is the time for each gate of a component that gives none itself.
	timeout func(registry.Spec) time.Duration
	// failed is the result of a component that could not be asked at all.
	failed func(of *registry.Component, settings Settings, cause registry.Cause, detail string) registry.Result
	// lighter returns a result of the kind, and then what is left of it when it is
	// too large; nil when it is of another kind.
	lighter func(registry.Result) []registry.Result
	// gates are what a stall can excuse in a result of the kind, nil for a part that it
	// does not have; none of a result of another kind.
	gates func(registry.Result) []*registry.GateResult
}

// kinds is the table of kinds, in the order in which they are documented.
func kinds() []kindOf { return []kindOf{ofMCPServers(), ofModel(), ofHarnesses(), ofKnowledgeBases()} }

// Examine probes a component in the way of its kind. It never fails: whatever
// goes wrong is a result that has not passed. One that says what it must in no
// usable form, such as an address without a scheme, has failed; a probe that ends
// in a panic is undecided, and so is one whose gates failed because this process
// stood still: see watch. About ctx: see MCPServer.Probe.
func Examine(ctx context.Context, component *registry.Component, settings Settings) (result registry.Result) {
	of, known := rowOf(component.Kind())
	defer func() {
		if thrown := recover(); thrown != nil {
			result = of.failed(component, settings, registry.Overloaded, fmt.Sprintf("the probe ended in a panic: %v", thrown))
		}
	}()
	if !known {
		return of.failed(component, settings, registry.NotConfigured, fmt.Sprintf("no probe is known for the kind %q", component.Kind()))
	}
	settings.Timeout = cmp.Or(settings.Timeout, component.Timeout, of.timeout(component.Spec))
	stalls := settings.watched(settings.Timeout)
	defer func() { stalls.end(func() []*registry.GateResult { return of.gates(result) }) }()
	return of.examine(ctx, component, settings)
}

// rowOf returns the row of a kind, and whether there is one: for a kind that
// nobody knows it is the first, whose results can say so.
func rowOf(kind registry.Kind) (kindOf, bool) {
	for _, row := range kinds() {
		if row.kind == kind {
			return row, true
		}
	}
	return kinds()[0], false
}

// lister is a result that brings the tools of a server home.
type lister interface{ ListedTools() []registry.Tool }

// Recorded is what is recorded of a result: its document, of at most MaxDocument
// bytes, and the tools that it brought home.
func Recorded(result registry.Result) (json.RawMessage, []registry.Tool, error) {
	var tools []registry.Tool
	if server, ok := result.(lister); ok {
		tools = server.ListedTools()
	}
	lighter := []registry.Result{result}
	for _, row := range kinds() {
		if own := row.lighter(result); own != nil {
			lighter = own
		}
	}
	for _, each := range lighter {
		document, err := json.Marshal(each)
		if err != nil {
			return nil, nil, fmt.Errorf("write a probe result as JSON: %w", err)
		}
		if len(document) <= MaxDocument {
			return document, tools, nil
		}
	}
	return nil, nil, fmt.Errorf("a probe result has more than %d bytes as JSON", MaxDocument)
}
