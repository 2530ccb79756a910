package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// maxProbesAtOnce bounds how many servers are probed, and started, at once.
	maxProbesAtOnce = 8
	// gcPercent lets garbage be collected early: what a hostile server makes of it
	// must not fill the memory of whoever probes it.
	gcPercent = 25
)

type probeCommand struct {
	Registry     registryFlags  `embed:""`
	Target       []string       `arg:"" optional:"" help:"Address of a server, or the name of a component of the configuration file; after --, a command that starts a server." name:"target" predictor:"component"`
	MCPConfig    string         `help:"Probe every server of the file in which an MCP client keeps them, such as .mcp.json." name:"mcp-config" placeholder:"FILE"`
	Profile      string         `help:"What the gates of an address are: three-gates (its pages /healthz and /test; the default) or protocol (it is an MCP endpoint and nothing else; --call is the gate test)." placeholder:"PROFILE"`
	MCPURL       string         `help:"Address of the MCP endpoint, when it is not URL/mcp." name:"mcp-url" placeholder:"URL"`
	Call         string         `help:"Canary: the harmless tool to call." placeholder:"TOOL"`
	Arguments    string         `help:"Arguments of the canary, a JSON object." placeholder:"JSON"`
	Expect       string         `help:"What the canary's result must be: not_empty (the default), matches=RE, path=JSONPATH equals=JSON, or path=JSONPATH min_count=N." placeholder:"EXPECTATION"`
	Force        bool           `help:"Call the canary although the server does not mark it read-only, or marks it destructive."`
	Only         []string       `help:"Exit 0 when these gates hold: healthz, test, listTools. All three run anyway." placeholder:"GATE" predictor:"gate"`
	RequireTools []string       `help:"Tools that must be among those listed." name:"require-tools" placeholder:"TOOL"`
	ExpectServer string         `help:"Name that the server must give itself." name:"expect-server" placeholder:"NAME"`
	Explain      bool           `help:"Show what was exchanged in each gate that failed, how long it took, and a curl line that asks it again. Secrets are left out."`
	Timeout      *time.Duration `help:"Time for each gate. By default that of the component, else 10s, or 30s for a server that is started. To end what was opened may take 2s more, or 6s for a server that is started." placeholder:"DURATION"`
}

// Help is what probe --help says beyond its one line.
func (*probeCommand) Help() string {
	return "`probe URL` asks the pages of a server and speaks MCP with it. `probe -- COMMAND ARG...` starts a server and ends it again. " +
		"`probe NAME` probes a component of the configuration file as the patrol does, and records the result; with --explain, --timeout or what says " +
		"more about the server it is another probe, and nothing is recorded. `probe --mcp-config FILE` probes every server that a client is " +
		"configured with, all at once. 0: all passed; 1: a gate failed; 2: none did, but one is undecided, or the question could not be asked. The rules of `network` in the configuration file hold for NAME, " +
		"and for the others when --config is given."
}

// Run probes MCP servers and prints what each gate found.
func (c *probeCommand) Run(ctx context.Context, p *process) error {
	only, err := gatesNamed(c.Only)
	if err != nil {
		return err
	}
	if name := c.name(p); name != "" && c.changed() == "" {
		return c.examine(ctx, p, name, only)
	}
	servers, settings, err := c.targets(p)
	if err != nil {
		return err
	}
	settings.Transcripts = c.Explain
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	results := probeAll(ctx, p.Err, servers, settings)
	if ctx.Err() != nil {
		return fault.New(fault.Unavailable, "the probe was interrupted before its gates were done").
			WithHint("Nothing was left open on the server; probe again.")
	}
	if err := c.print(p, results, only); err != nil {
		return fmt.Errorf("print the probe result: %w", err)
	}
	return answered(outcomeOfAll(results, only))
}

// outcomeOfAll is what results say together.
func outcomeOfAll(results []registry.ProbeResult, only []registry.Gate) registry.Outcome {
	outcomes := make([]registry.Outcome, len(results))
	for i := range results {
		outcomes[i] = outcomeAt(&results[i], only)
	}
	return together(outcomes)
}

// probeAll probes all servers at once, and tells a person at a terminal how far
// it has come.
func probeAll(ctx context.Context, progress io.Writer, servers []examined, settings probe.Settings) []registry.ProbeResult {
	results := make([]registry.ProbeResult, len(servers))
	var done atomic.Int64
	stop := followProgress(ctx, progress, func() string {
		if len(servers) == 1 {
			return "probing " + visible(servers[0].Title())
		}
		return fmt.Sprintf("probing %d servers, %d done", len(servers), done.Load())
	})
	defer stop()
	var all errgroup.Group
	all.SetLimit(maxProbesAtOnce)
	for i, server := range servers {
		all.Go(func() error {
			results[i] = server.probe(ctx, settings)
			done.Add(1)
			return nil
		})
	}
	_ = all.Wait() // a probe never fails
	return results
}

// gatesNamed reads --only.
func gatesNamed(names []string) ([]registry.Gate, error) {
	var only []registry.Gate
	for _, name := range names {
		gate := registry.Gate(name)
		if !slices.Contains(registry.Gates(), gate) {
			return nil, fault.New(fault.InvalidArgument, "there is no gate %q", name).
				With(fault.Field, "only").
				WithHint("The gates are healthz, test and listTools, written so and joined by commas.")
		}
		only = append(only, gate)
	}
	return only, nil
}

func probeSettings(timeout time.Duration) (probe.Settings, error) {
	if timeout <= 0 || timeout > registry.MaxTimeout {
		return probe.Settings{}, fault.New(fault.InvalidArgument, "the time-out %v is not between 0 and %v", timeout, registry.MaxTimeout).
			With(fault.Field, "timeout").WithHint("Give a time such as 10s.")
	}
	return probe.Settings{Timeout: timeout, Version: version, Now: time.Now}, nil
}

// print prints one result, or the list of those of a client's file.
func (c *probeCommand) print(p *process, results []registry.ProbeResult, only []registry.Gate) error {
	paint := painterFor(p.Out, p.Getenv)
	var err error
	switch {
	case p.JSON && c.MCPConfig != "":
		err = printJSON(p.Out, results)
	case p.JSON:
		err = printJSON(p.Out, &results[0])
	case c.MCPConfig != "":
		_, err = io.WriteString(p.Out, probesTable(c.MCPConfig, results, only, paint)+c.explained(results, paint))
	default:
		by := typed{flags: registryArguments(c.Registry.File.Config, ""), isCommand: p.afterDashes != nil}
		_, err = io.WriteString(p.Out, probeTable(&results[0], only, by, paint)+c.unrecorded(p, paint)+c.explained(results, paint))
	}
	return err
}

// explained is what --explain adds to the table.
func (c *probeCommand) explained(results []registry.ProbeResult, paint painter) string {
	var out strings.Builder
	for i := range results {
		if !c.Explain {
			break
		}
		told := explanation(&results[i], paint)
		if told != "" && len(results) > 1 {
			fmt.Fprintf(&out, "\n%s\n", paint.bold(oneLine(results[i].Target)))
		}
		out.WriteString(told)
	}
	return out.String()
}
