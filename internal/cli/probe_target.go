package cli

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// examined is a server to be probed, or why it cannot be.
type examined struct {
	probe.MCPServer

	problem string
}

func (e examined) probe(ctx context.Context, settings probe.Settings) registry.ProbeResult {
	if e.problem == "" {
		return e.Probe(ctx, settings)
	}
	failed := registry.Fail(0, registry.NotConfigured, registry.Shorten(e.problem, registry.MaxDetail))
	return registry.ProbeResult{
		Target: e.Name, Profile: e.Profile, ProbedAt: settings.Now().UTC(),
		Healthz: failed, Test: failed, ListTools: registry.ToolsResult{GateResult: failed},
	}
}

// targets reads what is to be probed, and how.
func (c *probeCommand) targets(p *process) ([]examined, probe.Settings, error) {
	settings := probe.Settings{Version: version, Now: time.Now}
	if c.Timeout != nil {
		var err error
		if settings, err = probeSettings(*c.Timeout); err != nil {
			return nil, settings, err
		}
	}
	settings.Resolve = p.resolver().Resolve
	loaded := &config.Config{}
	if c.name(p) != "" || c.Registry.File.Config != "" {
		var err error
		if loaded, err = c.Registry.File.load(p); err != nil {
			return nil, settings, err
		}
	}
	settings.Network = loaded.Network
	if c.MCPConfig != "" {
		servers, err := c.ofClient(p)
		return servers, settings, err
	}
	server, err := c.one(p, loaded)
	if err != nil {
		return nil, settings, err
	}
	if err := c.adjust(&server); err != nil {
		return nil, settings, err
	}
	return []examined{{MCPServer: server}}, settings, nil
}

// one reads URL, NAME or -- COMMAND ARG...
func (c *probeCommand) one(p *process, loaded *config.Config) (probe.MCPServer, error) {
	ofAddress := c.Profile != "" || c.MCPURL != ""
	switch {
	case len(p.afterDashes) > 0 && len(c.Target) > len(p.afterDashes), len(p.afterDashes) == 0 && len(c.Target) != 1:
		return probe.MCPServer{}, fault.New(fault.InvalidArgument, "name one thing to probe").
			WithHint("Give URL, or NAME, or -- COMMAND ARG..., or --mcp-config FILE.")
	case ofAddress && (len(p.afterDashes) > 0 || registry.IsName(c.Target[0])):
		return probe.MCPServer{}, fault.New(fault.InvalidArgument, "--profile and --mcp-url are about an address").
			WithHint("Leave them out: a command is probed in the profile protocol, and a component as the configuration file says.")
	case len(p.afterDashes) > 0:
		return probe.StartedServer(p.afterDashes), nil
	case registry.IsName(c.Target[0]):
		return namedServer(loaded, c.Target[0])
	}
	if isCommand(c.Target[0]) {
		return probe.MCPServer{}, fault.New(fault.InvalidArgument, "the URL has no scheme; it looks like a command").
			WithHint("A command stands behind --, such as countersign probe -- %s.", registry.Shorten(strings.Fields(c.Target[0])[0], textWidth))
	}
	switch registry.Profile(c.Profile) {
	case "", registry.ThreeGates:
		return probe.ParseMCPServer(c.Target[0], c.MCPURL)
	case registry.Protocol:
		if c.MCPURL == "" {
			return probe.ParseEndpoint(c.Target[0])
		}
		return probe.MCPServer{}, fault.New(fault.InvalidArgument, "in the profile protocol the URL is the MCP endpoint itself").
			With(fault.Field, "mcp-url").WithHint("Give the address of the endpoint as URL, and leave out --mcp-url.")
	}
	return probe.MCPServer{}, fault.New(fault.InvalidArgument, "there is no profile %q", c.Profile).
		With(fault.Field, "profile").WithHint("The profiles are three-gates and protocol.")
}

