package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// pathV1 is before the path of every route of the API.
const pathV1 = "/api/v1"

// Bounds of what is in flight in the API, each of its own group of routes. Those of
// streams are feed.MaxListeners.
const (
	maxReads  = 128
	maxWrites = 64
	maxProbes = 64
)

// callTime is how long a call may take; one that probes may take
// registry.MaxProbeWait.
const callTime = 30 * time.Second

// Tasks is the task gate as the API needs it.
type Tasks interface {
	// Create makes a pending task. Faults: InvalidArgument, TooLarge, InvalidAgentID,
	// IdempotencyConflict, EmptyCriteria, NotFound, WrongState, AlreadySuperseded,
	// Unavailable.
	Create(ctx context.Context, caller task.Caller, request task.CreateRequest) (task.Created, error)
	// Claim says that a pending task is done. Faults: InvalidArgument, TooLarge,
	// InvalidAgentID, IdempotencyConflict, EmptyEvidence, NotFound, WrongState,
	// Unavailable.
	Claim(ctx context.Context, caller task.Caller, request task.ClaimRequest) (task.ClaimRecorded, error)
	// Verify gives the verdict on a claimed task. Faults: InvalidArgument, TooLarge,
	// InvalidAgentID, IdempotencyConflict, NotFound, WrongState, SelfVerify,
	// MissingNotes, Unavailable.
	Verify(ctx context.Context, caller task.Caller, request task.VerifyRequest) (task.Decided, error)
	// Task returns a task whole. Faults: NotFound, Unavailable.
	Task(ctx context.Context, id string) (task.Task, error)
	// List returns a page of tasks. Faults: InvalidArgument, InvalidAgentID, NotFound,
	// Unavailable.
	List(ctx context.Context, query task.Query) (task.Page, error)
}

// Agents is what was counted of agents.
type Agents interface {
	// Agents lists agents. Faults: InvalidArgument, InvalidAgentID, Unavailable.
	Agents(ctx context.Context, query task.AgentQuery) (task.AgentPage, error)
	// Agent tells of one agent. Faults: InvalidAgentID, NotFound, Unavailable.
	Agent(ctx context.Context, id string) (task.AgentView, error)
}

// Components is the registry of components as the API needs it.
type Components interface {
	// Components returns one page of components. Faults: InvalidArgument, Unavailable.
	Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error)
	// Component tells all of one component. Faults: NotFound, Unavailable.
	Component(ctx context.Context, name string) (registry.ComponentView, error)
	// Probe probes a component now and records the result. Faults: NotFound,
	// Unavailable.
	Probe(ctx context.Context, name string) (registry.Examination, error)
	// Results returns one page of the results of a component, newest first. Faults:
	// NotFound, InvalidArgument, Unavailable.
	Results(ctx context.Context, component string, query registry.ResultQuery) (registry.ResultPage, error)
	// Result returns one result whole. Faults: NotFound, Unavailable.
	Result(ctx context.Context, id string) (registry.KeptResult, error)
}

// Runs is the registry of runs as the API needs it.
type Runs interface {
	// SlotPage returns one page of slots. Faults: InvalidArgument, Unavailable.
	SlotPage(ctx context.Context, query registry.PageQuery) (registry.SlotPage, error)
	// RunPage returns one page of runs. Faults: InvalidArgument, Unavailable.
	RunPage(ctx context.Context, query registry.PageQuery) (registry.RunPage, error)
	// RunView tells all of one run. Faults: NotFound, Unavailable.
	RunView(ctx context.Context, name string) (registry.RunView, error)
	// Preflights returns one page of the preflights of a run, newest first. Faults:
	// NotFound, InvalidArgument, Unavailable.
	Preflights(ctx context.Context, run string, query registry.PageQuery) (registry.PreflightPage, error)
	// Preflight says whether a run may start; that it may not is no fault. Faults:
	// NotFound, Unavailable.
	Preflight(ctx context.Context, run string) (registry.Preflight, error)
}

// Feed is what happens, as it is followed. Fault of Subscribe: Unavailable.
type Feed interface {
	Subscribe(after *feed.Position) (*feed.Subscription, error)
}

// API is what the API is made from. Each part may be missing, and then its routes
// are.
type API struct {
	Version    string // of Countersign; a server fills in its own
	Tasks      Tasks
	Agents     Agents
	Components Components
	Runs       Runs
	Feed       Feed
	Log        *slog.Logger  // nil discards; a server fills in its own
	Tick       time.Duration // how often a stream says that time has passed; 30 seconds when zero

	named map[string]string // the operations with method and path, by the tools that do the same
}

// mounted are the routes by their patterns. Streams end when ending is closed, which
// may be nil. It fails when the API cannot be described.
func (a API) mounted(ending <-chan struct{}) (map[string]http.Handler, error) {
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	routes, named := a.routes(ending)
	a.named = map[string]string{}
	for i := range routes {
		if id, does := named[routes[i].tool]; does {
			a.named[routes[i].tool] = id + " (" + routes[i].method + " " + pathV1 + routes[i].path + ")"
		}
	}
	document, err := describe(a.Version, routes)
	if err != nil {
		return nil, err
	}
	patterns := map[string]http.Handler{"GET " + pathV1 + pathDocument: places(maxReads).bounded(document)}
	for _, root := range []string{"GET " + pathV1, "GET " + pathV1 + "/{$}"} {
		patterns[root] = http.RedirectHandler(pathV1+pathDocument, http.StatusTemporaryRedirect)
	}
	rooms := map[group]room{reads: places(maxReads), writes: places(maxWrites), probes: places(maxProbes)}
	for _, each := range routes {
		handler := a.handled(each)
		if room, bounded := rooms[each.group]; bounded {
			handler = room.bounded(handler)
		}
		patterns[each.method+" "+pathV1+each.path] = handler
	}
	return patterns, nil
}

// routes is every route of the API. named are their operations by the tools that do
// the same, since that is what descriptions name; hints name method and path as well.
func (a API) routes(ending <-chan struct{}) (all []route, named map[string]string) {
	if a.Tasks != nil {
		all = append(all, a.taskRoutes()...)
	}
	if a.Agents != nil {
		all = append(all, a.agentRoutes()...)
	}
	if a.Components != nil {
		all = append(all, a.componentRoutes()...)
	}
	if a.Runs != nil {
		all = append(all, a.runRoutes()...)
	}
	if a.Feed != nil {
		all = append(all, a.eventRoute(ending))
	}
	named = map[string]string{}
	for i := range all {
		if all[i].tool != "" {
			named[all[i].tool] = all[i].id
		}
	}
	for i := range all {
		for _, description := range all[i].descriptions() {
			*description = fault.Named(*description, "call", named)
		}
	}
	return all, named
}
