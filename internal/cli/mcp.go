package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// mcpCommand has the flags of registryFlags with help of its own: without --registry it
// reads no file.
type mcpCommand struct {
	Config   string    `help:"Configuration file of the registry, with --registry. By default ./countersign.yaml, else countersign/countersign.yaml below XDG_CONFIG_HOME or ~/.config." name:"config" placeholder:"FILE"`
	DB       string    `help:"Database: a SQLite file or a postgres:// URL. By default one file for this user; with --registry that of the configuration file comes first." name:"db" placeholder:"FILE|URL"`
	Agent    agentFlag `embed:""`
	Registry bool      `help:"Serve the registry instead of the task gate: list, read and probe components, and ask whether a run may start."`
}

// Help is what mcp --help says beyond its one line.
func (*mcpCommand) Help() string {
	return "An MCP client starts it and speaks with it over standard input and output, a message a line; it ends with its input. " +
		"Typed by hand too, the first is the request initialize: a call before it is refused. " +
		"A database that is locked or down is the answer of a call, and the next call opens it again; one that only a person can mend ends it with 2. " +
		"Every agent runs one of its own, on the same database, which --db names: the task gate reads no configuration file, so that a key db in one does not count. " +
		"The log goes to standard error. With --registry the tools are those of an orchestrator: list_components, get_component, probe_component and preflight, about what the " +
		"configuration file registers; it is read once, at the start."
}

// components are the flags as the commands about components have them.
func (c *mcpCommand) components() registryFlags {
	return registryFlags{File: configFlag{Config: c.Config}, Database: registryDatabaseFlag{DB: c.DB}}
}

// Run serves the client until its input ends or ctx is done. It ends with the
// reason when the database cannot be opened and that will not pass.
func (c *mcpCommand) Run(ctx context.Context, p *process) error {
	log, err := telemetry.NewLogger(p.Err, telemetry.Text, slog.LevelInfo)
	if err != nil {
		return err
	}
	tracing, err := telemetry.NewTracing(ctx, p.Getenv, version, log)
	if err != nil {
		return err
	}
	defer tracing.Shutdown(ctx)
	if c.Registry {
		return c.serveRegistry(ctx, p, tracing.Tracer(), log)
	}
	if c.Config != "" {
		return fault.New(fault.InvalidArgument, "the task gate reads no configuration file").
			With(fault.Field, "--config").WithHint("Leave out --config, or add --registry.")
	}
	caller, err := callerOf(p, c.Agent)
	if err != nil {
		return err
	}
	outliveReaders()
	gate := &openingGate{opened: newOpening[*task.Gate]()}
	server := mcpserver.New(gate, mcpserver.Options{Version: version, Caller: caller, Log: log, Tracer: tracing.Tracer()})
	return gate.opened.serve(ctx, p, server, log, func(ctx context.Context) (opened[*task.Gate], error) {
		database, err := openDatabase(ctx, p, c.DB)
		if err != nil {
			return opened[*task.Gate]{}, err
		}
		log.InfoContext(ctx, "serving MCP over stdio",
			slog.String("database", database.Location()), slog.String("agent", string(caller.Lock)))
		return opened[*task.Gate]{use: task.NewGate(database, time.Now), close: database.Close}, nil
	})
}

// openingGate is the task gate on a database that may still be opening.
type openingGate struct{ opened *opening[*task.Gate] }

// Create is that of the gate.
func (g *openingGate) Create(ctx context.Context, caller task.Caller, request task.CreateRequest) (task.Created, error) {
	gate, err := g.opened.await(ctx)
	if err != nil {
		return task.Created{}, err
	}
	return gate.Create(ctx, caller, request)
}

// Claim is that of the gate.
func (g *openingGate) Claim(ctx context.Context, caller task.Caller, request task.ClaimRequest) (task.ClaimRecorded, error) {
	gate, err := g.opened.await(ctx)
	if err != nil {
		return task.ClaimRecorded{}, err
	}
	return gate.Claim(ctx, caller, request)
}

// Verify is that of the gate.
func (g *openingGate) Verify(ctx context.Context, caller task.Caller, request task.VerifyRequest) (task.Decided, error) {
	gate, err := g.opened.await(ctx)
	if err != nil {
		return task.Decided{}, err
	}
	return gate.Verify(ctx, caller, request)
}

// Task is that of the gate.
func (g *openingGate) Task(ctx context.Context, id string) (task.Task, error) {
	gate, err := g.opened.await(ctx)
	if err != nil {
		return task.Task{}, err
	}
	return gate.Task(ctx, id)
}

// List is that of the gate.
func (g *openingGate) List(ctx context.Context, query task.Query) (task.Page, error) {
	gate, err := g.opened.await(ctx)
	if err != nil {
		return task.Page{}, err
	}
	return gate.List(ctx, query)
}
