package probe_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestProbe_passesAServerOfTheOfficialSDKInBothEras(t *testing.T) {
	t.Parallel()
	for era, options := range map[registry.Era]*mcp.StreamableHTTPOptions{
		registry.Modern: {Stateless: true}, registry.Legacy: {},
	} {
		server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
		for _, name := range []string{"scan", "list"} {
			mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		}
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
		got := probed(t, double{mcp: handler.ServeHTTP}.start(t).URL+"/", generous)
		checkGates(t, got, "", "", "")
		if diff := cmp.Diff([]string{"list", "scan"}, got.Tools); diff != "" || got.ListTools.ToolCount != 2 {
			t.Errorf("%s: %d tools (-want +got):\n%s", era, got.ListTools.ToolCount, diff)
		}
		if got.Era != era || got.Server.Name != "tiny" || !strings.HasPrefix(got.ToolsDigest, "sha256:") {
			t.Errorf("got era %q, server %q, digest %q", got.Era, got.Server.Name, got.ToolsDigest)
		}
	}
}

func TestProbe_asksForRequiredTools(t *testing.T) {
	t.Parallel()
	server, err := probe.ParseMCPServer(double{}.start(t).URL, "")
	if err != nil {
		t.Fatal(err)
	}
	server.RequireTools = []string{"noop"}
	checkGates(t, server.Probe(t.Context(), settings(generous)), "", "", "")
	server.RequireTools = []string{"noop", "nmap_scan"}
	got := server.Probe(t.Context(), settings(generous))
	checkGates(t, got, "", "", registry.MissingTool)
	if want := "1 tool, without nmap_scan"; got.ListTools.Detail != want || got.ListTools.ToolCount != 1 {
		t.Errorf("got %q with %d tools, want %q with 1", got.ListTools.Detail, got.ListTools.ToolCount, want)
	}
}

// TestProbe_runsTheGatesAtOnce meets a server that answers nobody before all
// three have asked.
func TestProbe_runsTheGatesAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(3)
	gather := func(then http.HandlerFunc) http.HandlerFunc {
		var once sync.Once
		return func(w http.ResponseWriter, request *http.Request) {
			once.Do(all.Done)
			all.Wait()
			then(w, request)
		}
	}
	url := double{
		healthz: gather(says(200, ``)), test: gather(says(200, `{"ok":true}`)), mcp: gather(script{}.serve),
	}.start(t).URL
	checkGates(t, probed(t, url, generous), "", "", "")
}

func TestProbe_endsItsSessionWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	url := double{healthz: hangs, test: hangs, mcp: script{
		"initialize": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Mcp-Session-Id", "one")
			result(`{"protocolVersion":"2025-11-25"}`).write(w, "2")
		}),
		"tools/list": http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			cancel()
			hangs(w, request)
		}),
		"DELETE": http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
			ended <- request.Header.Get("Mcp-Session-Id")
		}),
	}.serve}.start(t).URL
	server, err := probe.ParseMCPServer(url, "")
	if err != nil {
		t.Fatal(err)
	}
	got := server.Probe(ctx, settings(generous))
	if id := <-ended; id != "one" {
		t.Errorf("the session %q was ended, want one", id)
	}
	checkGates(t, got, registry.Timeout, registry.Timeout, registry.Timeout)
	if !strings.HasPrefix(got.ListTools.Detail, "interrupted while ") || got.SessionsOpened != 1 {
		t.Errorf("got %q with %d sessions opened, want an interruption with 1", got.ListTools.Detail, got.SessionsOpened)
	}
}

func TestProbe_carriesTimeAndTargetAsGiven(t *testing.T) {
	t.Parallel()
	server, err := probe.ParseMCPServer(double{}.start(t).URL+"/", "")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))
	got := server.Probe(t.Context(), probe.Settings{
		Timeout: generous, Version: "test", Now: func() time.Time { return at },
	})
	if !got.ProbedAt.Equal(at) || got.Target != server.Base.String() || got.Profile != registry.ThreeGates {
		t.Errorf("got %v, %q, %q", got.ProbedAt, got.Target, got.Profile)
	}
}
