// Package httpapi owns the routes of the HTTP server and what guards them: whom
// it answers, how long and how much it reads, what it logs, and how it ends.
//
// It knows no task and no database: the MCP endpoint, the pages and the checks
// of the server's own gates are given to it. Its one idea is that every request
// passes the same guards before any route sees it.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/gates"
)

// Limits of a connection.
const (
	headerTime     = 5 * time.Second  // for the headers of a request
	bodyTime       = 15 * time.Second // for its body
	answerTime     = 30 * time.Second // for a client to read what one write gave it
	idleTime       = 2 * time.Minute  // between two requests
	drainTime      = 10 * time.Second // for the requests in flight when the server ends
	maxHeaderBytes = 32 << 10
)

// Options is what the server joins.
type Options struct {
	Service  string // what the gates call the server
	Version  string
	MCP      http.Handler // the endpoint at /mcp
	Registry http.Handler // the endpoint at /mcp/registry; nil for none
	Metrics  http.Handler // the metrics at /metrics; nil for none
	API      *API         // what is below /api/v1/; nil for none
	// Pages are the pages and their files by their patterns, such as "GET /tasks";
	// empty for none. A pattern of another method than GET is one that probes.
	Pages map[string]http.Handler
	// Missing is the page for a path that nothing serves, whose status becomes 404; nil
	// for none.
	Missing http.Handler
	// Busy is the page for a browser that asks for a page, or a probe, while too many are
	// being made; nil for a problem. It answers at once, with 503 and Retry-After.
	Busy         http.Handler
	Dependencies []gates.Dependency // what the server's own /test proves
	TestTime     time.Duration      // for each of them; five seconds when zero
	Alive        func() error       // why /healthz is to fail, shown to anyone; nil when the server lives as long as it answers
	Public       bool               // it may listen on addresses that other machines reach
	Hosts        []string           // names by which they call it
	Log          *slog.Logger
	Tracer       trace.Tracer // of requests to the API; nil for none
	Observer     Observer     // nil for none
}

// Server is the HTTP server.
type Server struct {
	options Options
	limits  limits
}

// limits can be shortened by tests.
type limits struct{ header, body, answer, drain time.Duration }

// New returns a server that Run starts.
func New(options Options) *Server {
	if options.Tracer == nil {
		options.Tracer = noop.Tracer{}
	}
	if options.Observer == nil {
		options.Observer = unobserved{}
	}
	return &Server{options: options, limits: limits{header: headerTime, body: bodyTime, answer: answerTime, drain: drainTime}}
}

// Run serves the connections of listener, a TCP listener on a loopback address
// unless the server is public, until ctx is done. It then accepts no more, gives the requests in flight a
// bounded time to end, breaks off those that do not, and returns nil. It closes
// the listener.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	address, err := netip.ParseAddrPort(listener.Addr().String())
	onLoopback := address.Addr().Unmap().IsLoopback()
	if err != nil || !onLoopback && !s.options.Public {
		return errors.Join(fmt.Errorf("serve on %s: not a loopback address", listener.Addr()), listener.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	handler, err := s.handler(ctx.Done(), place{port: address.Port(), public: !onLoopback, names: s.options.Hosts})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: s.limits.header,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
	}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return s.drain(context.WithoutCancel(ctx), server)
	})
	return group.Wait()
}

// drain ends the server within the drain time.
func (s *Server) drain(ctx context.Context, server *http.Server) error {
	s.options.Log.InfoContext(ctx, "draining", slog.String("at_most", s.limits.drain.String()))
	ctx, cancel := context.WithTimeout(ctx, s.limits.drain)
	defer cancel()
	err := server.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.options.Log.WarnContext(ctx, "requests in flight were broken off")
	return server.Close()
}
