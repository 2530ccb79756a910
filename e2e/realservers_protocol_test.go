//go:build unix

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestProbe_ofRealServersByTheirToolsAlone probes the pinned servers in the
// profile protocol, over each transport, with a canary where one is harmless.
func TestProbe_ofRealServersByTheirToolsAlone(t *testing.T) {
	t.Parallel()
	npm := func(file string, flags ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			return append(flags, "--timeout", "60s", "--", node(t), nodePackage(t, file))
		}
	}
	for _, server := range []struct {
		realServer
		transport string
	}{
		{realServer{
			"everything, stdio",
			npm("@modelcontextprotocol/server-everything/dist/index.js", "--call", "echo", "--arguments", `{"message":"hi"}`, "--expect", "matches=hi", "--force"),
			"healthz yes, test yes, listTools yes (13 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 0",
		}, "stdio"},
		{realServer{
			"everything, a sum",
			npm("@modelcontextprotocol/server-everything/dist/index.js", "--call", "get-sum", "--arguments", `{"a":2,"b":3}`, "--expect", "matches=is 6", "--force"),
			"healthz yes, test no (canary_failed), listTools yes (13 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 1",
		}, "stdio"},
		{realServer{
			"memory, stdio",
			npm("@modelcontextprotocol/server-memory/dist/index.js", "--call", "read_graph", "--expect", "path=$.entities equals=[]"),
			"healthz yes, test yes, listTools yes (9 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 0",
		}, "stdio"},
		{realServer{
			"context7, stdio",
			npm("@upstash/context7-mcp/dist/index.js"),
			"healthz yes, test no (not_configured), listTools yes (2 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 1",
		}, "stdio"},
		{realServer{"countersign, stdio", startOurs, "healthz yes, test yes, listTools yes (5 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 0"}, "stdio"},
		{realServer{"a program that ends", startProgramThatEnds, "healthz no (process_exit), test no (process_exit), listTools no (process_exit), exit 1"}, "stdio"},
		{realServer{"everything, events", startEverythingEvents, "healthz yes, test yes, listTools yes (13 tools), legacy 2025-11-25, sessions 1 opened 1 closed, exit 0"}, "sse"},
		{realServer{"mcp-proxy, events", startMCPProxyEvents, "healthz yes, test yes, listTools yes (9 tools), legacy 2025-11-25, sessions 1 opened 1 closed, exit 0"}, "sse"},
		{realServer{"mcp-proxy, streamable", startMCPProxyEndpoint, "healthz yes, test yes, listTools yes (9 tools), modern 2026-07-28, sessions 0 opened 0 closed, exit 0"}, "streamable-http"},
	} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			flags := server.start(t)
			env := environment(t, memoryFile(t)...)
			probed := run(t, t.TempDir(), env, append([]string{binary(), "probe", "--json"}, flags...)...)
			var result struct {
				Transport string `json:"transport"`
			}
			if err := json.Unmarshal([]byte(probed.stdout), &result); err != nil {
				t.Fatalf("%v\n%s%s", err, probed.stdout, probed.stderr)
			}
			if got := verdict(t, probed); got != server.want || result.Transport != server.transport {
				t.Errorf("probe %v\n got: %s over %s\nwant: %s over %s\n%s%s",
					flags, got, result.Transport, server.want, server.transport, probed.stdout, probed.stderr)
			}
		})
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
	return []string{"--profile", "protocol", awaitPort(t, port) + "/sse", "--call", "echo", "--arguments", `{"message":"hi"}`, "--force"}
}

func startMCPProxyEvents(t *testing.T) []string {
	return []string{"--profile", "protocol", startMCPProxy(t)[0] + "/sse", "--call", "read_graph"}
}

func startMCPProxyEndpoint(t *testing.T) []string {
	return []string{"--profile", "protocol", startMCPProxy(t)[0] + "/mcp", "--call", "read_graph"}
}
