//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quickstart is what a client reports of the quickstart. The steps are the same
// whatever the client, the transport and the protocol version.
type quickstart struct {
	Protocol string   `json:"protocol"`
	Server   string   `json:"server"`
	Tools    []string `json:"tools"`
	Steps    []step   `json:"steps"`
}

// step is one call as the client saw it.
type step struct {
	Agent   string `json:"agent"`
	Tool    string `json:"tool"`
	IsError bool   `json:"isError"`
	Result  any    `json:"result"`
}

const quickstartGolden = "testdata/quickstart.golden.json"

// TestClients_doTheQuickstart drives the quickstart with the official clients.
func TestClients_doTheQuickstart(t *testing.T) {
	t.Parallel()
	clients := []struct {
		name     string
		argv     []string
		protocol string
	}{
		{"typescript 1.x", []string{"client-v1.mjs"}, "2025-11-25"},
		{"typescript 2.x, legacy era", []string{"client-v2.mjs", "legacy"}, "2025-11-25"},
		{"typescript 2.x, modern era", []string{"client-v2.mjs", "auto"}, "2026-07-28"},
	}
	transports := map[string]func(t *testing.T) string{"stdio": stdioConfiguration, "http": httpConfiguration}
	for _, client := range clients {
		for transport, configure := range transports {
			t.Run(client.name+" over "+transport, func(t *testing.T) {
				t.Parallel()
				argv := append([]string{node(t), driver(t, client.argv[0]), configure(t)}, client.argv[1:]...)
				absolute(t, "node/quickstart.mjs")
				absolute(t, "testdata/quickstart.json")
				ran := run(t, t.TempDir(), environment(t), argv...)
				if ran.code != 0 {
					t.Fatalf("the client failed: exit code %d\n%s%s", ran.code, ran.stdout, ran.stderr)
				}
				var got quickstart
				if err := json.Unmarshal([]byte(ran.stdout), &got); err != nil {
					t.Fatalf("read what the client reports: %v\n%s", err, ran.stdout)
				}
				if got.Protocol != client.protocol || got.Server != "countersign" {
					t.Errorf("got protocol %q of server %q, want %q of countersign", got.Protocol, got.Server, client.protocol)
				}
				if diff := cmp.Diff([]string{"claim_done", "create_task", "get_task", "list_tasks", "verify"}, got.Tools); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
				compareSteps(t, got.Steps)
			})
		}
	}
}

// compareSteps compares what a client saw with the golden file.
func compareSteps(t *testing.T, steps []step) {
	t.Helper()
	text, err := json.MarshalIndent(steps, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, quickstartGolden, numberIDs(string(text))+"\n")
}

// stdioConfiguration writes the client configuration of the quickstart: two
// agents, each with a server process of its own, on one database. Only command
// and args differ from the reference.
func stdioConfiguration(t *testing.T) string {
	database := sqlite(t)
	entry := func(agent string) map[string]any {
		return map[string]any{"command": binary(), "args": []string{"mcp", "--db", database}, "env": map[string]string{"VG_AGENT_ID": agent}}
	}
	return configuration(t, entry("devops"), entry("reviewer"))
}

// httpConfiguration writes the configuration for one server with two clients.
func httpConfiguration(t *testing.T) string {
	entry := map[string]any{"url": startServe(t, sqlite(t)) + "/mcp"}
	return configuration(t, entry, entry)
}

func configuration(t *testing.T, devops, reviewer map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"devops": devops, "reviewer": reviewer}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
