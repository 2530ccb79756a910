package probe

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestGuarded_turnsAPanicIntoAFailedGate(t *testing.T) {
	t.Parallel()
	got := guarded(t.Context(), time.Minute, func(context.Context) finding { panic("a defect") })
	if got.OK || got.Cause != registry.Overloaded || got.Detail != "the gate ended in a panic: a defect" {
		t.Errorf("got %+v, want a failed gate that tells of the defect", got)
	}
}

func TestGuarded_givesEachGateItsOwnDeadline(t *testing.T) {
	t.Parallel()
	got := guarded(t.Context(), time.Millisecond, func(ctx context.Context) finding {
		<-ctx.Done()
		return finding{cause: registry.Timeout}
	})
	if got.OK || got.Cause != registry.Timeout {
		t.Errorf("got %+v, want a time-out", got)
	}
}

func TestDigest_changesWithWhatACallerReliesOnAndWithNothingElse(t *testing.T) {
	t.Parallel()
	tool := func(edit func(*mcpwire.Tool)) mcpwire.Tool {
		one := mcpwire.Tool{
			Name: "scan", Description: json.RawMessage(`"Scans."`),
			InputSchema:     json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"maximum":10}}}`),
			DestructiveHint: json.RawMessage(`false`),
		}
		if edit != nil {
			edit(&one)
		}
		return one
	}
	other := mcpwire.Tool{Name: "list"}
	of := func(tools ...mcpwire.Tool) string {
		t.Helper()
		sum, err := digest(tools)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	accepted := of(tool(nil), other)
	same := map[string]string{
		"another order of tools": of(other, tool(nil)),
		"another order of keys, white space and number": of(tool(func(it *mcpwire.Tool) {
			it.InputSchema = json.RawMessage(`{ "properties": {"b":{"maximum":1e1}, "a":{"type":"\u0073tring"}}, "type":"object" }`)
		}), other),
	}
	for name, sum := range same {
		if sum != accepted {
			t.Errorf("%s changes the digest", name)
		}
	}
	changed := map[string]string{
		"one tool fewer":      of(tool(nil)),
		"another name":        of(tool(func(it *mcpwire.Tool) { it.Name = "scam" }), other),
		"another description": of(tool(func(it *mcpwire.Tool) { it.Description = json.RawMessage(`"Scans everything."`) }), other),
		"no description":      of(tool(func(it *mcpwire.Tool) { it.Description = nil }), other),
		"another schema":      of(tool(func(it *mcpwire.Tool) { it.InputSchema = json.RawMessage(`{"type":"object"}`) }), other),
		"an output schema":    of(tool(func(it *mcpwire.Tool) { it.OutputSchema = json.RawMessage(`{"type":"object"}`) }), other),
		"destructive":         of(tool(func(it *mcpwire.Tool) { it.DestructiveHint = json.RawMessage(`true`) }), other),
	}
	seen := map[string]string{accepted: "the accepted list"}
	for name, sum := range changed {
		if before, twice := seen[sum]; twice {
			t.Errorf("%s and %s have one digest", name, before)
		}
		seen[sum] = name
	}
}
