//go:build unix

package probe_test

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestProbes_leaveNothingBehindOverHTTP probes servers of the official SDK that
// keep state and stall now and then; a third of the probes is cancelled or runs
// out of time. It is not parallel, because it counts what this process holds.
func TestProbes_leaveNothingBehindOverHTTP(t *testing.T) {
	for name, made := range map[string]func(func(*http.Request) *mcp.Server) http.Handler{
		"events":   func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewSSEHandler(get, nil) },
		"stateful": func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			files, goroutines := openFiles(t), runtime.NumGoroutine()
			server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
			server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			var connected atomic.Int64
			listening := httptest.NewUnstartedServer(stalling(made(func(*http.Request) *mcp.Server { return server })))
			listening.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					connected.Add(1)
				case http.StateClosed, http.StateHijacked:
					connected.Add(-1)
				case http.StateActive, http.StateIdle:
				}
			}
			listening.Start()
			torture(t, listening.URL)
			eventually(t, "connections are left open", func() bool { return connected.Load() == 0 })
			eventually(t, "sessions are left on the server", func() bool {
				for range server.Sessions() {
					return false
				}
				return true
			})
			listening.Close()
			eventually(t, "files are left open", func() bool { return openFiles(t) <= files })
			eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
		})
	}
}

// stalling lets one request in five wait for up to 40 ms.
func stalling(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if rand.IntN(5) == 0 {
			select {
			case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
			case <-request.Context().Done():
			}
		}
		next.ServeHTTP(w, request)
	}
}

// torture makes many probes of an endpoint, eight at a time.
func torture(t *testing.T, endpoint string) {
	t.Helper()
	target, err := probe.ParseEndpoint(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	target.Canary = &registry.Canary{Tool: "noop", Force: true}
	with := settings(generous)
	with.Eras = mcpwire.NewEras()
	var opened, closed, ended atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 25 * soak(t) {
				ctx, cancel := context.WithCancel(t.Context())
				mine := with
				switch rand.IntN(6) {
				case 0:
					time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, cancel)
				case 1:
					mine.Timeout = time.Duration(1+rand.IntN(30)) * time.Millisecond
				}
				got := target.Probe(ctx, mine)
				cancel()
				opened.Add(int64(got.SessionsOpened))
				closed.Add(int64(got.SessionsClosed))
				if !got.ListTools.OK {
					ended.Add(1)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d sessions opened, %d closed, %d probes ended early", opened.Load(), closed.Load(), ended.Load())
	if opened.Load() == 0 || opened.Load() != closed.Load() || ended.Load() == 0 {
		t.Error("the torture opened no session, left one open or ended no probe early")
	}
}
