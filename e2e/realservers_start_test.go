//go:build unix

package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

// Where two servers begin in their packages.
const (
	mongoDB   = "mongodb-mcp-server/dist/esm/index.js"
	firecrawl = "firecrawl-mcp/dist/index.js"
)

// serversWithGates are probed at /healthz, /test and /mcp. None of the npm
// packages offers the first two; supergateway can be told to say "ok" there.
func serversWithGates() []realServer {
	return []realServer{
		{name: "server-everything, gates", start: startEverything},
		{name: "context7, gates", start: startContext7},
		{name: "mcp-proxy around server-memory, gates", start: startMCPProxy},
		{name: "supergateway, stateless", start: startSupergateway()},
		{name: "supergateway, stateful", start: startSupergateway("--stateful")},
		{name: "supergateway around a program that ends", start: startBrokenSupergateway},
		{name: "go-sdk, stateless", start: startGoSDK(true)},
		{name: "go-sdk, stateful", start: startGoSDK(false)},
		{name: "TypeScript SDK, both eras", start: startTypeScriptSDK()},
		{name: "TypeScript SDK, modern only", start: startTypeScriptSDK("reject")},
		{name: "nothing at all", start: startNothing},
	}
}

// serversOverHTTP are probed at their endpoint alone.
func serversOverHTTP() []realServer {
	endpoint := func(start func(t *testing.T) []string, path string, flags ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			return append([]string{"--profile", "protocol", start(t)[0] + path}, flags...)
		}
	}
	echo := []string{"--call", "echo", "--arguments", `{"message":"hi"}`, "--expect", "matches=hi", "--force"}
	return []realServer{
		{name: "server-everything, streamable", start: endpoint(startEverything, "/mcp", echo...)},
		{name: "server-everything, events", start: endpoint(startEverythingEvents, "/sse", echo...)},
		{name: "context7, streamable", start: endpoint(startContext7, "/mcp")},
		{name: "mcp-proxy, events", start: endpoint(startMCPProxy, "/sse", "--call", "read_graph")},
		{name: "mcp-proxy, streamable", start: endpoint(startMCPProxy, "/mcp", "--call", "read_graph")},
		{name: "supergateway, events", start: endpoint(startSupergatewayEvents, "/sse", "--call", "read_graph")},
		{name: "mcp-hello-world, events", start: endpoint(startHelloWorld, "/sse", "--call", "debug", "--force")},
		{name: "playwright, streamable, by address", start: endpoint(startPlaywright("127.0.0.1"), "/mcp")},
		{name: "playwright, streamable, by name", start: endpoint(startPlaywright("localhost"), "/mcp")},
		{name: "playwright, events", start: endpoint(startPlaywright("localhost"), "/sse")},
		{name: "figma, streamable", start: startFigma},
		{name: "mongodb, streamable", start: endpoint(startMongoDB, "/mcp", "--call", "list-connections")},
		{name: "firecrawl, streamable", start: endpoint(startFirecrawl("FIRECRAWL_API_KEY=none-such"), "/mcp")},
		{name: "firecrawl, streamable, ends at the first request", start: endpoint(startFirecrawl(), "/mcp")},
		{name: "TypeScript SDK, streamable, both eras", start: endpoint(startTypeScriptSDK(), "/mcp", "--call", "echo", "--expect", "matches=hello")},
		{name: "TypeScript SDK, streamable, modern only", start: endpoint(startTypeScriptSDK("reject"), "/mcp", "--call", "echo", "--expect", "matches=hello")},
	}
}

