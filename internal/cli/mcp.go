package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

type mcpCommand struct {
	Database databaseFlag `embed:""`
	Agent    agentFlag    `embed:""`
}

// Help is what mcp --help says beyond its one line.
func (*mcpCommand) Help() string {
	return "An MCP client starts it and speaks with it over standard input and output; it ends with its input. " +
		"Every agent runs one of its own, on the same database. The log goes to standard error."
}

// Run serves the client until its input ends or ctx is done. It ends with the
// reason when the database cannot be opened.
func (c *mcpCommand) Run(ctx context.Context, p *process) error {
	caller, err := callerOf(p, c.Agent)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(p.Err, telemetry.Text, slog.LevelInfo)
	if err != nil {
		return err
	}
	outliveReaders()
	gate := &openingGate{opened: make(chan struct{})}
	server := mcpserver.New(gate, mcpserver.Options{Version: version, Caller: caller, Log: log})
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error { return server.ServeStdio(serving, p.In, p.Out) })
	group.Go(func() error {
		if err := gate.open(serving, p, c.Database.DB); err != nil {
			return err
		}
		log.InfoContext(serving, "serving MCP over stdio",
			slog.String("database", gate.database.Location()), slog.String("agent", string(caller.Lock)))
		return nil
	})
	return errors.Join(group.Wait(), gate.close())
}

// openingGate is the task gate on a database that may still be opening: a
// client's handshake does not wait for the turn of this process to write, its
// calls do.
type openingGate struct {
	opened   chan struct{} // closed when the others are set
	database *store.Database
	gate     *task.Gate
	failed   error
}

// open opens the database and lets the calls through, or fail.
func (g *openingGate) open(ctx context.Context, p *process, location string) error {
	defer close(g.opened)
	if g.database, g.failed = openDatabase(ctx, p, location); g.failed != nil {
		return g.failed
	}
	g.gate = task.NewGate(g.database, time.Now)
	return nil
}

// close closes the database, if it was opened.
func (g *openingGate) close() error {
	if g.database == nil {
		return nil
	}
	return g.database.Close()
}

// await returns the gate when the database is open.
func (g *openingGate) await(ctx context.Context) (*task.Gate, error) {
	select {
	case <-g.opened:
		return g.gate, g.failed
	case <-ctx.Done():
		return nil, task.Unavailable(ctx.Err())
	}
}

// Create is that of the gate.
func (g *openingGate) Create(ctx context.Context, caller task.Caller, request task.CreateRequest) (task.Created, error) {
	gate, err := g.await(ctx)
	if err != nil {
		return task.Created{}, err
	}
	return gate.Create(ctx, caller, request)
}

// Claim is that of the gate.
func (g *openingGate) Claim(ctx context.Context, caller task.Caller, request task.ClaimRequest) (task.ClaimRecorded, error) {
	gate, err := g.await(ctx)
	if err != nil {
		return task.ClaimRecorded{}, err
	}
	return gate.Claim(ctx, caller, request)
}

// Verify is that of the gate.
func (g *openingGate) Verify(ctx context.Context, caller task.Caller, request task.VerifyRequest) (task.Decided, error) {
	gate, err := g.await(ctx)
	if err != nil {
		return task.Decided{}, err
	}
	return gate.Verify(ctx, caller, request)
}

// Task is that of the gate.
func (g *openingGate) Task(ctx context.Context, id string) (task.Task, error) {
	gate, err := g.await(ctx)
	if err != nil {
		return task.Task{}, err
	}
	return gate.Task(ctx, id)
}

// List is that of the gate.
func (g *openingGate) List(ctx context.Context, query task.Query) (task.Page, error) {
	gate, err := g.await(ctx)
	if err != nil {
		return task.Page{}, err
	}
	return gate.List(ctx, query)
}
