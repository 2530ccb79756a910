package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fleet is a registry of real servers, some of them broken on purpose.
type fleet struct {
	names      []string
	components map[string]map[string]any

	killable string    // the port of the component echo
	echo     *process  // is its server
	sessions *stateful // is that of the component sessions, and counts what is left on it
}

// fleetDefaults are given to each component that says nothing else. What counts
// is what is found and not how fast, so nothing grows too old.
const fleetDefaults = `kind: mcp_server, ttl: 10m, interval: %s, timeout: %s`

func (f *fleet) add(name string, keys map[string]any) {
	f.names = append(f.names, name)
	f.components[name] = keys
}

// yaml is the configuration file, with few probes at once.
func (f *fleet) yaml(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("patrol: {concurrency: 3, per_host: 2}\ncomponents:\n")
	for _, name := range f.names {
		keys := f.components[name]
		interval, timeout := "10s", "90s"
		if given, ok := keys["interval"]; ok {
			interval = fmt.Sprint(given)
		}
		if given, ok := keys["timeout"]; ok {
			timeout = fmt.Sprint(given)
		}
		fmt.Fprintf(&text, "  %s: {"+fleetDefaults, name, interval, timeout)
		for key, value := range keys {
			if key == "interval" || key == "timeout" {
				continue
			}
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, ", %s: %s", key, encoded)
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// canary is a call that is forced, since few servers mark what only reads.
func canary(tool string, expect, arguments map[string]any) map[string]any {
	call := map[string]any{"tool": tool, "expect": expect, "force": true}
	if arguments != nil {
		call["arguments"] = arguments
	}
	return call
}

func matching(pattern string) map[string]any { return map[string]any{"matches": pattern} }

const protocolProfile = "protocol"

// newFleet starts what listens, and registers twenty components.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{components: map[string]map[string]any{}}
	f.addListening(t)
	f.addBroken(t)
	f.addPrograms(t)
	if len(f.names) != 20 {
		t.Fatalf("the fleet has %d components, want 20", len(f.names))
	}
	return f
}

// addListening adds servers that run, and work.
func (f *fleet) addListening(t *testing.T) {
	everything := startEverything(t)[0] + "/mcp"
	hi := canary("echo", matching("hi"), map[string]any{"message": "hi"})
	f.add("everything", map[string]any{"url": everything, "profile": protocolProfile, "canary": hi, "require_tools": []string{"echo", "get-sum"}})
	f.add("everything-misses-a-tool", map[string]any{"url": everything, "profile": protocolProfile, "canary": hi, "require_tools": []string{"nmap_scan"}})
	f.add("everything-is-another", map[string]any{"url": everything, "profile": protocolProfile, "canary": hi, "expect_server": "scanner"})

	graph := canary("read_graph", map[string]any{"not_empty": true}, nil)
	memory := startMCPProxy(t)[0]
	f.add("memory-events", map[string]any{"url": memory + "/sse", "profile": protocolProfile, "canary": graph})
	f.add("memory-streamable", map[string]any{"url": memory + "/mcp", "profile": protocolProfile, "canary": graph})

	f.killable = freePort(t)
	f.startEcho(t)
	f.add("echo", map[string]any{"url": "http://127.0.0.1:" + f.killable, "expect_server": "echo", "require_tools": []string{"echo"}})

	f.sessions = newStateful(t, func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) })
	f.add("sessions", map[string]any{"url": f.sessions.url, "profile": protocolProfile, "canary": canary("noop", matching("^$"), nil)})
}

// startEcho starts the server that is killed and started again.
func (f *fleet) startEcho(t *testing.T) {
	t.Helper()
	f.echo = start(t, t.TempDir(), environment(t), nodeCommand(t, driver(t, "server-v2.mjs"), f.killable)...)
	awaitPort(t, f.killable)
}

// addBroken adds what cannot be used, each for a reason of its own.
func (f *fleet) addBroken(t *testing.T) {
	f.add("gateway-without-test", map[string]any{"url": startSupergateway()(t)[0]})
	f.add("nobody-listens", map[string]any{"url": startNothing(t)[0]})

	hanging, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hanging.Close() })
	f.add("hangs", map[string]any{"url": "http://" + hanging.Addr().String(), "timeout": "2s"})

	f.add("secret-is-missing", map[string]any{
		"url": "http://127.0.0.1:" + f.killable, "credentials": map[string]string{"bearer": "env:NO_SUCH_TOKEN"},
	})

	healthy, err := url.Parse(startGoSDK(true)(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(healthy)
	var asked atomic.Int64
	every := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/healthz" && asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(every.Close)
	f.add("fails-every-other-time", map[string]any{"url": every.URL, "interval": "1s", "fall": 3})
}

// addPrograms adds servers that each probe starts.
func (f *fleet) addPrograms(t *testing.T) {
	const official = "@modelcontextprotocol/server-"
	npm := func(file string, arguments ...string) []string {
		return nodeCommand(t, append([]string{nodePackage(t, file)}, arguments...)...)
	}
	f.add("filesystem", map[string]any{"command": npm(official+"filesystem/dist/index.js", "/"), "canary": canary("list_allowed_directories", matching("/"), nil)})
	f.add("memory", map[string]any{
		"command": npm(official + "memory/dist/index.js"),
		"env":     map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")},
		"canary":  canary("read_graph", map[string]any{"path": "$.entities", "equals": []any{}}, nil),
	})
	f.add("wrong-sum", map[string]any{
		"command": npm(official + "everything/dist/index.js"),
		"canary":  canary("get-sum", matching("is 6"), map[string]any{"a": 2, "b": 3}),
	})
	f.add("hello-world", map[string]any{"command": npm("mcp-hello-world/build/stdio.js"), "canary": canary("debug", map[string]any{"not_empty": true}, nil)})
	f.add("key-is-missing", map[string]any{"command": npm(official + "brave-search/dist/index.js"), "canary": canary("brave_web_search", map[string]any{"not_empty": true}, nil)})
	f.add("thinks-without-canary", map[string]any{"command": npm(official + "sequential-thinking/dist/index.js")})
	f.add("modern-only", map[string]any{"command": nodeCommand(t, driver(t, "server-v2.mjs"), "stdio", "reject"), "canary": canary("echo", matching("hello"), nil)})
	f.add("countersign", map[string]any{
		"command": []string{binary(), "mcp", "--db", filepath.Join(t.TempDir(), "tasks.db")},
		"canary":  map[string]any{"tool": "list_tasks"},
	})
}
