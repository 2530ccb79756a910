package probe

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxDocument bounds the document of a result that is to be recorded, in bytes.
const MaxDocument = 256 << 10

// examiner examines the components of one kind.
type examiner func(context.Context, *registry.Component, Settings) registry.Result

// examinerOf returns the examiner of a kind; nil when there is none. What belongs
// to one kind alone stands in a file of its own.
func examinerOf(kind registry.Kind) examiner {
	if kind == registry.KindMCPServer {
		return examineMCPServer
	}
	return nil
}

// Examine probes a component in the way of its kind. It never fails: whatever
// goes wrong is a result that has not passed. One that says what it must in no
// usable form, such as an address without a scheme, has failed; a probe that ends
// in a panic is undecided. About ctx: see MCPServer.Probe.
func Examine(ctx context.Context, component *registry.Component, settings Settings) (result registry.Result) {
	failed := func(cause registry.Cause, detail string) registry.Result {
		return failedServer(component.Name, settings, cause, detail)
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			result = failed(registry.Overloaded, fmt.Sprintf("the probe ended in a panic: %v", thrown))
		}
	}()
	examine := examinerOf(component.Kind())
	if examine == nil {
		return failed(registry.NotConfigured, fmt.Sprintf("no probe is known for the kind %q", component.Kind()))
	}
	return examine(ctx, component, settings)
}

// Recorded is what is recorded of a result: its document, of at most MaxDocument
// bytes, and the tools that it brought home.
func Recorded(result registry.Result) (json.RawMessage, []registry.Tool, error) {
	var tools []registry.Tool
	lighter := []registry.Result{result}
	if server, ok := result.(*registry.ProbeResult); ok {
		tools, lighter = server.ToolList, lighterServers(server)
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
