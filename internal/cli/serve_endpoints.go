package cli

import (
	"log/slog"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/web"
)

// endpoints puts the parts on the routes of one HTTP server.
func (s *server) endpoints(begun serving, database *store.Database, log *slog.Logger) (*httpapi.Server, error) {
	shown := web.Options{
		Version:   begun.Version,
		URL:       begun.URL,
		OverHTTP:  begun.Clients.HTTP.String(),
		OverStdio: begun.Clients.Stdio.String(),
		Registry:  begun.registryClients(),
		Rejected:  s.reload.rejection.Load,
		Receivers: s.receivers, LongWait: s.alerter.ClaimWaits,
		Tasks: s.gate, Agents: s.overview, Fleet: s.glance, Runs: s.glance,
		Log: log,
	}
	pages, err := web.Pages(shown)
	if err != nil {
		return nil, err
	}
	missing, err := web.Missing(shown)
	if err != nil {
		return nil, err
	}
	tracer := s.measured.tracing.Tracer()
	protocol := mcpserver.Options{Version: begun.Version, Log: log, Tracer: tracer, Observer: s.measured.metrics.OverMCP()}
	return httpapi.New(httpapi.Options{
		Service:  programName,
		Version:  begun.Version,
		MCP:      mcpserver.New(s.gate, protocol).Handler(),
		Registry: mcpserver.NewRegistry(s.glance, protocol).Handler(),
		Metrics:  s.measured.metrics.Handler(),
		API: &httpapi.API{
			Version: begun.Version, Tasks: s.gate, Agents: s.overview, Components: s.glance, Runs: s.glance, Feed: s.feed, Log: log,
		},
		Pages:   pages,
		Missing: missing,
		Dependencies: []gates.Dependency{
			gates.Required("database", databaseProof(database, log)),
			gates.Required("patrol", gates.Func(s.patrol.Health)),
		},
		Log:      log,
		Tracer:   tracer,
		Observer: s.measured.metrics.OverHTTP(),
	}), nil
}

// receivers are those who are told of alerts, as the pages show them.
func (s *server) receivers() []web.Receiver {
	var shown []web.Receiver
	for _, each := range s.alerter.Receptions() {
		made := web.Receiver{
			Name: each.Receiver, Kind: "a webhook", FailingSince: each.FailingSince, Failures: each.Failures, Reason: each.Reason,
		}
		if each.Protocol == alert.Alertmanager {
			made.Kind = "an Alertmanager"
		}
		shown = append(shown, made)
	}
	return shown
}
