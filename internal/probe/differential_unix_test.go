//go:build unix

package probe_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// sdkLists reports whether the official SDK's client gets any tool.
func sdkLists(ctx context.Context, transport mcp.Transport) bool {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "oracle", Version: "0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return false
	}
	defer func() { _ = session.Close() }()
	count := 0
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return false
		}
		count++
	}
	return count > 0
}

// disagreements are the servers that only one of the two clients gets tools of,
// and why ours is right.
func disagreements() map[string]string {
	return map[string]string{
		"handshake: discover is HTML":                         "the SDK takes a page for a broken connection; a server that knows no discover is legacy, whatever it says of it",
		"handshake: initialize wants an older version":        "the SDK asks for one legacy version only; the server names one that both speak",
		"handshake: initialize wants the modern version":      "the SDK does not go back to the modern era; the server says that it speaks it",
		"handshake: initialize gives an unheard-of version":   "the SDK refuses it; the tools are had all the same, and there is a warning",
		"handshake: discover answers 500":                     "the SDK tries the other era; a server that fails at a request is reported as it is",
		"handshake: discover names only a future version":     "the SDK tries the legacy era; the server has said which versions it speaks",
		"handshake: discover wants another modern version":    "the SDK tries the legacy era; the server has said which versions it speaks",
		"handshake: modern, asks for input":                   "the SDK does not look at resultType; this result is not complete",
		"handshake: legacy, a tool with a wrong x-mcp-header": "the SDK leaves it out in the legacy era too, which does not know the annotation",
		"events: POST is refused with 401":                    "the SDK is told that these are events; 401 is no sign of them, and is reported",
		"events: POST is refused with 406":                    "the SDK is told that these are events; 406 is no sign of them by the specification",
		"events: POST is refused with 500":                    "the SDK is told that these are events; a server that fails is reported as it is",
		"events: an answer in the flush of the endpoint":      "the SDK loses what is in the flush of the endpoint event",
		"events: junk and notifications come between":         "the SDK breaks off at an event that is no message",
		"process: answers notifications":                      "the SDK breaks off at an answer without an id",
		"process: complains of notifications":                 "the SDK breaks off at an error without an id",
		"process: dies of discover":                           "the SDK asks a modern question first, of which the process dies",
		"process: modern, dies of discover":                   "the SDK asks discover, of which the process dies; its tools are had without",
		"process: junk between":                               "the SDK breaks off at a line that is no JSON",
		"process: junk first":                                 "the SDK breaks off at a line that is no JSON",
		"process: unknown version":                            "the SDK refuses it; the tools are had all the same, and there is a warning",
	}
}

// compared holds the SDK's answer against the cause that ours finds.
func compared(t *testing.T, name string, cause registry.Cause, sdk bool) {
	t.Helper()
	why, known := disagreements()[name]
	switch differ := (cause == "") != sdk; {
	case differ && !known:
		t.Errorf("%s: ours finds %q, and that the SDK's client gets tools is %v", name, cause, sdk)
	case !differ && known:
		t.Errorf("%s: both agree, although the table says: %s", name, why)
	}
}

// beyondTheSDK are causes for which its client is not asked, since it has no
// bound for what they are about: it would read or wait for ever.
func beyondTheSDK(cause registry.Cause) bool {
	return cause == registry.TooLarge || cause == registry.Timeout
}

func TestDifferential_overStreamableHTTP(t *testing.T) {
	t.Parallel()
	for group, rows := range map[string]map[string]wire{"handshake: ": handshakes(), "list: ": lists()} {
		for name, row := range rows {
			if beyondTheSDK(row.cause) || row.limit != 0 {
				continue
			}
			t.Run(group+name, func(t *testing.T) {
				t.Parallel()
				endpoint := double{mcp: row.answer}.start(t).URL + "/mcp"
				compared(t, group+name, row.cause, sdkLists(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: endpoint, DisableStandaloneSSE: true, MaxRetries: -1,
				}))
			})
		}
	}
}

func TestDifferential_overEventStreams(t *testing.T) {
	t.Parallel()
	for name, row := range eventStreams() {
		if beyondTheSDK(row.list) || row.limit != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared(t, "events: "+name, row.list, sdkLists(t.Context(), &mcp.SSEClientTransport{Endpoint: row.start(t)}))
		})
	}
}

func TestDifferential_overProcesses(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	withoutLimits := []string{"chatters", "endless line", "stubborn", "with a grandchild"} // the SDK leaves them running
	for name, row := range processes() {
		if beyondTheSDK(row.list) || row.limit != 0 || slices.Contains(withoutLimits, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), binary)
			command.Env = append(os.Environ(), behaviour+"="+name, "GORACE=atexit_sleep_ms=0")
			compared(t, "process: "+name, row.list, sdkLists(t.Context(), &mcp.CommandTransport{Command: command}))
		})
	}
}

// TestDifferential_onServersOfTheSDK lets both ask the SDK's own servers.
func TestDifferential_onServersOfTheSDK(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
	server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "yes"}}}, nil
		})
	get := func(*http.Request) *mcp.Server { return server }
	for name, handler := range map[string]http.Handler{
		"events":    mcp.NewSSEHandler(get, nil),
		"stateful":  mcp.NewStreamableHTTPHandler(get, nil),
		"stateless": mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}),
	} {
		endpoint := double{mcp: handler.ServeHTTP}.start(t).URL + "/mcp"
		got := probedAt(t, endpoint, generous)
		checkProtocol(t, got, "", "", "")
		var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: endpoint, DisableStandaloneSSE: true}
		want := registry.StreamableHTTP
		if name == "events" {
			transport, want = &mcp.SSEClientTransport{Endpoint: endpoint}, registry.SSE
		}
		if !sdkLists(t.Context(), transport) || got.Transport != want {
			t.Errorf("%s: the transport is %q, want %q, and the SDK's client to list too", name, got.Transport, want)
		}
	}
}