// npmServers are started by the probe itself. The names of those that cannot work
// say what they lack.
func npmServers() []realServer {
	npm := func(file string, arguments ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			return append([]string{"--"}, nodeCommand(t, append([]string{nodePackage(t, file)}, arguments...)...)...)
		}
	}
	with := func(start func(t *testing.T) []string, flags ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string { return append(flags, start(t)...) }
	}
	const official = "@modelcontextprotocol/server-"
	everything := npm(official + "everything/dist/index.js")
	typeScriptSDK := func(arguments ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			return append([]string{"--"}, nodeCommand(t, append([]string{driver(t, "server-v2.mjs"), "stdio"}, arguments...)...)...)
		}
	}
	quiet := []string{"DO_NOT_TRACK=1"}
	supabase, figma := "@supabase/mcp-server-supabase/dist/cli.js", "figma-developer-mcp/dist/bin.js"
	return []realServer{
		{name: "server-everything", start: with(everything, "--call", "echo", "--arguments", `{"message":"hi"}`, "--expect", "matches=hi", "--force")},
		{name: "server-everything, a wrong sum", start: with(everything, "--call", "get-sum", "--arguments", `{"a":2,"b":3}`, "--expect", "matches=is 6", "--force")},
		{name: "server-filesystem", start: with(npm(official+"filesystem/dist/index.js", "/"), "--call", "list_allowed_directories", "--expect", "matches=/")},
		{name: "server-filesystem without a directory", start: npm(official + "filesystem/dist/index.js")},
		{name: "server-memory", start: with(npm(official+"memory/dist/index.js"), "--call", "read_graph", "--expect", "path=$.entities equals=[]")},
		{name: "server-sequential-thinking", start: npm(official + "sequential-thinking/dist/index.js")},
		{name: "server-github", start: npm(official + "github/dist/index.js")},
		{name: "server-postgres, database down", start: with(npm(official+"postgres/dist/index.js", "postgres://127.0.0.1:9/none"), "--call", "query", "--arguments", `{"sql":"select 1"}`, "--force")},
		{name: "server-postgres without address", start: npm(official + "postgres/dist/index.js")},
		{name: "server-brave-search", start: npm(official + "brave-search/dist/index.js"), env: []string{"BRAVE_API_KEY=none-such"}},
		{name: "server-brave-search without key", start: npm(official + "brave-search/dist/index.js")},
		{name: "server-everart", start: npm(official + "everart/dist/index.js"), env: []string{"EVERART_API_KEY=none-such"}},
		{name: "server-everart without key", start: npm(official + "everart/dist/index.js")},
		{name: "supabase with a dummy token", start: npm(supabase), env: []string{"SUPABASE_ACCESS_TOKEN=sbp_0000000000000000000000000000000000000000"}},
		{name: "supabase without token", start: npm(supabase)},
		{name: "playwright without browser", start: with(npm("@playwright/mcp/cli.js"), "--call", "browser_tabs", "--arguments", `{"action":"list"}`, "--force")},
		{name: "context7", start: npm("@upstash/context7-mcp/dist/index.js")},
		{name: "mcp-hello-world", start: with(npm("mcp-hello-world/build/stdio.js"), "--call", "debug", "--force")},
		{name: "figma", start: npm(figma, "--stdio"), env: []string{"FIGMA_API_KEY=none-such", "DO_NOT_TRACK=1"}},
		{name: "figma without key", start: npm(figma, "--stdio")},
		{name: "mongodb, no database", start: with(npm(mongoDB), "--call", "list-connections"), env: quiet},
		{name: "mongodb, database down", start: with(npm(mongoDB), "--call", "connect", "--arguments", `{"connectionString":"mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=500"}`, "--force"), env: quiet},
		{name: "firecrawl with a dummy key", start: with(npm(firecrawl), "--call", "firecrawl_monitor_list"), env: []string{"FIRECRAWL_API_KEY=none-such"}},
		{name: "firecrawl without key", start: npm(firecrawl)},
		{name: "TypeScript SDK over stdio, both eras", start: with(typeScriptSDK(), "--call", "echo", "--expect", "matches=hello")},
		{name: "TypeScript SDK over stdio, modern only", start: with(typeScriptSDK("reject"), "--call", "echo", "--expect", "matches=hello")},
		{name: "countersign", start: startOurs},
		{name: "a file that does not exist", start: startProgramThatEnds},
	}
}

// nativeServers are no scripts, so that nothing would hold them to loopback where
// there is no namespace; and they are there for one kind of machine.
func nativeServers() []realServer {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" || os.Getenv(envIsolation) != isolated {
		return nil
	}
	native := func(file string, flags ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			// npm leaves it to a script, which is not run, to make one of them executable.
			program := filepath.Join(t.TempDir(), filepath.Base(file))
			copyFile(t, nodePackage(t, file), program)
			return append(flags, "--", program)
		}
	}
	return []realServer{
		{name: "cortex, ends on discover", start: native("@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp")},
		{name: "leanspec, answers notifications", start: native("@leanspec/mcp-linux-x64/leanspec-mcp")},
		{name: "nomad without Nomad", start: native("@kocierik/mcp-nomad-linux-x64/bin/mcp-nomad")},
	}
}

func startProgramThatEnds(t *testing.T) []string {
	return []string{"--", node(t), filepath.Join(t.TempDir(), "no-such-file.js")}
}

func startOurs(t *testing.T) []string {
	return []string{"--call", "list_tasks", "--", binary(), "mcp", "--db", filepath.Join(t.TempDir(), "tasks.db")}
}

func startEverythingEvents(t *testing.T) []string {
	port := freePort(t)
	startNode(t, []string{"PORT=" + port}, nodePackage(t, "@modelcontextprotocol/server-everything/dist/index.js"), "sse")
	return []string{awaitPort(t, port)}
}

func startHelloWorld(t *testing.T) []string {
	port := freePort(t)
	startNode(t, []string{"PORT=" + port}, nodePackage(t, "mcp-hello-world/build/http.js"))
	return []string{awaitPort(t, port)}
}

// startTypeScriptSDK starts a server of ours with the official SDK, 2.x.
func startTypeScriptSDK(arguments ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		port := freePort(t)
		startNode(t, nil, append([]string{driver(t, "server-v2.mjs"), port}, arguments...)...)
		return []string{awaitPort(t, port)}
	}
}

