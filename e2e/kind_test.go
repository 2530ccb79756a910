//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/registry"
)

// buildWithTeapot builds the program with a kind that it does not have: the files
// of teapot.txtar, and a row in each of three tables. Nothing else is touched, and
// the folder of the project not at all.
func buildWithTeapot(t *testing.T) string {
	t.Helper()
	folder, root := t.TempDir(), absolute(t, "..")
	replaced := map[string]string{}
	lay := func(name, text string) {
		file := filepath.Join(folder, strings.ReplaceAll(name, "/", "_"))
		writeFile(t, file, text)
		replaced[filepath.Join(root, name)] = file
	}
	kinds := make([]string, len(registry.Kinds()))
	for i, kind := range registry.Kinds() {
		kinds[i] = "'" + string(kind) + "'"
	}
	archive, err := txtar.ParseFile("testdata/kind/teapot.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		steps, err := filepath.Glob(filepath.Join(root, filepath.Dir(file.Name), "*.sql"))
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Replace(file.Name, "NEXT", fmt.Sprintf("%04d", len(steps)+1), 1)
		lay(name, strings.ReplaceAll(string(file.Data), "KINDS", strings.Join(kinds, ", ")))
	}
	const last = "ofKnowledgeBases()}"
	for _, name := range []string{"internal/registry/kind.go", "internal/probe/kind.go", "internal/config/kind.go"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), last) != 1 {
			t.Fatalf("%s has no table that ends with %s", name, last)
		}
		lay(name, strings.Replace(string(text), last, "ofKnowledgeBases(), ofTeapots()}", 1))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "overlay.json"), string(overlay))
	program := filepath.Join(folder, "countersign")
	built := run(t, ".", append(os.Environ(), "CGO_ENABLED=0"),
		"go", "build", "-buildvcs=false", "-trimpath", "-overlay", filepath.Join(folder, "overlay.json"), "-o", program, "../cmd/countersign")
	if built.code != 0 {
		t.Fatalf("build with a teapot:\n%s", built.stderr)
	}
	return program
}

// TestKind_isAddedByAFileInEachPackageAMigrationAndARowInEachTable goes the whole
// way with a kind that only this test knows, on both databases: configuration,
// probe, status, preflight, ticket, and the database's own verdict.
func TestKind_isAddedByAFileInEachPackageAMigrationAndARowInEachTable(t *testing.T) {
	t.Parallel()
	program := buildWithTeapot(t)
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, env, database := t.TempDir(), environment(t), open(t)
			configure(t, folder, `
components:
  pot: {kind: teapot, thermometer: pot.txt}
  can: {kind: teapot, thermometer: can.txt}
slots: {tea: {primary: can, fallbacks: [pot]}}
runs: {breakfast: {slots: {tea: required}}}
`)
			says := func(code int, want string, command ...string) {
				t.Helper()
				got := run(t, folder, env, append([]string{program}, command...)...)
				if got.code != code || !strings.Contains(got.stdout+got.stderr, want) {
					t.Errorf("%v: exit code %d, want %d with %q\n%s%s", command, got.code, code, want, got.stdout, got.stderr)
				}
			}
			writeFile(t, filepath.Join(folder, "pot.txt"), "100\n")
			writeFile(t, filepath.Join(folder, "can.txt"), "20\n")
			says(0, "countersign.yaml is valid: 2 components", "config", "check")
			says(0, "pot  passed", "probe", "pot", "--db", database)
			says(1, "cold: The water does not boil. Light the fire.", "probe", "can", "--db", database)
			says(0, "1 available, 1 unavailable", "component", "list", "--db", database)
			says(0, "may start on a fallback: tea by pot", "preflight", "breakfast", "--db", database, "--ticket", "tea.ticket")
			says(0, "the ticket holds", "preflight", "--check", "tea.ticket", "--db", database)
			writeFile(t, filepath.Join(folder, "pot.txt"), "60\n")
			says(1, "the ticket does not hold", "preflight", "--check", "tea.ticket", "--db", database)
			says(1, "refused: nothing healthy behind tea", "preflight", "breakfast", "--db", database)
		})
	}
}
