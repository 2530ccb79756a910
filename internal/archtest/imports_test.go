package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is one line of the table: a package and what it may import of ours.
type row struct {
	may        []string
	everything bool // everything but cmd/countersign
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readTable reads the table of ARCHITECTURE.md.
func readTable(document string) (map[string]row, error) {
	_, after, found := strings.Cut(document, "| package | owns | may import of ours |")
	if !found {
		return nil, fmt.Errorf("ARCHITECTURE.md has no table with the columns package, owns, may import of ours")
	}
	table := map[string]row{}
	for i, line := range strings.Split(after, "\n") {
		if i < 2 {
			continue // the rest of the heading and the rule below it
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != 3 {
			break
		}
		name := quoted.FindStringSubmatch(cells[0])
		if name == nil {
			return nil, fmt.Errorf("the row %q names no package", line)
		}
		if _, twice := table[name[1]]; twice {
			return nil, fmt.Errorf("the table has two rows for %s", name[1])
		}
		parsed, err := readRow(strings.TrimSpace(cells[2]))
		if err != nil {
			return nil, fmt.Errorf("the row of %s: %w", name[1], err)
		}
		table[name[1]] = parsed
	}
	return table, nil
}

func readRow(cell string) (row, error) {
	switch cell {
	case "nothing":
		return row{}, nil
	case "everything but `cmd/countersign`":
		return row{everything: true}, nil
	}
	var may []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		may = append(may, match[1])
	}
	if len(may) == 0 {
		return row{}, fmt.Errorf("%q is not a list of packages", cell)
	}
	return row{may: may}, nil
}

// checkImports compares the table with what the files import. Tests may import
// more: the databases and servers they try a package on.
func checkImports(table map[string]row, sources []source) []string {
	var problems []string
	exists := map[string]bool{}
	for _, s := range sources {
		exists[s.pkg()] = true
		entry, listed := table[s.pkg()]
		if !listed {
			problems = append(problems, fmt.Sprintf("%s is not in the table of ARCHITECTURE.md", s.pkg()))
			continue
		}
		if s.isTest {
			continue
		}
		for _, imported := range s.imports {
			if ours, ok := strings.CutPrefix(imported, modulePath+"/"); ok && !permits(entry, ours) {
				problems = append(problems, fmt.Sprintf("%s imports %s, which the table does not permit", s.path, ours))
			}
		}
	}
	for name := range table {
		if !exists[name] {
			problems = append(problems, fmt.Sprintf("the table lists %s, which does not exist", name))
		}
	}
	return problems
}

func permits(entry row, imported string) bool {
	if entry.everything {
		return imported != "cmd/countersign"
	}
	return slices.Contains(entry.may, imported)
}

// checkEdges holds rules that no row of the table may soften.
func checkEdges(sources []source) []string {
	transports := []string{"internal/mcpserver", "internal/httpapi", "internal/web"}
	var problems []string
	for _, s := range sources {
		if s.isTest {
			continue
		}
		for _, imported := range s.imports {
			ours, isOurs := strings.CutPrefix(imported, modulePath+"/")
			switch {
			case slices.Contains(transports, s.pkg()) && forbiddenToTransport(s.pkg(), imported, ours):
				problems = append(problems, fmt.Sprintf("%s is a transport and imports %s; go through the domain", s.path, imported))
			case s.pkg() == "gates" && (isOurs || strings.Contains(strings.Split(imported, "/")[0], ".")):
				problems = append(problems, fmt.Sprintf("%s imports %s; gates uses the standard library only", s.path, imported))
			case s.pkg() != "internal/cli" && ours == "internal/config":
				problems = append(problems, fmt.Sprintf("%s reads the configuration; only internal/cli does", s.path))
			}
		}
	}
	return problems
}

func forbiddenToTransport(pkg, imported, ours string) bool {
	if ours == "internal/web" && pkg == "internal/httpapi" {
		return false // it serves the pages
	}
	return imported == "database/sql" ||
		slices.Contains([]string{"internal/store", "internal/config", "internal/mcpserver", "internal/httpapi", "internal/web"}, ours)
}

func TestImports_followTheTable(t *testing.T) {
	tr := load(t)
	table, err := readTable(tr.texts["ARCHITECTURE.md"])
	if err != nil {
		t.Fatal(err)
	}
	if len(table) < 5 {
		t.Fatalf("read only %d rows from the table", len(table))
	}
	complain(t, checkImports(table, tr.sources))
	complain(t, checkEdges(tr.sources))
}

func TestImports_plantedViolationsAreFound(t *testing.T) {
	table, err := readTable("| package | owns | may import of ours |\n|---|---|---|\n" +
		"| `internal/fault` | codes | nothing |\n| `internal/task` | tasks | `internal/fault` |\n| `internal/gone` | air | nothing |\n")
	if err != nil {
		t.Fatal(err)
	}
	file := func(path, imported string) source {
		return planted(t, path, fmt.Sprintf("package x\n\nimport _ %q\n", imported))
	}
	got := checkImports(table, []source{
		file("internal/task/a.go", modulePath+"/internal/fault"),
		file("internal/fault/a.go", modulePath+"/internal/task"),
		file("internal/new/a.go", "fmt"),
	})
	got = append(got, checkEdges([]source{
		file("internal/httpapi/a.go", modulePath+"/internal/web"),
		file("internal/mcpserver/a.go", "database/sql"),
		file("internal/web/a.go", modulePath+"/internal/httpapi"),
		file("gates/a.go", "golang.org/x/sync/errgroup"),
		file("internal/probe/a.go", modulePath+"/internal/config"),
	})...)
	want := []string{
		"internal/fault/a.go imports internal/task, which the table does not permit",
		"internal/new is not in the table of ARCHITECTURE.md",
		"the table lists internal/gone, which does not exist",
		"internal/mcpserver/a.go is a transport and imports database/sql; go through the domain",
		"internal/web/a.go is a transport and imports " + modulePath + "/internal/httpapi; go through the domain",
		"gates/a.go imports golang.org/x/sync/errgroup; gates uses the standard library only",
		"internal/probe/a.go reads the configuration; only internal/cli does",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
