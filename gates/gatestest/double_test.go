package gatestest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

// double is a server with the kit and the official SDK.
type double struct {
	stateful bool
	toolless bool
	broken   atomic.Bool // something that it needs
	dead     atomic.Bool // it answers nothing any more
	cacheFor time.Duration
}

// handler is the server without what a test changes.
func (d *double) handler() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "double", Version: "1.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	if !d.toolless {
		mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says what it is told."},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Text string }) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: !d.stateful}))
	gates.Mount(mux, gates.Options{Service: "double", Version: "1.0", CacheFor: d.cacheFor, Dependencies: []gates.Dependency{
		gates.Required("index", gates.Func(func(context.Context) error {
			if d.broken.Load() {
				return errors.New("no index")
			}
			return nil
		})),
	}})
	return mux
}

func (d *double) breaking() { d.broken.Store(true) }
func (d *double) repair()   { d.broken.Store(false) }

// start serves around, which is given the handler of the double, until the test
// ends; a dead double drops every connection.
func (d *double) start(t *testing.T, around func(http.Handler) http.Handler) string {
	t.Helper()
	handler := around(d.handler())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
