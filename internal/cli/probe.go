package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// maxProbeTimeout bounds --timeout.
const maxProbeTimeout = 10 * time.Minute

type probeCommand struct {
	URL          string        `arg:"" help:"Base address: the gates are at URL/healthz, URL/test and URL/mcp."`
	MCPURL       string        `help:"Address of the MCP endpoint, when it is not URL/mcp." name:"mcp-url" placeholder:"URL"`
	Only         []string      `help:"Exit 0 when these gates hold: healthz, test, listTools. All three run anyway." placeholder:"GATE"`
	RequireTools []string      `help:"Tools that must be among those listed." name:"require-tools" placeholder:"TOOL"`
	Timeout      time.Duration `help:"Time for each gate." default:"10s"`
}

// Run probes one MCP server and prints what each gate found.
func (c *probeCommand) Run(ctx context.Context, p *process) error {
	only, err := gatesNamed(c.Only)
	if err != nil {
		return err
	}
	settings, err := probeSettings(c.Timeout)
	if err != nil {
		return err
	}
	server, err := probe.ParseMCPServer(c.URL, c.MCPURL)
	if err != nil {
		return err
	}
	server.RequireTools = c.RequireTools
	stop := showProgress(ctx, p.Err, "probing "+visible(server.Base.String()))
	result := server.Probe(ctx, settings)
	stop()
	if ctx.Err() != nil {
		return fault.New(fault.Unavailable, "the probe was interrupted before its gates were done").
			WithHint("Nothing was left open on the server; probe again.")
	}
	if err := printProbe(p, &result, only); err != nil {
		return fmt.Errorf("print the probe result: %w", err)
	}
	if !holds(&result, only) {
		return errNo
	}
	return nil
}

// gatesNamed reads --only.
func gatesNamed(names []string) ([]registry.Gate, error) {
	var only []registry.Gate
	for _, name := range names {
		gate := registry.Gate(name)
		switch gate {
		case registry.Healthz, registry.Test, registry.ListTools:
			only = append(only, gate)
		default:
			return nil, fault.New(fault.InvalidArgument, "there is no gate %q", name).
				With(fault.Field, "only").
				WithHint("The gates are healthz, test and listTools, written so and joined by commas.")
		}
	}
	return only, nil
}

func probeSettings(timeout time.Duration) (probe.Settings, error) {
	if timeout <= 0 || timeout > maxProbeTimeout {
		return probe.Settings{}, fault.New(fault.InvalidArgument, "the time-out %v is not between 0 and %v", timeout, maxProbeTimeout).
			With(fault.Field, "timeout").WithHint("Give a time such as 10s.")
	}
	return probe.Settings{Timeout: timeout, Version: version, Now: time.Now}, nil
}

// holds is the answer: every named gate, or all that makes a pass.
func holds(result *registry.ProbeResult, only []registry.Gate) bool {
	if len(only) == 0 {
		return result.Passed()
	}
	for _, gate := range only {
		if !result.Gate(gate).OK {
			return false
		}
	}
	return true
}

func printProbe(p *process, result *registry.ProbeResult, only []registry.Gate) error {
	if p.JSON {
		return json.NewEncoder(p.Out).Encode(result)
	}
	_, err := io.WriteString(p.Out, probeTable(result, only, painterFor(p.Out, p.Getenv)))
	return err
}
