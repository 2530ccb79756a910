package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
	"github.com/countersign-dev/countersign/internal/web"
)

// server is all that serve runs.
type server struct {
	http    *httpapi.Server
	patrol  *patrol.Patrol
	reload  *reloading
	hangups chan os.Signal
}

// join makes a server of its parts. It is closed when it has run.
func join(ctx context.Context, p *process, begun serving, loaded *config.Config, database *store.Database, log *slog.Logger) (*server, error) {
	examined := newExaminer(p, database, log)
	if err := examined.Use(ctx, loaded.Registered()); err != nil {
		return nil, err
	}
	seen := newGlance(examined.Readings)
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Version: begun.Version, Readings: seen.look})
	patrols := patrol.New(patrol.Options{
		Name: processName(begun.URL), Store: database, Examiner: examined, Log: log, Observer: metrics, Limits: limitsOf(loaded),
	})
	reload := &reloading{running: loaded, examiner: examined, patrol: patrols, metrics: metrics, log: log, resolve: p.resolver()}
	pages, err := web.Pages(web.Options{
		Version:   begun.Version,
		URL:       begun.URL,
		OverHTTP:  begun.Clients.HTTP.String(),
		OverStdio: begun.Clients.Stdio.String(),
		Registry:  begun.registryClients(),
		Rejected:  reload.rejection.Load,
		Tasks:     task.NewGate(database, time.Now),
		Log:       log,
	})
	if err != nil {
		return nil, err
	}
	protocol := mcpserver.Options{Version: begun.Version, Log: log}
	made := &server{
		http: httpapi.New(httpapi.Options{
			Service:  "countersign",
			Version:  begun.Version,
			MCP:      mcpserver.New(task.NewGate(database, time.Now), protocol).Handler(),
			Registry: mcpserver.NewRegistry(examined, protocol).Handler(),
			Metrics:  metrics.Handler(),
			Pages:    pages,
			Dependencies: []gates.Dependency{
				gates.Required("database", databaseProof(database, log)),
				gates.Required("patrol", gates.Func(patrols.Health)),
			},
			Log: log,
		}),
		patrol: patrols, reload: reload, hangups: make(chan os.Signal, 1),
	}
	signal.Notify(made.hangups, syscall.SIGHUP)
	return made, nil
}

// processName is how other processes on the same database call this one.
func processName(url string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return fmt.Sprintf("%s of process %d on %s", url, os.Getpid(), host)
}

func limitsOf(loaded *config.Config) patrol.Limits {
	return patrol.Limits{Concurrency: loaded.Patrol.Concurrency, PerHost: loaded.Patrol.PerHost, Retention: loaded.Retention}
}

// run serves, patrols and watches the configuration file until ctx is done.
func (s *server) run(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.http.Run(ctx, listener) })
	group.Go(func() error { return s.patrol.Run(ctx) })
	group.Go(func() error {
		config.Watch(ctx, s.reload.running, s.hangups, func(next *config.Config, refused error) bool {
			return s.reload.offer(ctx, next, refused)
		})
		return nil
	})
	return group.Wait()
}

// close lets go of the signals.
func (s *server) close() { signal.Stop(s.hangups) }
