package mcpwire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// sdkServer is a server of the official SDK with the given number of tools.
func sdkServer(tools int) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, &mcp.ServerOptions{PageSize: 7})
	for i := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("tool-%03d", i), Description: "does nothing"},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
	}
	return server
}

// recorder keeps what a client sent.
type recorder struct {
	http.Handler

	mu   sync.Mutex
	seen []string // "METHOD rpc-method"
	head []http.Header
	body []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &message)
	r.mu.Lock()
	r.seen = append(r.seen, request.Method+" "+message.Method)
	r.head = append(r.head, request.Header.Clone())
	r.body = append(r.body, string(body))
	r.mu.Unlock()
	r.Handler.ServeHTTP(w, request)
}

func start(t *testing.T, handler http.Handler) *url.URL {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return must(url.Parse(server.URL + "/mcp"))(t)
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// ask performs what g3 does and returns everything that it sees.
func ask(ctx context.Context, endpoint *url.URL) ([]string, mcpwire.Report, error) {
	client := mcpwire.New(mcpwire.Target{Endpoint: endpoint}, mcpwire.Settings{Identity: mcpwire.Identity{Name: "countersign", Version: "test"}})
	names, err := list(ctx, client)
	client.Close(ctx)
	return names, client.Report(), err
}

func list(ctx context.Context, client *mcpwire.Client) ([]string, error) {
	if err := client.Handshake(ctx); err != nil {
		return nil, err
	}
	tools, err := client.Tools(ctx)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names, err
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// sdkWays are the ways in which the official SDK serves.
func sdkWays() map[string]mcp.StreamableHTTPOptions {
	return map[string]mcp.StreamableHTTPOptions{
		"stateless, events": {Stateless: true},
		"stateless, JSON":   {Stateless: true, JSONResponse: true},
		"stateful, events":  {},
		"stateful, JSON":    {JSONResponse: true},
	}
}

func TestClient_listsTheToolsOfEveryKindOfSDKServer(t *testing.T) {
	t.Parallel()
	for way, options := range sdkWays() {
		for _, count := range []int{0, 1, 7, 50} {
			t.Run(fmt.Sprintf("%s, %d tools", way, count), func(t *testing.T) {
				t.Parallel()
				server := sdkServer(count)
				seen := &recorder{Handler: mcp.NewStreamableHTTPHandler(
					func(*http.Request) *mcp.Server { return server }, &options)}
				endpoint := start(t, seen)
				names, report, err := ask(within(t, time.Minute), endpoint)
				if err != nil {
					t.Fatalf("list the tools: %v", err)
				}
				if diff := cmp.Diff(sdkAnswer(t, endpoint), names); diff != "" {
					t.Errorf("tools (-SDK's client +ours):\n%s", diff)
				}
				checkReport(t, options.Stateless, report)
			})
		}
	}
}

func checkReport(t *testing.T, stateless bool, report mcpwire.Report) {
	t.Helper()
	want := mcpwire.Report{
		Era: registry.Legacy, ProtocolVersion: "2025-11-25", Server: registry.Server{Name: "tiny", Version: "0.0.1"},
		SessionsOpened: 1, SessionsClosed: 1, Timings: report.Timings, Transport: registry.StreamableHTTP,
		FirstAnswer: "status 200", FirstAnswerAfter: report.FirstAnswerAfter,
	}
	if stateless {
		want.Era, want.ProtocolVersion = registry.Modern, "2026-07-28"
		want.SessionsOpened, want.SessionsClosed = 0, 0
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if report.Timings.HandshakeMs <= 0 || report.Timings.ListMs <= 0 || report.Timings.ConnectMs <= 0 {
		t.Errorf("a phase took no time: %+v", report.Timings)
	}
}

// sdkAnswer is what the SDK's own client lists.
func sdkAnswer(t *testing.T, endpoint *url.URL) []string {
	t.Helper()
	ctx := within(t, time.Minute)
	client := mcp.NewClient(&mcp.Implementation{Name: "oracle", Version: "0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint.String(), DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatalf("connect the SDK's client: %v", err)
	}
	defer func() { _ = session.Close() }()
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatalf("list with the SDK's client: %v", err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func TestClient_sendsNoMoreThanTheEraNeeds(t *testing.T) {
	t.Parallel()
	for way, want := range map[string][]string{
		"stateless, JSON": {"POST server/discover", "POST tools/list"},
		"stateful, events": {
			"POST server/discover", "POST initialize", "POST notifications/initialized", "POST tools/list", "DELETE ",
		},
	} {
		options := sdkWays()[way]
		server := sdkServer(2)
		seen := &recorder{Handler: mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server }, &options)}
		if _, _, err := ask(within(t, time.Minute), start(t, seen)); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if diff := cmp.Diff(want, seen.seen); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", way, diff)
		}
	}
}

func TestClient_carriesTheHeadersOfTheEra(t *testing.T) {
	t.Parallel()
	server := sdkServer(2)
	modern := &recorder{Handler: mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})}
	legacy := &recorder{Handler: mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, nil)}
	for _, peer := range []*recorder{modern, legacy} {
		if _, _, err := ask(within(t, time.Minute), start(t, peer)); err != nil {
			t.Fatal(err)
		}
	}
	type headers struct{ accept, version, method, session string }
	of := func(header http.Header) headers {
		session := "none"
		if header.Get("Mcp-Session-Id") != "" {
			session = "some"
		}
		return headers{header.Get("Accept"), header.Get("MCP-Protocol-Version"), header.Get("Mcp-Method"), session}
	}
	const both = "application/json, text/event-stream"
	got := []headers{of(modern.head[0]), of(modern.head[1])}
	for _, header := range legacy.head[1:4] {
		got = append(got, of(header))
	}
	want := []headers{
		{both, "2026-07-28", "server/discover", "none"},
		{both, "2026-07-28", "tools/list", "none"},
		{both, "", "", "none"},
		{both, "2025-11-25", "", "some"},
		{both, "2025-11-25", "", "some"},
	}
	if !slices.Equal(want, got) {
		t.Errorf("headers: got %v, want %v", got, want)
	}
	for _, body := range []string{modern.body[1], legacy.body[1]} {
		if !bytes.Contains([]byte(body), []byte(`apabilities":{}`)) {
			t.Errorf("the capabilities are not fixed at {}: %s", body)
		}
	}
}
