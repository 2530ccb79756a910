package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/registry"
)

// FuzzParse wants every text to be read or refused, with a number of problems
// that is bounded, each of them on a line of the text.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(strings.ReplaceAll(secretPlaces, "§", "Tr0ub4dor"))
	files, err := filepath.Glob(filepath.Join("testdata", "problems", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		loaded, invalid := parse("file.yaml", "/srv", text)
		if (loaded == nil) == (invalid == nil) {
			t.Fatalf("got %v and %v", loaded, invalid)
		}
		if invalid == nil {
			loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "x", true }})
			return
		}
		if len(invalid.Problems) == 0 || len(invalid.Problems) > MaxProblems || invalid.Total < len(invalid.Problems) {
			t.Fatalf("%d of %d problems", len(invalid.Problems), invalid.Total)
		}
		for _, problem := range invalid.Problems {
			lines := strings.Count(problem.String(), "\n") + 1
			if problem.Message == "" || problem.Line > strings.Count(text, "\n")+1 || lines > 4 {
				t.Errorf("a problem that cannot be shown: %q", problem.String())
			}
		}
	})
}

// FuzzClientServers wants every text to be read or refused.
func FuzzClientServers(f *testing.F) {
	f.Add(clientFile)
	f.Add(`{"servers": {"a": {"command": "x", "args": ["${input:key}"]}}, "inputs": []}`)
	f.Add(`{"mcp": {"servers": {"a": {"url": "http://127.0.0.1/?k=${K:-v}"}}},}`)
	f.Fuzz(func(t *testing.T, text string) {
		fill := expander{workspace: "/srv", lookup: func(name string) (string, bool) { return "v", name != "UNSET" }}
		servers, err := clientServers("mcp.json", text, fill)
		if err == nil && len(servers) > MaxClientServers {
			t.Fatalf("%d servers", len(servers))
		}
		for _, each := range servers {
			server, ok := each.Component.Spec.(*registry.MCPServer)
			if each.Problem == nil && (!ok || (server.URL == "") == (len(server.Command) == 0)) {
				t.Errorf("a server without one way to reach it: %+v", each.Component)
			}
		}
	})
}

// FuzzDeepestYAML wants the bound to hold for brackets that are nested for sure:
// those of a text without quotes and comments.
func FuzzDeepestYAML(f *testing.F) {
	f.Add("[[]]", `a "x`)
	f.Add("{[", `"\"" '#`)
	f.Fuzz(func(t *testing.T, brackets, before string) {
		depth, deepest := 0, 0
		brackets = strings.Map(func(r rune) rune {
			if strings.ContainsRune("[]{}", r) {
				return r
			}
			return -1
		}, brackets)
		for _, r := range brackets {
			if strings.ContainsRune("[{", r) {
				depth++
			} else {
				depth = max(0, depth-1)
			}
			deepest = max(deepest, depth)
		}
		if got := deepestYAML(before + "\n" + brackets); got < deepest {
			t.Errorf("%q after %q are nested %d deep, and the bound is %d", brackets, before, deepest, got)
		}
	})
}