func startMongoDB(t *testing.T) []string {
	port := freePort(t)
	startNode(t, []string{"DO_NOT_TRACK=1"}, nodePackage(t, mongoDB), "--transport", "http", "--httpPort", port)
	return []string{awaitPort(t, port)}
}

// startFirecrawl starts a server that, without a key, listens and then ends when
// it is asked anything.
func startFirecrawl(env ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		port := freePort(t)
		startNode(t, append([]string{"HTTP_STREAMABLE_SERVER=true", "HOST=127.0.0.1", "PORT=" + port}, env...), nodePackage(t, firecrawl))
		return []string{awaitPort(t, port)}
	}
}

// startPlaywright returns the address by one of its names; the server admits
// only the one that it gave itself.
func startPlaywright(host string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		port := freePort(t)
		startNode(t, nil, nodePackage(t, "@playwright/mcp/cli.js"), "--port", port, "--host", "127.0.0.1")
		awaitPort(t, port)
		return []string{"http://" + host + ":" + port}
	}
}

func startFigma(t *testing.T) []string {
	port := freePort(t)
	startNode(t, []string{"DO_NOT_TRACK=1"}, nodePackage(t, "figma-developer-mcp/dist/bin.js"), "--port", port, "--figma-api-key", "none-such")
	return []string{"--profile", "protocol", awaitPort(t, port) + "/mcp"}
}

func startSupergatewayEvents(t *testing.T) []string {
	port := freePort(t)
	startNode(t, memoryFile(t), nodePackage(t, "supergateway/dist/index.js"), "--port", port,
		"--stdio", node(t)+" "+nodePackage(t, "@modelcontextprotocol/server-memory/dist/index.js"))
	return []string{awaitPort(t, port)}
}

func startEverything(t *testing.T) []string {
	port := freePort(t)
	startNode(t, []string{"PORT=" + port}, nodePackage(t, "@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	return []string{awaitPort(t, port)}
}

func startContext7(t *testing.T) []string {
	port := freePort(t)
	startNode(t, nil, nodePackage(t, "@upstash/context7-mcp/dist/index.js"), "--transport", "http", "--port", port)
	return []string{awaitPort(t, port)}
}

func startMCPProxy(t *testing.T) []string {
	port := freePort(t)
	startNode(t, memoryFile(t), nodePackage(t, "mcp-proxy/dist/bin/mcp-proxy.mjs"), "--host", "127.0.0.1", "--port", port,
		"--", node(t), nodePackage(t, "@modelcontextprotocol/server-memory/dist/index.js"))
	return []string{awaitPort(t, port)}
}

// startSupergateway gives it the health endpoint that says "ok" whatever the
// child does, at both places where a gate looks.
func startSupergateway(flags ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		return supergateway(t, node(t)+" "+nodePackage(t, "@modelcontextprotocol/server-memory/dist/index.js"), flags...)
	}
}

func startBrokenSupergateway(t *testing.T) []string {
	return append(supergateway(t, "false"), "--timeout", "5s")
}

func supergateway(t *testing.T, child string, flags ...string) []string {
	port := freePort(t)
	argv := []string{
		nodePackage(t, "supergateway/dist/index.js"), "--stdio", child, "--outputTransport", "streamableHttp",
		"--port", port, "--healthEndpoint", "/healthz", "--healthEndpoint", "/test",
	}
	startNode(t, memoryFile(t), append(argv, flags...)...)
	return []string{awaitPort(t, port)}
}

func startGoSDK(stateless bool) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "1.0.0"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says what it is told."},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Text string }) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
		mux := http.NewServeMux()
		mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: stateless}))
		gates.Mount(mux, gates.Options{Service: "tiny", Version: "1.0.0", Dependencies: []gates.Dependency{
			gates.Required("arithmetic", gates.Func(func(context.Context) error { return nil })),
		}})
		listening := httptest.NewServer(mux)
		t.Cleanup(listening.Close)
		return []string{listening.URL}
	}
}

func startNothing(t *testing.T) []string { return []string{"http://127.0.0.1:" + freePort(t)} }

func memoryFile(t *testing.T) []string {
	return []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}
}

// nextPort counts up from below the ports that the kernel gives to connections,
// so that no two servers of this test are given the same one.
var nextPort atomic.Int32

// freePort finds a port that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	const first, last = 21000, 29000
	for {
		port := first + int(nextPort.Add(1))
		if port > last {
			t.Fatalf("no port between %d and %d is free", first, last)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue // somebody else's
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return strconv.Itoa(port)
	}
}

// awaitPort waits until something listens on the port, and returns its URL.
func awaitPort(t *testing.T, port string) string {
	t.Helper()
	address := "127.0.0.1:" + port
	deadline := time.Now().Add(startTimeout)
	for {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			connection.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens on %s after %v: %v", address, startTimeout, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}
