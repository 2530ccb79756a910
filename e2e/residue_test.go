//go:build unix

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	residueProbes    = 120 // of each transport in make check
	residueSoak      = 170 // of each transport, times COUNTERSIGN_SOAK
	residueAtOnce    = 4
	residueLongest   = 60 * time.Millisecond // until a probe is interrupted or its time is up
	residueStall     = 30 * time.Millisecond // how long the server stalls at most
	residueTolerance = time.Minute           // until nothing may be left
)

// TestProbe_leavesNothingBehind runs the program many times against servers of
// the official SDK that keep state and stall now and then, and against one that
// it starts itself and that starts a process of its own. A third of the probes is
// interrupted or runs out of time. What a single process holds for many probes is
// counted in internal/probe.
func TestProbe_leavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(func(*http.Request) *mcp.Server) http.Handler{
		"streamable HTTP": func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) },
		"events":          func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewSSEHandler(get, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			double := newStateful(t, made)
			probeManyTimes(t, "--profile", "protocol", double.url)
			eventually(t, "sessions are left on the server", func() bool { return double.sessions() == 0 })
			eventually(t, "connections are left open", func() bool { return double.connected.Load() == 0 })
		})
	}
	t.Run("a process", func(t *testing.T) {
		t.Parallel()
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		probeManyTimes(t, "--", "sh", "-c", "sleep 600 & "+envDriver+"="+driveStdio+" exec "+own)
	})
}

// probeManyTimes probes again and again. Every third probe ends early.
func probeManyTimes(t *testing.T, asked ...string) {
	t.Helper()
	count := residueProbes
	if factor, err := strconv.Atoi(os.Getenv(envTorture)); err == nil && factor > 1 {
		count = residueSoak * factor
	}
	env := environment(t)
	var early, passed atomic.Int64
	var workers sync.WaitGroup
	for worker := range residueAtOnce {
		workers.Go(func() {
			for i := worker; i < count; i += residueAtOnce {
				after := time.Duration(rand.Int64N(int64(residueLongest)))
				switch i % 6 {
				case 0:
					interrupted(t, env, after, asked...)
					early.Add(1)
				case 3:
					run(t, os.TempDir(), env, append([]string{binary(), "probe", "--timeout", (after + time.Millisecond).String()}, asked...)...)
					early.Add(1)
				default:
					if run(t, os.TempDir(), env, append([]string{binary(), "probe", "--timeout", "60s", "--only", "listTools"}, asked...)...).code == 0 {
						passed.Add(1)
					}
				}
			}
		})
	}
	workers.Wait()
	if want := int64(count) - early.Load(); early.Load() < int64(count)/3 || passed.Load() != want {
		t.Errorf("of %d probes %d ended early and %d passed, want %d", count, early.Load(), passed.Load(), want)
	}
	eventually(t, "processes are left", func() bool { return len(processesIn(t, env[0])) == 0 })
}

// interrupted sends a signal to a probe, and lets it end.
func interrupted(t *testing.T, env []string, after time.Duration, asked ...string) {
	t.Helper()
	probe, err := launch(os.TempDir(), env, append([]string{binary(), "probe", "--timeout", "60s"}, asked...)...)
	if err != nil {
		t.Error(err)
		return
	}
	defer probe.kill()
	<-time.After(after)
	_ = probe.command.Process.Signal([]os.Signal{os.Interrupt, syscall.SIGTERM}[rand.IntN(2)]) // it may have ended by itself
	select {
	case <-probe.ended:
	case <-time.After(residueTolerance):
		t.Errorf("the probe did not end in %v", residueTolerance)
	}
}

// eventually waits for what servers do after their client is gone.
func eventually(t *testing.T, complaint string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(residueTolerance); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(complaint)
		}
	}
}

// stateful is a server that counts what is left on it.
type stateful struct {
	url       string
	server    *mcp.Server
	connected atomic.Int64
}

func newStateful(t *testing.T, made func(func(*http.Request) *mcp.Server) http.Handler) *stateful {
	t.Helper()
	double := &stateful{server: tinyServer()}
	handler := made(func(*http.Request) *mcp.Server { return double.server })
	listening := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		stall(request.Context())
		handler.ServeHTTP(w, request)
	}))
	listening.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			double.connected.Add(1)
		case http.StateClosed, http.StateHijacked:
			double.connected.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	listening.Start()
	t.Cleanup(listening.Close)
	double.url = listening.URL
	return double
}

func (s *stateful) sessions() int {
	count := 0
	for range s.server.Sessions() {
		count++
	}
	return count
}

func tinyServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "1.0.0"}, nil)
	server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}}, nothing)
	return server
}

// nothing is what a tool does whose result does not matter.
func nothing(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// stall holds up one request in five.
func stall(ctx context.Context) {
	if rand.IntN(5) > 0 {
		return
	}
	select {
	case <-time.After(time.Duration(rand.Int64N(int64(residueStall)))):
	case <-ctx.Done():
	}
}

// serveStdio is the test binary as a server over its standard streams.
func serveStdio() error {
	if err := tinyServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return fmt.Errorf("serve over the standard streams: %w", err)
	}
	return nil
}
