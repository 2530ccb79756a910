package cli

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

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
		ForTasks:  begun.forTasks, ForRegistry: begun.forRegistry,
		Source:    begun.source(),
		Rejected:  s.reload.rejection.Load,
		Receivers: s.receivers, LongWait: s.alerter.ClaimWaits, After: s.after,
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
	busy, err := web.Busy(shown)
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
		Busy:    busy,
		Dependencies: []gates.Dependency{
			gates.Required("database", databaseProof(database, log)),
			gates.Required("patrol", gates.Func(s.patrol.Health)),
		},
		Log:      log,
		Tracer:   tracer,
		Observer: s.measured.metrics.OverHTTP(),
	}), nil
}

// source is the configuration file as pages tell of it.
func (s serving) source() web.Source {
	if s.Config != "" {
		return web.Source{File: wholePath(s.Config)}
	}
	looked := make([]string, len(s.lookedFor))
	for i, place := range s.lookedFor {
		looked[i] = wholePath(place)
	}
	return web.Source{LookedFor: looked}
}

// after is where the stream of events stands; empty while it has yet to begin.
func (s *server) after() string {
	if head, known := s.feed.Head(); known {
		return head.String()
	}
	return ""
}

// asStarted adds the flags without which commands that read the configuration file
// would, in another folder, find another one or none, or another database than this
// server: its file, wherever that was found, and the database when a flag named it.
func (s serving) asStarted(file string, database bool) serving {
	named := ""
	if database {
		named = s.Database
	}
	s.forRegistry = strings.TrimSpace(registryArguments(file, named))
	return s
}

// registryArguments names a configuration file and a database in a command, each behind
// a space; what is empty is left out.
func registryArguments(file, database string) (arguments string) {
	if file != "" {
		arguments = " --config " + forShellWord(wholePath(file))
	}
	if database != "" {
		arguments += " " + databaseArgument(database)
	}
	return arguments
}

// databaseArgument names a database in a command.
func databaseArgument(database string) string {
	if !isURL(database) {
		database = wholePath(database)
	}
	return "--db " + forShellWord(database)
}

// wholePath is a path as it reads in every folder.
func wholePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// bareWord is a text that every shell takes for one word as it is.
var bareWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`) })

// forShellWord is a text as one word for a shell.
func forShellWord(text string) string {
	if bareWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// receivers are those who are told of alerts, as the pages show them.
func (s *server) receivers() []web.Receiver {
	var shown []web.Receiver
	for _, each := range s.alerter.ReceiverStates() {
		made := web.Receiver{
			Name: each.Receiver, Kind: "a webhook", FailingSince: each.FailingSince, Failures: each.Failures, Reason: each.Reason, Hint: each.Hint,
		}
		if each.Protocol == alert.Alertmanager {
			made.Kind = "an Alertmanager"
		}
		shown = append(shown, made)
	}
	return shown
}