// isCommand reports whether a word that is no name looks like a program, by a
// path or with arguments, and not like an address without its scheme.
func isCommand(word string) bool {
	fields := strings.Fields(word)
	return len(fields) > 0 && !strings.Contains(word, "://") &&
		(len(fields) > 1 || strings.ContainsAny(word[:1], `./~`) || strings.Contains(word, `\`))
}

func namedServer(loaded *config.Config, name string) (probe.MCPServer, error) {
	component, ok := loaded.Component(name)
	if ok {
		return probe.FromComponent(&component)
	}
	return probe.MCPServer{}, unnamed(loaded, name)
}

// ofClient reads --mcp-config.
func (c *probeCommand) ofClient(p *process) ([]examined, error) {
	if len(c.Target) > 0 || c.Profile != "" || c.MCPURL != "" || c.Call != "" || c.Arguments != "" || c.Expect != "" || c.Force ||
		len(c.RequireTools) > 0 || c.ExpectServer != "" {
		return nil, fault.New(fault.InvalidArgument, "with --mcp-config nothing can be said about one server").
			WithHint("Give --only, --timeout and --json at most; declare canaries and the like for components of the configuration file.")
	}
	listed, err := config.ReadMCPServers(c.MCPConfig, p.lookup)
	if err != nil {
		return nil, err
	}
	var servers []examined
	for _, each := range listed {
		server, err := probe.FromComponent(&each.Component)
		problem := ""
		switch {
		case each.Problem != nil:
			problem = each.Problem.Message
			server = probe.MCPServer{Name: each.Component.Name, Profile: registry.Protocol}
		case err != nil:
			problem = err.Error()
			server = probe.MCPServer{Name: each.Component.Name, Profile: registry.Protocol}
		}
		servers = append(servers, examined{server, problem})
	}
	return servers, nil
}

// adjust applies the flags that say more about the server.
func (c *probeCommand) adjust(server *probe.MCPServer) error {
	if len(c.RequireTools) > 0 {
		server.RequireTools = append(slices.Clone(server.RequireTools), c.RequireTools...)
	}
	if c.ExpectServer != "" {
		server.ExpectServer = c.ExpectServer
	}
	canary, err := c.canary()
	switch {
	case err != nil:
		return err
	case canary != nil:
		server.Canary = canary
	}
	return nil
}

func (c *probeCommand) canary() (*registry.Canary, error) {
	if c.Call == "" {
		if c.Arguments != "" || c.Expect != "" || c.Force {
			return nil, fault.New(fault.InvalidArgument, "--arguments, --expect and --force are about a canary, and none is named").
				With(fault.Field, "call").WithHint("Name its tool with --call.")
		}
		return nil, nil
	}
	made := registry.Canary{Tool: c.Call, Force: c.Force}
	if c.Arguments != "" {
		made.Arguments = json.RawMessage(strings.TrimSpace(c.Arguments))
		if !json.Valid(made.Arguments) || !strings.HasPrefix(string(made.Arguments), "{") {
			return nil, fault.New(fault.InvalidArgument, "--arguments is not a JSON object").
				With(fault.Field, "arguments").WithHint(`Write it like '{"path": "/srv"}'.`)
		}
	}
	var err error
	made.Expect, err = parseExpectation(c.Expect)
	return &made, err
}

const expectationHint = "Write not_empty, matches=RE, path=JSONPATH equals=JSON, or path=JSONPATH min_count=N."

// parseExpectation reads --expect. Fault: E_INVALID_ARGUMENT.
func parseExpectation(text string) (registry.Expectation, error) {
	wrong := func(format string, args ...any) (registry.Expectation, error) {
		return registry.Expectation{}, fault.New(fault.InvalidArgument, "--expect: "+format, args...).
			With(fault.Field, "expect").WithHint(expectationHint)
	}
	if text == "" || text == "not_empty" {
		return registry.Expectation{}, nil
	}
	if pattern, ok := strings.CutPrefix(text, "matches="); ok {
		matches, err := regexp.Compile(pattern)
		if err != nil || pattern == "" {
			return wrong("this is no regular expression")
		}
		return registry.Expectation{Matches: matches}, nil
	}
	rest, ok := strings.CutPrefix(text, "path=")
	if !ok {
		return wrong("it cannot be read")
	}
	equals, count := strings.LastIndex(rest, " equals="), strings.LastIndex(rest, " min_count=")
	if equals < 0 && count < 0 {
		return wrong("path needs equals or min_count")
	}
	at := max(equals, count)
	_, value, _ := strings.Cut(rest[at:], "=")
	made := registry.Expectation{Path: strings.TrimSpace(rest[:at])}
	if _, err := jsonpath.Parse(made.Path); err != nil {
		return wrong("%s is no JSONPath: %v", made.Path, err)
	}
	if at == equals {
		made.Equals = json.RawMessage(value)
		if !json.Valid(made.Equals) {
			return wrong(`the value of equals is no JSON; a text stands in quotes: equals="ok"`)
		}
		return made, nil
	}
	var err error
	if made.MinCount, err = strconv.Atoi(value); err != nil || made.MinCount < 1 {
		return wrong("min_count is no number from 1 on")
	}
	return made, nil
}
