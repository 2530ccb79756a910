//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

// realServer is a server of somebody else, and what a probe must say of it.
type realServer struct {
	name string
	// start starts the server and returns the URL to probe, and flags for it.
	start func(t *testing.T) []string
	want  string
}

// realServers are pinned by version in node/package.json. None of the npm
// servers offers the three gates, so the verdict is no; the cause of each gate
// is what must be right.
func realServers() []realServer {
	const absent = "healthz no (status), test no (status), "
	return []realServer{
		{"server-everything", startEverything, absent + "listTools yes (13 tools), legacy 2025-11-25, sessions 1 opened 1 closed, exit 1"},
		{"context7", startContext7, absent + "listTools yes (2 tools), modern 2026-07-28, sessions 0 opened 0 closed, exit 1"},
		{"mcp-proxy around server-memory", startMCPProxy, absent + "listTools yes (9 tools), modern 2026-07-28, sessions 0 opened 0 closed, exit 1"},
		{"supergateway, stateless", startSupergateway(), "healthz yes, test no (not_json), listTools yes (9 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 1"},
		{"supergateway, stateful", startSupergateway("--stateful"), "healthz yes, test no (not_json), listTools yes (9 tools), legacy 2025-11-25, sessions 1 opened 1 closed, exit 1"},
		{"supergateway around a program that ends", startBrokenSupergateway, "healthz yes, test no (not_json), listTools no (handshake), exit 1"},
		{"go-sdk, stateless", startGoSDK(true), "healthz yes, test yes, listTools yes (1 tools), modern 2026-07-28, sessions 0 opened 0 closed, exit 0"},
		{"go-sdk, stateful", startGoSDK(false), "healthz yes, test yes, listTools yes (1 tools), legacy 2025-11-25, sessions 1 opened 1 closed, exit 0"},
		{"nothing at all", startNothing, "healthz no (refused), test no (refused), listTools no (refused), exit 1"},
	}
}

func TestProbe_ofRealServers(t *testing.T) {
	t.Parallel()
	for _, server := range realServers() {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			flags := server.start(t)
			probed := run(t, t.TempDir(), environment(t), append([]string{binary(), "probe", "--json"}, flags...)...)
			if got := verdict(t, probed); got != server.want {
				t.Errorf("probe %v\n got: %s\nwant: %s\n%s%s", flags, got, server.want, probed.stdout, probed.stderr)
			}
		})
	}
}

// gate is one gate of a probe result.
type gate struct {
	OK        bool   `json:"ok"`
	Cause     string `json:"cause"`
	ToolCount int    `json:"toolCount"`
}

func (g gate) String() string {
	switch {
	case !g.OK:
		return fmt.Sprintf("no (%s)", g.Cause)
	case g.ToolCount > 0:
		return fmt.Sprintf("yes (%d tools)", g.ToolCount)
	}
	return "yes"
}

// verdict is a probe result in one line, without what changes from run to run.
func verdict(t *testing.T, probed outcome) string {
	t.Helper()
	var result struct {
		Healthz         gate   `json:"healthz"`
		Test            gate   `json:"test"`
		ListTools       gate   `json:"listTools"`
		Passed          bool   `json:"passed"`
		Era             string `json:"era"`
		ProtocolVersion string `json:"protocolVersion"`
		Opened          int    `json:"sessionsOpened"`
		Closed          int    `json:"sessionsClosed"`
	}
	if err := json.Unmarshal([]byte(probed.stdout), &result); err != nil {
		t.Fatalf("probe --json did not print one result: %v\n%s%s", err, probed.stdout, probed.stderr)
	}
	if result.Passed != (probed.code == 0) {
		t.Errorf("passed is %v and the exit code %d", result.Passed, probed.code)
	}
	line := fmt.Sprintf("healthz %v, test %v, listTools %v", result.Healthz, result.Test, result.ListTools)
	if result.ListTools.OK {
		line += fmt.Sprintf(", %s %s, sessions %d opened %d closed", result.Era, result.ProtocolVersion, result.Opened, result.Closed)
	}
	return fmt.Sprintf("%s, exit %d", line, probed.code)
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
