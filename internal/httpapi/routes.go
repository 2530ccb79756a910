package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/fault"
)

// Paths that others need to know.
const (
	PathMCP      = "/mcp"
	PathRegistry = "/mcp/registry"
	PathHealthz  = "/healthz"
	PathTest     = "/test"
	PathMetrics  = "/metrics"
	PathEvents   = pathV1 + "/events"
	PathOpenAPI  = pathV1 + pathDocument

	pathHealth = "/health" // the alias of PathHealthz
	pathAPI    = "/api/"
	pathAssets = "/assets/"
)

// The server's own /test answers well within the ten seconds that a probe gives
// it, and is nearly as fresh as the question, since its check is cheap.
const (
	testAge  = time.Second
	testTime = 5 * time.Second
)

// routes is every route of the server but its gates, which are mounted by the
// public kit.
func (s *Server) routes(ending <-chan struct{}) (map[string]http.Handler, error) {
	routes := map[string]http.Handler{PathMCP: places(maxCalls).bounded(s.options.MCP)}
	if s.options.Registry != nil {
		routes[PathRegistry] = places(maxCalls).bounded(s.options.Registry) // its long calls take no place of the others
	}
	if s.options.Metrics != nil {
		routes["GET "+PathMetrics] = places(maxScrapes).bounded(s.options.Metrics)
	}
	shown, probed := s.pagePlaces(maxPages), s.pagePlaces(maxPageProbes)
	for pattern, page := range s.options.Pages {
		room := probed
		if strings.HasPrefix(pattern, http.MethodGet+" ") {
			room = shown
		}
		routes[pattern] = room.bounded(asPage(page))
	}
	if s.options.API == nil {
		return routes, nil
	}
	api := *s.options.API
	api.Version = cmp.Or(api.Version, s.options.Version)
	api.Log = cmp.Or(api.Log, s.options.Log)
	mounted, err := api.mounted(ending)
	maps.Copy(routes, mounted)
	return routes, err
}

// pagePlaces is room for so many pages, with a page for who finds none.
func (s *Server) pagePlaces(limit int) room {
	room := places(limit)
	if s.options.Busy != nil {
		room.full = asPage(s.options.Busy)
	}
	return room
}

// handler joins the routes and puts the guards before them. Streams end when
// ending is closed.
func (s *Server) handler(ending <-chan struct{}, place place) (http.Handler, error) {
	routes, err := s.routes(ending)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		mux.Handle(pattern, handler)
	}
	gates.Mount(mux, gates.Options{
		Service:      s.options.Service,
		Version:      s.options.Version,
		Dependencies: s.options.Dependencies,
		CacheFor:     testAge,
		Timeout:      cmp.Or(s.options.TestTime, testTime),
	})
	guarded := s.hurried(s.lively(s.explained(mux)))
	guarded = secured(addressed(place, guarded))
	return s.paced(s.logged(s.recovered(guarded))), nil
}

// lively answers the gate healthz itself while the server says that it is dead.
func (s *Server) lively(next http.Handler) http.Handler {
	if s.options.Alive == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isGate := r.URL.Path == PathHealthz || r.URL.Path == pathHealth
		if !isGate || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		err := s.options.Alive()
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		// A client that has gone cannot be told.
		_ = json.NewEncoder(w).Encode(struct {
			Status  string `json:"status"`
			Service string `json:"service"`
			Version string `json:"version"`
			Detail  string `json:"detail"`
		}{"down", s.options.Service, s.options.Version, err.Error()})
	})
}

// explained answers what no route takes with a problem.
func (s *Server) explained(mux *http.ServeMux) http.Handler {
	hint := s.hint()
	var missing http.Handler
	if s.options.Missing != nil {
		missing = s.pagePlaces(maxPages).bounded(as404(asPage(s.options.Missing)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		missed := &miss{header: w.Header()}
		mux.ServeHTTP(missed, r)
		if missed.status == http.StatusMethodNotAllowed {
			problem(w, missed.status, fault.New(fault.InvalidArgument, "this path does not take %s", r.Method).
				WithHint("It takes %s.", w.Header().Get("Allow")))
			return
		}
		if missing != nil && prefersHTML(r) && !strings.HasPrefix(r.URL.Path, pathAPI) {
			missing.ServeHTTP(w, r)
			return
		}
		refused := fault.New(fault.NotFound, "nothing is served at this path").WithHint("%s", hint)
		if s.options.API != nil && strings.HasPrefix(r.URL.Path, pathAPI) {
			refused = refused.WithHint("%s", hintAPI)
		}
		problem(w, http.StatusNotFound, refused)
	})
}

// hintAPI says where the paths of the API stand.
const hintAPI = pathV1 + pathDocument + " describes the API."

// hint names what is served.
func (s *Server) hint() string {
	endpoints, served := PathMCP, PathHealthz+" and "+PathTest
	if s.options.Registry != nil {
		endpoints += " (tasks) and " + PathRegistry + " (components)"
	}
	if s.options.Metrics != nil {
		served = PathHealthz + ", " + PathTest + " and " + PathMetrics
	}
	hint := fmt.Sprintf("MCP clients use %s; there are also %s.", endpoints, served)
	if s.options.API != nil {
		hint += " " + hintAPI
	}
	if len(s.options.Pages) > 0 {
		hint += " See / for more."
	}
	return hint
}

// miss takes the headers and the status of a refusal, not its text.
type miss struct {
	header http.Header
	status int
}

func (m *miss) Header() http.Header         { return m.header }
func (m *miss) Write(p []byte) (int, error) { return len(p), nil }
func (m *miss) WriteHeader(status int)      { m.status = status }
