package mcpserver

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/task"
)

// connected returns a session of the official Go client, over stdio or HTTP, in
// the era of a protocol version.
func connected(t *testing.T, over, version string) *mcp.ClientSession {
	t.Helper()
	var transport mcp.Transport
	if over == "HTTP" {
		transport = &mcp.StreamableClientTransport{Endpoint: startHTTP(t, newOperations(t), Options{}).URL}
	} else {
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		server := New(newOperations(t), logging(t, Options{Caller: thisProcess("")}))
		ended := make(chan error, 1)
		go func() { ended <- server.ServeStdio(t.Context(), fromClient, toClient) }()
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
		transport = &mcp.IOTransport{Reader: out, Writer: in}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
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

func TestServer_worksWithTheOfficialGoClient(t *testing.T) {
	for _, over := range []string{"stdio", "HTTP"} {
		for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
			t.Run(over+" "+version, func(t *testing.T) {
				session := connected(t, over, version)
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
	}
}
