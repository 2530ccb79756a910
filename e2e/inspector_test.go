//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspectorToolError is the exit code with which the Inspector reports a tool
// that answered with an error.
const inspectorToolError = 5

// TestInspector_doesTheQuickstart drives the quickstart with the command line of
// the official Inspector, each call a process and a connection of its own.
func TestInspector_doesTheQuickstart(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		t.Run("stdio, "+era+" era", func(t *testing.T) {
			t.Parallel()
			database := sqlite(t)
			inspectorQuickstart(t, era, func(agent string) []string {
				return []string{binary(), "mcp", "--db", database, "--agent-id", agent}
			})
		})
		t.Run("http, "+era+" era", func(t *testing.T) {
			t.Parallel()
			url := startServe(t, sqlite(t)) + "/mcp"
			inspectorQuickstart(t, era, func(string) []string { return []string{url, "--transport", "http"} })
		})
	}
}

// inspectorQuickstart makes the calls of the quickstart and compares the results
// with those that the other clients saw.
func inspectorQuickstart(t *testing.T, era string, target func(agent string) []string) {
	t.Helper()
	content, err := os.ReadFile("testdata/quickstart.json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []struct {
		Agent     string          `json:"agent"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(content, &calls); err != nil {
		t.Fatal(err)
	}
	var steps []step
	for _, call := range calls {
		arguments := string(call.Arguments)
		for i, earlier := range steps {
			if object, ok := earlier.Result.(map[string]any); ok {
				arguments = strings.ReplaceAll(arguments, fmt.Sprintf("<task_id of step %d>", i+1), fmt.Sprint(object["task_id"]))
			}
		}
		taken := inspect(t, era, target(call.Agent), call.Tool, arguments)
		taken.Agent, taken.Tool = call.Agent, call.Tool
		steps = append(steps, taken)
	}
	compareSteps(t, steps)
}

// inspect makes one call.
func inspect(t *testing.T, era string, target []string, tool, arguments string) step {
	t.Helper()
	argv := append([]string{node(t), nodePackage(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli"}, target...)
	argv = append(argv, "--protocol-era", era, "--format", "json", "--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments)
	ran := run(t, t.TempDir(), environment(t), argv...)
	var said struct {
		Result struct {
			IsError           bool                    `json:"isError"`
			Content           []struct{ Text string } `json:"content"`
			StructuredContent any                     `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(ran.stdout), &said); err != nil || len(said.Result.Content) != 1 {
		t.Fatalf("%s with %s: the Inspector said, with exit code %d:\n%s%s", tool, arguments, ran.code, ran.stdout, ran.stderr)
	}
	taken := step{IsError: said.Result.IsError}
	if err := json.Unmarshal([]byte(said.Result.Content[0].Text), &taken.Result); err != nil {
		t.Fatalf("%s: the content is no JSON: %v\n%s", tool, err, ran.stdout)
	}
	wantCode, wantStructured := 0, taken.Result
	if taken.IsError {
		wantCode, wantStructured = inspectorToolError, nil
	}
	if diff := cmp.Diff(wantStructured, said.Result.StructuredContent); diff != "" || ran.code != wantCode {
		t.Errorf("%s: exit code %d, want %d; structuredContent (-want +got):\n%s", tool, ran.code, wantCode, diff)
	}
	return taken
}
