package httpapi

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/fault"
)

// Paths that others need to know.
const (
	PathMCP     = "/mcp"
	PathHealthz = "/healthz"
	PathTest    = "/test"
)

// The server's own /test answers well within the ten seconds that a probe gives
// it, and is nearly as fresh as the question, since its check is cheap.
const (
	testAge  = time.Second
	testTime = 5 * time.Second
)

// routes is every route of the server but its gates, which are mounted by the
// public kit.
func (s *Server) routes() map[string]http.Handler {
	return map[string]http.Handler{
		PathMCP:        bounded(maxCalls, s.options.MCP),
		"GET /{$}":     s.options.Pages,
		"GET /assets/": s.options.Pages,
	}
}

// handler joins the routes and puts the guards before them; port is the one that
// the server listens on.
func (s *Server) handler(port uint16) http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range s.routes() {
		mux.Handle(pattern, handler)
	}
	gates.Mount(mux, gates.Options{
		Service:      "countersign",
		Version:      s.options.Version,
		Dependencies: s.options.Dependencies,
		CacheFor:     testAge,
		Timeout:      testTime,
	})
	guarded := s.hurried(explained(mux))
	guarded = secured(addressed(port, guarded))
	return s.logged(s.recovered(guarded))
}

// explained answers what no route takes with a problem.
func explained(mux *http.ServeMux) http.Handler {
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
		problem(w, http.StatusNotFound, fault.New(fault.NotFound, "nothing is served at this path").
			WithHint("See / for what is served; MCP clients use %s.", PathMCP))
	})
}

// miss takes the headers and the status of a refusal, not its text.
type miss struct {
	header http.Header
	status int
}

func (m *miss) Header() http.Header         { return m.header }
func (m *miss) Write(p []byte) (int, error) { return len(p), nil }
func (m *miss) WriteHeader(status int)      { m.status = status }
