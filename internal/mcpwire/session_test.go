package mcpwire_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// soak multiplies the size of a torture; COUNTERSIGN_SOAK sets it.
func soak(t *testing.T) int {
	t.Helper()
	factor, err := strconv.Atoi(os.Getenv("COUNTERSIGN_SOAK"))
	if err != nil || factor < 1 {
		return 1
	}
	return factor
}

// TestClose_leavesNoSessionBehind probes a stateful server that stalls now and
// then, so that some probes end in time-outs and cancellations at every point.
func TestClose_leavesNoSessionBehind(t *testing.T) {
	server := sdkServer(20)
	stateful := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var late atomic.Int64
	endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost && rand.IntN(4) == 0 {
			late.Add(1)
			wait(request.Context(), time.Duration(rand.IntN(60))*time.Millisecond)
		}
		stateful.ServeHTTP(w, request)
	}))
	baseline := runtime.NumGoroutine()
	var opened, closed, ended atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 50 * soak(t) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(5+rand.IntN(100))*time.Millisecond)
				if rand.IntN(3) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, cancel)
				}
				_, report, err := ask(ctx, endpoint)
				cancel()
				opened.Add(int64(report.SessionsOpened))
				closed.Add(int64(report.SessionsClosed))
				if err != nil {
					ended.Add(1)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d sessions opened, %d probes ended early, %d requests were late", opened.Load(), ended.Load(), late.Load())
	if opened.Load() == 0 || ended.Load() == 0 {
		t.Error("the torture opened no session or ended no probe early")
	}
	if opened.Load() != closed.Load() {
		t.Errorf("%d sessions opened, %d closed", opened.Load(), closed.Load())
	}
	eventually(t, "sessions are left on the server", func() bool {
		for range server.Sessions() {
			return false
		}
		return true
	})
	eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= baseline+4 })
}

// wait lets time pass for a request that is meant to be late.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// eventually waits for a condition that others bring about.
func eventually(t *testing.T, complaint string, holds func() bool) {
	t.Helper()
	ctx := within(t, 30*time.Second)
	for !holds() {
		if ctx.Err() != nil {
			t.Fatal(complaint)
		}
		wait(ctx, 10*time.Millisecond)
	}
}

func TestClose_learnsTheSessionOfAnInterruptedHandshake(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	reached := make(chan struct{})
	proceed := make(chan struct{})
	endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method == http.MethodDelete:
			if request.Header.Get("Mcp-Session-Id") == "late-1" {
				close(ended)
			}
		case request.Header.Get("Mcp-Method") != "":
			w.WriteHeader(http.StatusNotFound)
		default:
			close(reached)
			<-proceed
			w.Header().Set("Mcp-Session-Id", "late-1")
			w.WriteHeader(http.StatusOK)
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	client := mcpwire.New(mcpwire.Target{Endpoint: endpoint}, mcpwire.Settings{Identity: mcpwire.Identity{Name: "countersign", Version: "test"}})
	go func() {
		<-reached
		cancel()
	}()
	if err := client.Handshake(ctx); err == nil {
		t.Fatal("the handshake outlived its context")
	}
	close(proceed)
	client.Close(ctx)
	<-ended
	if report := client.Report(); report.SessionsOpened != 1 || report.SessionsClosed != 1 {
		t.Errorf("%d opened, %d closed, want 1 and 1", report.SessionsOpened, report.SessionsClosed)
	}
}

func TestClose_isNotHeldUpByAServerThatHangsOrRefuses(t *testing.T) {
	t.Parallel()
	server := sdkServer(1)
	stateful := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	for name, onDelete := range map[string]http.HandlerFunc{
		"hangs":     func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() },
		"405":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"500":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hangs up":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if request.Method == http.MethodDelete {
					onDelete(w, request)
					return
				}
				stateful.ServeHTTP(w, request)
			}))
			names, report, err := ask(within(t, time.Minute), endpoint)
			if err != nil || len(names) != 1 || report.SessionsOpened != 1 || report.SessionsClosed != 1 {
				t.Errorf("got %q, %d opened, %d closed, %v; want one tool, 1, 1, no error",
					names, report.SessionsOpened, report.SessionsClosed, err)
			}
		})
	}
}
