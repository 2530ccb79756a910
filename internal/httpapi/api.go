package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

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

// Tasks is the task gate as the API needs it. The fault codes of each method stand
// at task.Gate.
type Tasks interface {
	Create(ctx context.Context, caller task.Caller, request task.CreateRequest) (task.Created, error)
	Claim(ctx context.Context, caller task.Caller, request task.ClaimRequest) (task.ClaimRecorded, error)
	Verify(ctx context.Context, caller task.Caller, request task.VerifyRequest) (task.Decided, error)
	Task(ctx context.Context, id string) (task.Task, error)
	List(ctx context.Context, query task.Query) (task.Page, error)
}

// Agents is what was counted of agents. The fault codes of each method stand at
// task.Overview.
type Agents interface {
	Agents(ctx context.Context, query task.AgentQuery) (task.AgentPage, error)
	Agent(ctx context.Context, id string) (task.AgentView, error)
}

// Components is the registry of components as the API needs it. The fault codes of
// each method stand at examiner.Examiner.
type Components interface {
	Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error)
	Component(ctx context.Context, name string) (registry.ComponentView, error)
	Probe(ctx context.Context, name string) (registry.Examination, error)
	Results(ctx context.Context, component string, query registry.ResultQuery) (registry.ResultPage, error)
	Result(ctx context.Context, id string) (registry.KeptResult, error)
}

// Runs is the registry of runs as the API needs it. The fault codes of each method
// stand at examiner.Examiner.
type Runs interface {
	SlotPage(ctx context.Context, query registry.PageQuery) (registry.SlotPage, error)
	RunPage(ctx context.Context, query registry.PageQuery) (registry.RunPage, error)
	RunView(ctx context.Context, name string) (registry.RunView, error)
	Preflights(ctx context.Context, run string, limit int) ([]registry.KeptPreflight, error)
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
}

// Handler serves the routes of the API below /api/v1/, without the guards of a
// server. Streams end when ending is closed, which may be nil. It fails when the API
// cannot be described.
func (a API) Handler(ending <-chan struct{}) (http.Handler, error) {
	mux := http.NewServeMux()
	patterns, err := a.mounted(ending)
	if err != nil {
		return nil, err
	}
	for pattern, handler := range patterns {
		mux.Handle(pattern, handler)
	}
	return mux, nil
}

// mounted are the routes by their patterns.
func (a API) mounted(ending <-chan struct{}) (map[string]http.Handler, error) {
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	routes := a.routes(ending)
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

// routes is every route of the API.
func (a API) routes(ending <-chan struct{}) []route {
	var all []route
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
	return all
}
