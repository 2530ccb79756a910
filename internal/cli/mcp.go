package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

type mcpCommand struct {
	Config   string    `help:"Configuration file of the registry, with --registry. By default ./countersign.yaml, else countersign/countersign.yaml below XDG_CONFIG_HOME or ~/.config." name:"config" placeholder:"FILE"`
	DB       string    `help:"Database: a SQLite file or a postgres:// URL. By default one file for this user; with --registry that of the configuration file comes first." name:"db" placeholder:"FILE|URL"`
	Agent    agentFlag `embed:""`
	Registry bool      `help:"Serve the registry instead of the task gate: list, read and probe components, and ask whether a run may start."`
}

// Help is what mcp --help says beyond its one line.
func (*mcpCommand) Help() string {
	return "An MCP client starts it and speaks with it over standard input and output; it ends with its input. " +
		"Every agent runs one of its own, on the same database, which --db names: the task gate reads no configuration file, so that a key db in one does not count. " +
		"The log goes to standard error. With --registry the tools are those of an orchestrator: list_components, get_component, probe_component and preflight, about what the " +
		"configuration file registers; it is read once, at the start."
}

// components are the flags as the commands about components have them.
func (c *mcpCommand) components() registryFlags {
	return registryFlags{File: configFlag{Config: c.Config}, Database: registryDatabaseFlag{DB: c.DB}}
}

// Run serves the client until its input ends or ctx is done. It ends with the
// reason when the database cannot be opened.
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
	return serveWhileOpening(ctx, p, server, gate.opened.need, func(ctx context.Context) (io.Closer, error) {
		database, err := gate.open(ctx, p, c.DB)
		if err != nil {
			return nil, err
		}
		log.InfoContext(ctx, "serving MCP over stdio",
			slog.String("database", database.Location()), slog.String("agent", string(caller.Lock)))
		return database, nil
	})
}

// headStart is how long the handshake of a client has the processors to itself:
// then the database is opened, unless a call needed it sooner.
const headStart = 50 * time.Millisecond

// serveWhileOpening serves a client over stdio while what the server needs is
// opened, which is closed again at the end. It is opened also for a client whose
// input ends at once, so that what cannot be opened is told.
func serveWhileOpening(ctx context.Context, p *process, server *mcpserver.Server, needed *need, open func(context.Context) (io.Closer, error)) error {
	var opened io.Closer
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer needed.now()
		return server.ServeStdio(serving, p.In, p.Out)
	})
	group.Go(func() (err error) {
		isNeeded := needed.await(serving, headStart)
		if opened, err = open(serving); !isNeeded {
			return nil
		}
		return err
	})
	err := group.Wait()
	if opened != nil {
		err = errors.Join(err, opened.Close())
	}
	return err
}

// need is told when something is needed. It is safe for concurrent use.
type need struct {
	now  func()        // says so, as often as one likes
	told chan struct{} // closed when it was said
}

func newNeed() *need {
	told := make(chan struct{})
	return &need{now: sync.OnceFunc(func() { close(told) }), told: told}
}

// await returns when there is need, of which it takes a time for a sign too. It
// reports false when ctx ends before.
func (n *need) await(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-n.told:
	case <-timer.C:
		n.now()
	case <-ctx.Done():
	}
	select {
	case <-n.told:
		return true
	default:
		return false
	}
}

// opening is something that may still be opening: a client's handshake does not
// wait for the turn of this process to write to the database, its calls do.
type opening[T any] struct {
	need   *need
	done   chan struct{} // closed when the others are set
	opened T
	failed error
}

func newOpening[T any]() *opening[T] {
	return &opening[T]{need: newNeed(), done: make(chan struct{})}
}

// finish lets those who wait have what was opened, or why it could not be. It is
// called once.
func (o *opening[T]) finish(opened T, failed error) {
	o.opened, o.failed = opened, failed
	close(o.done)
}

// await says that what is opened is needed, and returns it when it is there.
// Fault: Unavailable when ctx ends first.
func (o *opening[T]) await(ctx context.Context) (T, error) {
	o.need.now()
	select {
	case <-o.done:
		return o.opened, o.failed
	case <-ctx.Done():
		var none T
		return none, task.Unavailable(ctx.Err())
	}
}

// openingGate is the task gate on a database that may still be opening.
type openingGate struct{ opened *opening[*task.Gate] }

// open opens the database and lets the calls through, or fail.
func (g *openingGate) open(ctx context.Context, p *process, location string) (*store.Database, error) {
	database, err := openDatabase(ctx, p, location)
	if err != nil {
		g.opened.finish(nil, err)
		return nil, err
	}
	g.opened.finish(task.NewGate(database, time.Now), nil)
	return database, nil
}

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
