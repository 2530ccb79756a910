package mcpserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/task"
)

// listBudget is how many bytes tools/list may have in all: every client sends
// them to its model with each turn.
const listBudget = 10 << 10

func listed(t *testing.T, server *Server) string {
	t.Helper()
	c := connect(t, server)
	c.initialize()
	return c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

// gateFor returns the task gate for an agent.
func gateFor(t *testing.T, lock task.AgentID) *Server {
	t.Helper()
	return New(newOperations(t), logging(t, Options{Caller: thisProcess(lock)}))
}

func TestToolsList_isAsRecordedAndSmall(t *testing.T) {
	for name, server := range map[string]*Server{
		"tools_open.json":     gateFor(t, ""),
		"tools_locked.json":   gateFor(t, "reviewer"),
		"tools_registry.json": NewRegistry(newFleet(), logging(t, Options{})),
	} {
		answer := listed(t, server)
		if len(answer) >= listBudget {
			t.Errorf("tools/list has %d bytes, which is not under %d", len(answer), listBudget)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, []byte(answer), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, pretty.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		recorded, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(recorded), pretty.String()); diff != "" {
			t.Errorf("%s (-recorded +now):\n%s", name, diff)
		}
	}
}

func TestToolsList_isWhatModelsAndClientsNeed(t *testing.T) {
	isWhatIsNeeded(t, gateFor(t, ""), map[string]hints{
		"get_task": {reads: true}, "list_tasks": {reads: true}, "create_task": {}, "claim_done": {}, "verify": {},
	})
	isWhatIsNeeded(t, NewRegistry(newFleet(), logging(t, Options{})), map[string]hints{
		"list_components": {reads: true}, "get_component": {reads: true},
		"probe_component": {reachesOut: true}, "preflight": {reachesOut: true},
	})
}

// hints are what the annotations of a tool say.
type hints struct{ reads, reachesOut bool }

func isWhatIsNeeded(t *testing.T, server *Server, expected map[string]hints) {
	t.Helper()
	var answer struct {
		Result struct {
			Tools []struct {
				Name, Description string
				InputSchema       jsonschema.Schema
				OutputSchema      any
				Annotations       map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(listed(t, server)), &answer); err != nil {
		t.Fatal(err)
	}
	for _, tool := range answer.Result.Tools {
		want, known := expected[tool.Name]
		delete(expected, tool.Name)
		got := hints{tool.Annotations["readOnlyHint"] == true, tool.Annotations["openWorldHint"] == true}
		if !known || got != want || tool.Annotations["destructiveHint"] != false {
			t.Errorf("%s: annotations %v", tool.Name, tool.Annotations)
		}
		if tool.OutputSchema != nil {
			t.Errorf("%s has an output schema", tool.Name)
		}
		resolved, err := tool.InputSchema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if resolved.Validate(map[string]any{"no_such": 1}) == nil {
			t.Errorf("%s: the schema permits an unknown argument", tool.Name)
		}
		for name, property := range tool.InputSchema.Properties {
			if property.Description == "" || property.Type == "" {
				t.Errorf("%s: %s has no description or no type", tool.Name, name)
			}
		}
	}
	if len(expected) > 0 {
		t.Errorf("not listed: %v", expected)
	}
}
