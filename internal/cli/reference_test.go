package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// TestReference_isMadeFromTheProgram holds docs/REFERENCE.md against the command
// line, the tools, the faults, the causes and the limits as they are.
func TestReference_isMadeFromTheProgram(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# Reference\n\nMade from the program: `go test ./internal/cli -run TestReference -update` writes it anew.\n")
	writeCommands(t, &page)
	writeTools(t, &page)
	writeFaults(&page)
	writeLimits(&page)
	writeCauses(&page)
	file := filepath.Join("..", "..", "docs", "REFERENCE.md")
	if *updateGolden {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("%s is not current (-file +program):\n%s", file, diff)
	}
}

func writeCommands(t *testing.T, page *strings.Builder) {
	t.Helper()
	parser, err := newParser(&flags{}, commands(), Surroundings{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	page.WriteString("\n## Commands\n\nEvery command has `--help`, and every command that prints has `--json`. " +
		"`countersign` without a command prints its usage to standard error and exits with 2; `countersign --version` is `countersign version`. " +
		"Exit codes: **0** yes, **1** no, " +
		"**2** the question could not be asked.\n")
	for _, leaf := range parser.Model.Leaves(true) {
		if leaf.Hidden {
			continue
		}
		fmt.Fprintf(page, "\n### `countersign %s`\n\n%s\n", strings.TrimSuffix(leaf.Summary(), " [flags]"), leaf.Help)
		if leaf.Detail != "" {
			fmt.Fprintf(page, "\n%s\n", leaf.Detail)
		}
		writeArguments(page, leaf)
	}
}

// writeArguments writes the arguments of one command, those of the command above
// it included.
func writeArguments(page *strings.Builder, leaf *kong.Node) {
	rows := ""
	for _, positional := range leaf.Positional {
		rows += fmt.Sprintf("| `%s` | %s |\n", cell(positional.Summary()), cell(positional.Help))
	}
	for _, group := range leaf.AllFlags(true) {
		for _, argument := range group {
			if !slices.Contains([]string{"help", "json", "version"}, argument.Name) {
				rows += fmt.Sprintf("| `%s` | %s |\n", cell(argument.String()), cell(argument.Help))
			}
		}
	}
	if rows != "" {
		page.WriteString("\n| argument | means |\n|---|---|\n" + rows)
	}
}

// listedTool is a tool as a client sees it.
type listedTool struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	InputSchema *jsonschema.Schema `json:"inputSchema"`
}

// writeTools writes the tools of mcp and of mcp --registry.
func writeTools(t *testing.T, page *strings.Builder) {
	t.Helper()
	page.WriteString("\n## Tools\n\nSuccess is one text content with a JSON object, and the same object as `structuredContent`.\n")
	shell := newShell(t)
	page.WriteString("\nOf the task gate, at `/mcp` and by `countersign mcp`:\n")
	writeToolsOf(t, page, shell)
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	page.WriteString("\nOf the registry, at `/mcp/registry` and by `countersign mcp --registry`:\n")
	writeToolsOf(t, page, shell, "--registry", "--config", file)
}

func writeToolsOf(t *testing.T, page *strings.Builder, shell *shell, flags ...string) {
	t.Helper()
	shell.in = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	code, out, complaint := shell.run(append([]string{"mcp"}, flags...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var answer struct {
		Result struct {
			Tools []listedTool `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil || code != 0 || len(answer.Result.Tools) == 0 {
		t.Fatalf("mcp ended with %d, %v:\n%s%s", code, err, out, complaint)
	}
	for _, tool := range answer.Result.Tools {
		fmt.Fprintf(page, "\n### `%s`\n\n%s\n\n| argument | required | means |\n|---|---|---|\n", tool.Name, tool.Description)
		for _, name := range slices.Sorted(maps.Keys(tool.InputSchema.Properties)) {
			required := ""
			if slices.Contains(tool.InputSchema.Required, name) {
				required = "yes"
			}
			fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, required, cell(tool.InputSchema.Properties[name].Description))
		}
	}
}

func writeFaults(page *strings.Builder) {
	page.WriteString("\n## Error codes\n\nA tool error has `isError: true` and one text content with `{code, message, current_status?, hint?, ...}`. " +
		"With `--json` the command line prints the same object.\n\n| code | exit | given when |\n|---|---|---|\n")
	for _, code := range fault.Codes() {
		fmt.Fprintf(page, "| `%s` | %d | %s |\n", code, exitCode(code), cell(code.Meaning()))
	}
}

func writeLimits(page *strings.Builder) {
	page.WriteString("\n## Limits\n\nPassing one is `E_TOO_LARGE`, and nothing is stored.\n\n| limit | at most |\n|---|---|\n")
	for _, limit := range task.Limits() {
		fmt.Fprintf(page, "| %s | %d %s |\n", limit.Name, limit.Max, limit.Unit)
	}
}

func writeCauses(page *strings.Builder) {
	page.WriteString("\n## Causes\n\nWhy a gate failed. The list is closed.\n\n| cause | means | what to do |\n|---|---|---|\n")
	for _, entry := range registry.Causes() {
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", entry.Cause, cell(entry.Sentence), cell(entry.Hint))
	}
}

// cell makes a text fit into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text)
}
