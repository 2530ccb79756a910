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

func listed(t *testing.T, lock task.AgentID) string {
	t.Helper()
	c := startStdio(t, newOperations(t), Options{Caller: thisProcess(lock)})
	c.initialize()
	return c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

func TestToolsList_isAsRecordedAndSmall(t *testing.T) {
	for name, lock := range map[string]task.AgentID{"tools_open.json": "", "tools_locked.json": "reviewer"} {
		answer := listed(t, lock)
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
	if err := json.Unmarshal([]byte(listed(t, "")), &answer); err != nil {
		t.Fatal(err)
	}
	reads := map[string]bool{"get_task": true, "list_tasks": true, "create_task": false, "claim_done": false, "verify": false}
	for _, tool := range answer.Result.Tools {
		readOnly, known := reads[tool.Name]
		delete(reads, tool.Name)
		if !known || tool.Annotations["readOnlyHint"] != readOnly || tool.Annotations["destructiveHint"] != false {
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
	if len(reads) > 0 {
		t.Errorf("not listed: %v", reads)
	}
}
