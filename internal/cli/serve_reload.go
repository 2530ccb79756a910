package cli

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/telemetry"
	"github.com/countersign-dev/countersign/internal/web"
)

// reloading takes a changed configuration file over, whole, or says why not.
type reloading struct {
	running  *config.Config // the one with which serve was started
	resolve  config.Resolver
	examiner *examiner.Examiner
	patrol   *patrol.Patrol
	alerter  *alert.Alerter
	metrics  *telemetry.Metrics
	log      *slog.Logger

	overruled []string                      // the keys of the file in whose place flags were given
	rejection atomic.Pointer[web.Rejection] // nil while the newest file is in force
}

// offer takes a configuration over and reports whether it did; refused is why
// there is none.
func (r *reloading) offer(ctx context.Context, next *config.Config, refused error) bool {
	before := r.examiner.Registered()
	if refused == nil {
		refused = r.examiner.Use(ctx, next.Registered())
	}
	if ctx.Err() != nil {
		return false
	}
	if r.running.File != "" {
		r.metrics.Reloaded(refused == nil)
	}
	if refused != nil {
		r.reject(ctx, refused)
		return false
	}
	r.patrol.Limit(limitsOf(next))
	r.patrol.Reload()
	r.alerter.Reload(next.Alerts)
	r.rejection.Store(nil)
	changed := changesBetween(before, next.Registered())
	r.log.InfoContext(ctx, "the configuration was taken over", slog.String("config", next.File),
		slog.Int("components", len(next.Components)), slog.Int("added", changed.added), slog.Int("removed", changed.removed),
		slog.Int("changed", changed.changed), slog.Int("slots", len(next.Slots)), slog.Int("runs", len(next.Runs)))
	r.warn(ctx, append(r.running.NeedsRestart(next, r.overruled...), next.Warnings(r.resolve)...))
	return true
}

// warn logs what is valid in a file and yet likely to fail.
func (r *reloading) warn(ctx context.Context, warnings []config.Problem) {
	for _, warning := range warnings {
		r.log.WarnContext(ctx, "the configuration has a warning", slog.String("warning", warning.Error()), slog.String("hint", warning.Hint))
	}
}

// reject says loudly that the newest file is not in force.
func (r *reloading) reject(ctx context.Context, refused error) {
	message, hint := refused.Error(), ""
	var problems []config.Problem
	if coded, ok := fault.Of(refused); ok {
		message, hint = coded.Message, coded.Hint
		problems, _ = coded.Details[config.DetailProblems].([]config.Problem)
	}
	headline, _, _ := strings.Cut(message, "\n")
	r.log.ErrorContext(ctx, "the configuration was rejected; the one before goes on",
		slog.String("config", r.running.File), slog.String("reason", headline), slog.String("hint", hint))
	for _, problem := range problems {
		r.log.ErrorContext(ctx, "a problem of the configuration", slog.String("problem", problem.Error()), slog.String("hint", problem.Hint))
	}
	if r.running.File != "" {
		r.rejection.Store(&web.Rejection{File: r.running.File, Message: message, Since: time.Now()})
	}
}

// registeredChanges counts components.
type registeredChanges struct{ added, removed, changed int }

// changesBetween tells how one registered set differs from the one before.
func changesBetween(before, after *registry.Registered) registeredChanges {
	known := make(map[string]*registry.Component, len(before.Components))
	for i := range before.Components {
		known[before.Components[i].Name] = &before.Components[i]
	}
	var found registeredChanges
	for i := range after.Components {
		component := &after.Components[i]
		old, ok := known[component.Name]
		switch {
		case !ok:
			found.added++
		case !sameComponent(old, component):
			found.changed++
		}
		delete(known, component.Name)
	}
	found.removed = len(known)
	return found
}

// sameComponent compares what a component is, and how it is probed.
func sameComponent(a, b *registry.Component) bool {
	first, err := a.Definition()
	second, other := b.Definition()
	return err == nil && other == nil && first == second && a.Policy() == b.Policy() && a.Timeout == b.Timeout
}
