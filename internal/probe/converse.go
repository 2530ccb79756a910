package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// talkFound is what one conversation brings home: g3, the canary's part of g2,
// and g1 of the profile protocol.
type talkFound struct {
	alive  registry.GateResult
	list   registry.GateResult
	canary registry.GateResult
	tools  []registry.Tool
	names  []string
	likely string // the likely canary
	report mcpwire.Report
}

// further is what else is asked in the conversation of g3, which has ended with
// the list; nil for nothing. It has a deadline of its own.
type further func(ctx context.Context, talk *conversation, settings Settings, list registry.GateResult)

// converse has a real client ask for the tools, then make the canary's call and
// whatever else is to be asked in the same session. What it opened is ended after the gates' clocks have
// stopped, whatever became of them. A panic outside the gates has failed them all.
func (s MCPServer) converse(ctx context.Context, settings Settings, more further) (brought talkFound) {
	defer func() {
		if thrown := recover(); thrown != nil {
			brought = talkFound{list: panicked(time.Now(), thrown)}
			brought.alive, brought.canary = brought.list, brought.list
		}
	}()
	command, err := s.start(settings)
	if err != nil {
		failed := found(err)
		brought.list = registry.Fail(0, failed.cause, failed.detail)
		brought.alive, brought.canary = brought.list, brought.list
		return brought
	}
	client := mcpwire.New(mcpwire.Target{Endpoint: s.Endpoint, Command: command}, mcpwire.Settings{
		Identity: mcpwire.Identity{Name: clientName, Version: settings.Version},
		Outlet:   settings.outlet, Eras: settings.Eras,
	})
	talk := conversation{MCPServer: s, client: client}
	brought.list = settings.kept(guarded(ctx, settings.Timeout, talk.list)) // before the canary adds to the transcript
	brought.canary = talk.canary(ctx, settings.Timeout, brought.list)
	if more != nil {
		more(ctx, &talk, settings, brought.list)
	}
	brought.alive = talk.alive(brought.list)
	client.Close(ctx)
	brought.tools, brought.names = talk.tools, talk.names()
	brought.likely, brought.report = registry.LikelyCanary(talk.tools), client.Report()
	return brought
}

// conversation is one with one server.
type conversation struct {
	MCPServer

	client *mcpwire.Client
	agreed bool // on era and version
	listed bool
	tools  []registry.Tool
}

// list is g3.
func (c *conversation) list(ctx context.Context) finding {
	if err := c.client.Handshake(ctx); err != nil {
		return found(err)
	}
	c.agreed = true
	tools, err := c.client.Tools(ctx)
	if err != nil {
		return found(err)
	}
	c.listed, c.tools = true, tools
	if wrong := c.judgeIdentity(c.client.Report().Server); wrong.cause != "" {
		return wrong
	}
	return c.judgeTools(tools)
}

// judgeIdentity asks for the server that is expected.
func (s MCPServer) judgeIdentity(server registry.Server) finding {
	switch {
	case s.ExpectServer == "" || server.Name == s.ExpectServer:
		return finding{}
	case server.Name == "":
		return finding{registry.Identity, fmt.Sprintf("the server does not give its name; %q is expected", s.ExpectServer)}
	}
	return finding{registry.Identity, registry.Shorten(
		fmt.Sprintf("the server is %q; %q is expected", server.Name, s.ExpectServer), registry.MaxDetail)}
}

// judgeTools asks for at least one tool and every required one.
func (s MCPServer) judgeTools(tools []registry.Tool) finding {
	var missing []string
	for _, name := range s.RequireTools {
		if !slices.ContainsFunc(tools, func(tool registry.Tool) bool { return tool.Name == name }) {
			missing = append(missing, name)
		}
	}
	counted := words.Counted(len(tools), "tool")
	switch {
	case len(tools) == 0:
		return finding{registry.ZeroTools, counted}
	case len(missing) > 0:
		return finding{registry.MissingTool, registry.Shorten(
			fmt.Sprintf("%s, without %s", counted, strings.Join(missing, ", ")), registry.MaxDetail)}
	}
	return finding{detail: counted}
}

// names are those of the tools, sorted.
func (c *conversation) names() []string {
	var names []string
	for _, tool := range c.tools {
		names = append(names, registry.Shorten(tool.Name, registry.MaxDetail))
	}
	slices.Sort(names)
	return names
}

