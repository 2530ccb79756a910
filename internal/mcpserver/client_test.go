package mcpserver

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// connected returns a session of the official Go client with a server, over stdio
// or HTTP, in the era of a protocol version.
func connected(t *testing.T, server *Server, over, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var transport mcp.Transport
	if over == "HTTP" {
		transport = &mcp.StreamableClientTransport{Endpoint: listen(t, server).URL}
	} else {
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- server.ServeStdio(t.Context(), fromClient, toClient) }()
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
		transport = &mcp.IOTransport{Reader: out, Writer: in}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, session) })
	return session
}

// called calls a tool and decodes its structured content into result.
func called(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any, result any) {
	t.Helper()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || answer.IsError {
		t.Fatalf("%s: %v, %v", tool, answer, err)
	}
	data, err := json.Marshal(answer.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// overAll runs a test over every transport in every era.
func overAll(t *testing.T, test func(t *testing.T, over, version string)) {
	t.Helper()
	for _, over := range []string{"stdio", "HTTP"} {
		for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
			t.Run(over+" "+version, func(t *testing.T) { test(t, over, version) })
		}
	}
}

func TestServer_worksWithTheOfficialGoClient(t *testing.T) {
	overAll(t, func(t *testing.T, over, version string) {
		session := connected(t, gateFor(t, ""), over, version, nil)
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 5 {
			t.Fatalf("%v, %v", tools, err)
		}
		var created task.Created
		called(t, session, "create_task", map[string]any{"title": "<t>", "acceptance_criteria": []string{"c"}, "created_by": "a"}, &created)
		var claimed task.ClaimRecorded
		called(t, session, "claim_done", map[string]any{"task_id": created.TaskID, "agent_id": "a", "evidence": "e & \u2028"}, &claimed)
		refused, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "verify", Arguments: map[string]any{
			"task_id": created.TaskID, "verifier_agent_id": "a", "verdict": "verified",
		}})
		if err != nil || !refused.IsError || refused.StructuredContent != nil {
			t.Errorf("a verdict of the prover: %v, %v", refused, err)
		}
		var whole task.Task
		called(t, session, "get_task", map[string]any{"task_id": created.TaskID}, &whole)
		if diff := cmp.Diff([]any{"<t>", "e & \u2028", task.Claimed}, []any{whole.Title, whole.Evidence, whole.Status}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRegistry_worksWithTheOfficialGoClient(t *testing.T) {
	overAll(t, func(t *testing.T, over, version string) {
		session := connected(t, NewRegistry(newFleet(), logging(t, Options{})), over, version, nil)
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 4 {
			t.Fatalf("%v, %v", tools, err)
		}
		var page registry.ComponentPage
		called(t, session, "list_components", map[string]any{"limit": 2}, &page)
		if page.NextCursor != "files" || len(page.Components) != 2 {
			t.Errorf("a page: %+v", page)
		}
		var examination registry.Examination
		called(t, session, "probe_component", map[string]any{"name": "asm"}, &examination)
		if _, err := registry.DecodeResult(examination.Kind, examination.Result); err != nil || !examination.Passed {
			t.Errorf("a probe: %v in %+v", err, examination)
		}
		for run, allowed := range map[string]bool{"nightly": false, "weekly": true} {
			var answer registry.Preflight
			called(t, session, "preflight", map[string]any{"run": run}, &answer)
			if answer.Allowed != allowed || (answer.Ticket != nil) != allowed {
				t.Errorf("%s: %+v", run, answer)
			}
		}
		refused, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "preflight", Arguments: map[string]any{"run": "none"}})
		if err != nil || !refused.IsError || refused.StructuredContent != nil {
			t.Errorf("an unknown run: %v, %v", refused, err)
		}
	})
}
