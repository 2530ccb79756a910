//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	exampleServer   = "../examples/typescript-server/server.ts"
	examplePackages = "../examples/typescript-server/package.json"
)

// notesServer is the command that starts the TypeScript example on a folder with
// two notes, which it returns too. The example finds the packages of e2e/node,
// whose versions are the ones that it asks for.
func notesServer(t *testing.T) (argv []string, folder string) {
	t.Helper()
	source, err := os.ReadFile(exampleServer)
	if err != nil {
		t.Fatal(err)
	}
	home, folder := t.TempDir(), t.TempDir()
	for file, content := range map[string]string{
		filepath.Join(home, "server.ts"):    string(source),
		filepath.Join(home, "package.json"): `{"type":"module"}`,
		filepath.Join(folder, "gates.md"):   "# Gates\nA gate is one of three checks.\n",
		filepath.Join(folder, "tasks.md"):   "# Tasks\nA task passes a gate, too.\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(absolute(t, filepath.Join("node", "node_modules")), filepath.Join(home, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return []string{node(t), filepath.Join(home, "server.ts"), folder}, folder
}

func TestExample_ofTypeScriptWorksOverStdio(t *testing.T) {
	t.Parallel()
	argv, folder := notesServer(t)
	var steps []string
	progress := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, told *mcp.ProgressNotificationClientRequest) { progress <- told.Params.Message },
	})
	command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	search := func() string {
		call := &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"text": "GATE"}}
		call.SetProgressToken("search")
		result, err := session.CallTool(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError {
			return "error: " + text
		}
		return text
	}
	steps = append(steps, search())
	for _, want := range []string{"gates", "tasks"} {
		select {
		case got := <-progress:
			if got != want {
				t.Errorf("told the progress %q, want %q", got, want)
			}
		case <-time.After(startTimeout):
			t.Fatalf("told no progress on %s", want)
		}
	}
	note, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note:///gates"})
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, note.Contents[0].Text)
	prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "explain", Arguments: map[string]string{"name": "tasks"}})
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, prompt.Messages[0].Content.(*mcp.TextContent).Text)
	if err := os.Rename(folder, folder+".moved"); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, search())
	wanted := []string{"gates: # Gates\ngates: A gate is one of three checks.\ntasks: A task passes a gate, too.", "# Gates\n", "Explain this note:\n\n# Tasks", "error: ENOENT"}
	for i, want := range wanted {
		if !strings.HasPrefix(steps[i], want) {
			t.Errorf("step %d: %q, want %q", i+1, steps[i], want)
		}
	}
	if tools, err := session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "search" {
		t.Errorf("with its folder gone it lists %+v (%v)", tools, err)
	}
}

// TestExample_asksForTheVersionsThatAreTested keeps what the author of a server
// installs and what the tests run the same.
func TestExample_asksForTheVersionsThatAreTested(t *testing.T) {
	t.Parallel()
	var example, locked struct {
		Dependencies map[string]string                   `json:"dependencies"`
		Packages     map[string]struct{ Version string } `json:"packages"`
	}
	for file, into := range map[string]any{examplePackages: &example, "node/package-lock.json": &locked} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if len(example.Dependencies) == 0 {
		t.Error("the example asks for nothing")
	}
	for name, version := range example.Dependencies {
		if tested := locked.Packages["node_modules/"+name].Version; tested != version {
			t.Errorf("the example asks for %s %s, the tests run %s", name, version, tested)
		}
	}
}
