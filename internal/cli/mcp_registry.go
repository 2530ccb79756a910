package cli

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/registry"
)

// serveRegistry serves the registry's tools to one client.
func (c *mcpCommand) serveRegistry(ctx context.Context, p *process, tracer trace.Tracer, log *slog.Logger) error {
	if c.Agent.AgentID != nil {
		return fault.New(fault.InvalidArgument, "the registry knows no agents").
			With(fault.Field, "--agent-id").WithHint("Leave out --agent-id, or --registry.")
	}
	loaded, err := c.components().load(p)
	if err != nil {
		return err
	}
	outliveReaders()
	served := &openingRegistry{opened: newOpening[*examining](), trim: func(examined *examining) {
		if err := examined.trim(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "the history could not be trimmed", slog.Any("cause", err))
		}
	}}
	server := mcpserver.NewRegistry(served, mcpserver.Options{Version: version, Log: log, Tracer: tracer})
	return served.opened.serve(ctx, p, server, log, func(ctx context.Context) (opened[*examining], error) {
		examined, err := c.components().open(ctx, p, loaded, openDatabase, log)
		if err != nil {
			return opened[*examining]{}, err
		}
		examined.Tracer = tracer
		log.InfoContext(ctx, "serving the registry over MCP on stdio", slog.String("config", examined.loaded.File),
			slog.String("database", examined.database.Location()), slog.Int("components", len(examined.loaded.Components)))
		return opened[*examining]{use: examined, close: func() error {
			served.trimming.Wait()
			return examined.database.Close()
		}}, nil
	})
}

// openingRegistry is the registry on a database that may still be opening. Who only
// reads writes nothing there.
type openingRegistry struct {
	opened *opening[*examining]
	trim   func(*examining)

	lock      sync.Mutex
	recording bool // what the file registers is registered in the database
	trimming  sync.WaitGroup
}

// recorder is the examiner for what is to be recorded: with the first of it what the
// file registers is registered, and beside it the history is trimmed.
func (r *openingRegistry) recorder(ctx context.Context) (*examining, error) {
	examined, err := r.opened.await(ctx)
	if err != nil {
		return nil, err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.recording {
		return examined, nil
	}
	if err := examined.register(ctx); err != nil {
		return nil, err
	}
	r.recording = true
	r.trimming.Go(func() { r.trim(examined) })
	return examined, nil
}

// Components is that of the examiner.
func (r *openingRegistry) Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	examined, err := r.opened.await(ctx)
	if err != nil {
		return registry.ComponentPage{}, err
	}
	return examined.Components(ctx, query)
}

// Component is that of the examiner.
func (r *openingRegistry) Component(ctx context.Context, name string) (registry.ComponentView, error) {
	examined, err := r.opened.await(ctx)
	if err != nil {
		return registry.ComponentView{}, err
	}
	return examined.Component(ctx, name)
}

// Probe is that of the examiner.
func (r *openingRegistry) Probe(ctx context.Context, name string) (registry.Examination, error) {
	examined, err := r.recorder(ctx)
	if err != nil {
		return registry.Examination{}, err
	}
	return examined.Probe(ctx, name)
}

// Preflight is that of the examiner.
func (r *openingRegistry) Preflight(ctx context.Context, run string) (registry.Preflight, error) {
	examined, err := r.recorder(ctx)
	if err != nil {
		return registry.Preflight{}, err
	}
	return examined.Preflight(ctx, run)
}

// Runs is that of the examiner.
func (r *openingRegistry) Runs(ctx context.Context) ([]string, error) {
	examined, err := r.opened.await(ctx)
	if err != nil {
		return nil, err
	}
	return examined.Runs(ctx)
}
