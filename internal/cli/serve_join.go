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

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// server is all that serve runs.
type server struct {
	measured measured
	gate     *task.Gate
	overview *task.Overview
	glance   *examiner.Glance
	feed     *feed.Follower
	patrol   *patrol.Patrol
	alerter  *alert.Alerter
	reload   *reloading
	http     *httpapi.Server
	hangups  chan os.Signal
}

// join makes a server of its parts. It is closed when it has run.
func join(ctx context.Context, p *process, begun serving, loaded *config.Config, database *store.Database, measured measured, log *slog.Logger) (*server, error) {
	options := examinerOptions(p, database, log)
	options.Tracer, options.Observer = measured.tracing.Tracer(), measured.metrics
	examined := examiner.New(options)
	if err := examined.Use(ctx, loaded.Registered()); err != nil {
		return nil, err
	}
	made := &server{
		measured: measured, gate: task.NewGate(database, time.Now), overview: task.NewOverview(database),
		glance: examiner.NewGlance(examined), hangups: make(chan os.Signal, 1),
	}
	measured.sources.Overview, measured.sources.glance = made.overview, made.glance
	made.feed = feed.NewFollower(feed.Options{
		Store: database, Now: time.Now, Log: log, Before: refreshing(made.glance), Observer: measured.metrics,
	})
	made.patrol = patrol.New(patrol.Options{
		Name: processName(begun.URL), Store: database, Examiner: examined, Log: log, Observer: measured.metrics, Limits: limitsOf(loaded),
	})
	made.alerter = alert.New(alert.Options{
		Name: processName(begun.URL), URL: begun.URL, Store: database.Alerts(), Feed: database, Registry: examined, History: database,
		Settings: loaded.Alerts, Resolve: p.resolver().Resolve, Now: time.Now, Log: log, Observer: measured.metrics,
	})
	made.reload = &reloading{
		running: loaded, examiner: examined, patrol: made.patrol, alerter: made.alerter, metrics: measured.metrics, log: log, resolve: p.resolver(),
	}
	var err error
	if made.http, err = made.endpoints(begun, database, log); err != nil {
		return nil, err
	}
	signal.Notify(made.hangups, syscall.SIGHUP)
	return made, nil
}

// refreshing reads the components of new events anew, before anybody is told.
func refreshing(glance *examiner.Glance) func(context.Context, []feed.Event) {
	return func(ctx context.Context, events []feed.Event) {
		if len(events) == 0 {
			glance.Doubt()
		}
		var names []string
		for _, event := range events {
			if event.Kind == feed.Component {
				names = append(names, event.Subject)
			}
		}
		if len(names) > 0 {
			_ = glance.Refresh(ctx, names) // What could not be read anew is read when it is asked for.
		}
	}
}

// warnOfRedefined tells of each component whose definition a result of this process has
// put back.
func warnOfRedefined(ctx context.Context, log *slog.Logger) func(component string) {
	return func(component string) {
		log.WarnContext(ctx, "a component was defined anew by another process; a result has put the definition of this one back",
			slog.String("component", component),
			slog.String("hint", "Two configuration files are used on this database: give all its processes the same file, or the others a database of their own with --db."))
	}
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

// run serves, patrols, alerts, follows what happens and watches the configuration file
// until ctx is done.
func (s *server) run(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.http.Run(ctx, listener) })
	group.Go(func() error { return s.patrol.Run(ctx) })
	group.Go(func() error { return s.alerter.Run(ctx) })
	group.Go(func() error { return s.glance.Run(ctx) })
	group.Go(func() error { return s.feed.Run(ctx) })
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