// canary makes the declared call, under a deadline of its own. A server with
// which no conversation came about fails it as it failed g3.
func (c *conversation) canary(ctx context.Context, limit time.Duration, list registry.GateResult) registry.GateResult {
	switch {
	case !c.agreed:
		return list
	case c.Canary == nil:
		return registry.Fail(0, registry.NotConfigured, "no canary is declared")
	}
	tool, refused := c.permitted(list)
	if refused.cause != "" {
		return registry.Fail(0, refused.cause, refused.detail)
	}
	return guarded(ctx, limit, func(ctx context.Context) finding {
		name := registry.Shorten(tool.Name, maxToolName)
		result, err := c.client.Call(ctx, tool, c.Canary.Arguments)
		if err != nil {
			return failedCall(name, err)
		}
		if err := c.Canary.Expect.Judge(result); err != nil {
			return finding{registry.CanaryFailed, registry.Shorten(fmt.Sprintf("%s: %v", name, err), registry.MaxDetail)}
		}
		return finding{detail: "canary " + name + " answers as expected"}
	})
}

// maxToolName bounds a name within a detail, in bytes.
const maxToolName = 80

// failedCall is the finding of a call that was answered with an error of the
// protocol, and of one that was not answered.
func failedCall(name string, err error) finding {
	failed := found(err)
	if failure, ok := errors.AsType[*mcpwire.Failure](err); ok && failure.Answered() {
		failed.cause = registry.CanaryFailed
	}
	failed.detail = registry.Shorten(name+": "+failed.detail, registry.MaxDetail)
	return failed
}

// permitted returns the canary's tool, or why it may not be called: a tool is
// called without force only when the server marks it read-only, and does not
// mark it destructive.
func (c *conversation) permitted(list registry.GateResult) (registry.Tool, finding) {
	i := slices.IndexFunc(c.tools, func(tool registry.Tool) bool { return tool.Name == c.Canary.Tool })
	name := registry.Shorten(c.Canary.Tool, maxToolName)
	switch {
	case !c.listed && !c.Canary.Force:
		return registry.Tool{}, finding{list.Cause, registry.Shorten(
			"the tools could not be listed, so "+name+" was not called: "+list.Detail, registry.MaxDetail)}
	case !c.listed:
		return registry.Tool{Name: c.Canary.Tool}, finding{}
	case i < 0:
		return registry.Tool{}, finding{registry.CanaryFailed, name + ": the server does not list this tool"}
	case c.Canary.Force:
	case c.tools[i].Destructive():
		return registry.Tool{}, finding{registry.NotConfigured, name + " is marked destructive; it is called only with force"}
	case !c.tools[i].ReadOnly:
		return registry.Tool{}, finding{registry.NotConfigured, name + " is not marked read-only; it is called only with force"}
	}
	return c.tools[i], finding{}
}

// alive is g1 of the profile protocol: the process runs, or the endpoint gave a
// complete HTTP answer of any kind.
func (c *conversation) alive(list registry.GateResult) (got registry.GateResult) {
	defer func() {
		got.Began = list.Began
		if got.Ended.IsZero() {
			got.Ended = time.Now()
		}
	}()
	report, isProcess := c.client.Report(), c.Endpoint == nil
	took := list.Took()
	if report.FirstAnswer != "" {
		took = report.FirstAnswerAfter
	}
	switch ended := c.client.Ended(); {
	case ended != nil:
		failed := found(ended)
		return registry.Fail(took, failed.cause, failed.detail)
	case report.FirstAnswer != "":
		return registry.Pass(took, report.FirstAnswer)
	case isProcess:
		return registry.Pass(took, "the process runs, but does not answer")
	}
	return list
}

func (t talkFound) fill(result *registry.ProbeResult) {
	result.ListTools = registry.ToolsResult{GateResult: t.list, ToolCount: len(t.names)}
	result.Tools, result.ToolList = t.names, t.tools
	result.Era, result.Transport = t.report.Era, t.report.Transport
	result.ProtocolVersion, result.Server = t.report.ProtocolVersion, t.report.Server
	result.Timings = t.report.Timings
	result.SessionsOpened, result.SessionsClosed = t.report.SessionsOpened, t.report.SessionsClosed
	result.ProcessesStarted, result.ProcessesEnded = t.report.ProcessesStarted, t.report.ProcessesEnded
}
