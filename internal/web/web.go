// Package web owns the pages: what a person sees who opens the server in a
// browser.
//
// It must not know how anything is kept or served: what it shows is read through
// the interfaces of Options. Its one idea is that a page is whole without
// scripts, shows untrusted text as text, and loads nothing from elsewhere.
package web

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

//go:embed assets templates
var files embed.FS

// Options are what the pages tell of, and whom they ask.
type Options struct {
	Version string
	URL     string // of the server, without a trailing slash
	// Configurations of MCP clients, ready to paste.
	OverHTTP  string
	OverStdio string
	Registry  RegistryClients
	// What commands that are printed have to be given beside their words, ready for a
	// shell, without passwords: those about tasks, and those that read the configuration
	// file. Empty where they find both by themselves.
	ForTasks, ForRegistry string
	Source                Source
	// Rejected returns what became of the configuration file while the server runs;
	// nil while the newest one is in force. A nil function always does. It is called
	// for each page and returns at once.
	Rejected func() *Rejection
	// Receivers returns who is told of alerts; nil when nobody is. A nil function
	// returns nobody. It is called for a page and returns at once.
	Receivers func() []Receiver
	// LongWait returns after how long a claim without a verdict is marked, as it is
	// alerted; 0, and a nil function, for LongWait. It is called for a page and
	// returns at once.
	LongWait func() time.Duration

	// After returns the place in the stream of events of which a page that is read from
	// now on shows everything before it; empty while there is none. A nil function
	// returns none. It is called for each page and returns at once.
	After func() string

	// Whom the pages ask. The pages of what is nil are not served.
	Tasks  Tasks
	Agents Agents
	Fleet  Fleet
	Runs   Runs

	Now func() time.Time // nil for time.Now
	Log *slog.Logger     // nil to log nothing
}

// RegistryClients are configurations of orchestrators, ready to paste.
type RegistryClients struct {
	OverHTTP  string
	OverStdio string // empty for none
}

// Source is the configuration file that the server reads; without one, where it looked
// for one when it was started. Both are whole paths.
type Source struct {
	File      string // empty for none
	LookedFor []string
}

// Rejection is a configuration file that was changed and not taken over.
type Rejection struct {
	File    string    // its path
	Message string    // every problem; untrusted text of several lines, without secrets
	Since   time.Time // when it was rejected
}

// Tasks is the task gate as the pages read it. The faults are those of task.Gate.
type Tasks interface {
	// Task returns a task whole. Faults: NotFound, Unavailable.
	Task(ctx context.Context, id string) (task.Task, error)
	// TaskOnRecord returns a task held against its record, with its transitions.
	// Faults: NotFound, Unavailable, Internal when the record was altered.
	TaskOnRecord(ctx context.Context, id string) (task.Task, []task.Transition, error)
	// List returns one page of tasks. Faults: InvalidArgument, InvalidAgentID,
	// NotFound, Unavailable.
	List(ctx context.Context, query task.Query) (task.Page, error)
}

// Agents is what was counted of all tasks and agents.
type Agents interface {
	// Tally returns what was counted of all transitions. Fault: Unavailable.
	Tally(ctx context.Context) (task.Tally, error)
	// Oldest returns since when the oldest open tasks wait. Fault: Unavailable.
	Oldest(ctx context.Context) (task.Oldest, error)
	// Agents lists agents. Faults: InvalidArgument, Unavailable.
	Agents(ctx context.Context, query task.AgentQuery) (task.AgentPage, error)
	// Agent tells of one agent. Faults: InvalidAgentID, NotFound, Unavailable.
	Agent(ctx context.Context, id string) (task.AgentView, error)
	// Lineage returns a task with what it supersedes and is superseded by, newest
	// first. Faults: NotFound, Unavailable.
	Lineage(ctx context.Context, id string) ([]task.Summary, error)
}

// Fleet is the registered components.
type Fleet interface {
	// Registered is the set that counts; it is not to be changed.
	Registered() *registry.Registered
	// Attention returns up to limit components that need attention, the most
	// pressing first, and the counts of all. Fault: Unavailable.
	Attention(ctx context.Context, limit int) (registry.Attention, error)
	// Components returns one page of components. Faults: InvalidArgument, Unavailable.
	Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error)
	// Component tells all of one component. Faults: NotFound, Unavailable.
	Component(ctx context.Context, name string) (registry.ComponentView, error)
	// Results returns one page of its results, newest first. Faults: NotFound,
	// InvalidArgument, Unavailable.
	Results(ctx context.Context, component string, query registry.ResultQuery) (registry.ResultPage, error)
	// Result returns one result whole. Faults: NotFound, Unavailable.
	Result(ctx context.Context, id string) (registry.KeptResult, error)
	// Recent returns the latest results of each component, oldest first. Fault:
	// Unavailable.
	Recent(ctx context.Context, names []string) (map[string][]registry.RecentResult, error)
	// Probe probes a component now and records the result. Faults: NotFound,
	// Unavailable.
	Probe(ctx context.Context, name string) (registry.Examination, error)
}

// Runs is what may be started.
type Runs interface {
	// RunPage returns one page of runs. Faults: InvalidArgument, Unavailable.
	RunPage(ctx context.Context, query registry.PageQuery) (registry.RunPage, error)
	// RunView tells all of one run. Faults: NotFound, Unavailable.
	RunView(ctx context.Context, name string) (registry.RunView, error)
	// Preflights returns one page of the preflights of a run, newest first. Faults:
	// NotFound, InvalidArgument, Unavailable.
	Preflights(ctx context.Context, run string, query registry.PageQuery) (registry.PreflightPage, error)
}

// Pages returns the handlers of all pages and of the files that they load, by
// their patterns for http.ServeMux. It fails when a template cannot be used.
func Pages(options Options) (map[string]http.Handler, error) {
	s, err := newSite(options)
	if err != nil {
		return nil, err
	}
	handlers := map[string]http.Handler{}
	if err := s.addPages(handlers); err != nil {
		return nil, err
	}
	if err := addAssets(handlers); err != nil {
		return nil, err
	}
	if options.Fleet != nil {
		handlers[patternProbe] = http.HandlerFunc(s.probeNow)
	}
	return handlers, nil
}

// Missing returns the page for a path at which nothing is.
func Missing(options Options) (http.Handler, error) {
	s, err := newSite(options)
	if err != nil {
		return nil, err
	}
	nothing := fault.New(fault.NotFound, "nothing is served at this path").WithHint("The pages above lead to everything there is.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, "", nothing) }), nil
}

// Busy returns the page for a request that finds no place beside the others. It reads
// nothing, and is not logged as a fault.
func Busy(options Options) (http.Handler, error) {
	s, err := newSite(options)
	if err != nil {
		return nil, err
	}
	const heading = "Too many at once"
	busy := frame{Title: heading, Status: http.StatusServiceUnavailable, Content: failure{
		Heading: heading, Message: "as many pages and probes are being made as this server makes at once",
		Hint: "Nothing was done. Load the page again in a second.", Code: fault.Unavailable,
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.write(w, r, s.failed, busy) }), nil
}
