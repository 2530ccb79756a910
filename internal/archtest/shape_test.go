package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The sizes that nothing may pass.
const (
	maxFunctionLines     = 60
	maxFileLines         = 400
	maxArchitectureLines = 200
)

// banned words say nothing about what they name.
var banned = []string{"util", "utils", "common", "helper", "helpers", "base", "manager", "service", "data", "info", "misc", "types", "models"}

// checkSizes holds files, and the functions of the program, to their sizes.
// Comments inside a function do not count against it.
func checkSizes(s source) []string {
	var problems []string
	if s.lines > maxFileLines {
		problems = append(problems, fmt.Sprintf("%s has %d lines; at most %d", s.path, s.lines, maxFileLines))
	}
	for _, declared := range s.file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Body == nil || s.isTest {
			continue
		}
		if lines := codeLines(s, function); lines > maxFunctionLines {
			problems = append(problems, fmt.Sprintf("%s: %s has %d lines; at most %d", s.path, function.Name.Name, lines, maxFunctionLines))
		}
	}
	return problems
}

func codeLines(s source, function *ast.FuncDecl) int {
	line := func(pos token.Pos) int { return s.set.Position(pos).Line }
	lines := line(function.End()) - line(function.Pos()) + 1
	for _, group := range s.file.Comments {
		if group.Pos() > function.Body.Pos() && group.End() < function.Body.End() {
			lines -= line(group.End()) - line(group.Pos()) + 1
		}
	}
	return lines
}

// checkNames looks for banned words in the names of packages, files, functions,
// methods and types. Fields and constants may have to follow somebody's wire.
func checkNames(s source) []string {
	var problems []string
	check := func(what, name string) {
		for _, word := range words(name) {
			if slices.Contains(banned, word) {
				problems = append(problems, fmt.Sprintf("%s: the %s %s uses the banned word %q", s.path, what, name, word))
			}
		}
	}
	check("package", s.file.Name.Name)
	check("file", strings.TrimSuffix(path.Base(s.path), ".go"))
	for _, declared := range s.file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			if !s.isTest {
				check("function", d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					check("type", named.Name.Name)
				}
			}
		}
	}
	return problems
}

// words splits a name at underscores, dots, hyphens and capitals.
func words(name string) []string {
	name = strings.ReplaceAll(name, "KnowledgeBase", "Knowledge") // a kind of component, which the glossary names
	name = strings.ReplaceAll(name, "knowledgeBase", "knowledge")
	var spaced strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return strings.ContainsRune(" _.-", r) })
}

// checkInits refuses functions that run before main, and patterns of the program
// that are compiled there: every start pays for them, whatever it is for.
func checkInits(s source) []string {
	var problems []string
	for _, declared := range s.file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
			problems = append(problems, fmt.Sprintf("%s has an init function", s.path))
		}
		if variables, ok := declared.(*ast.GenDecl); ok && !s.isTest && isShipped(s) {
			ast.Inspect(variables, func(n ast.Node) bool {
				if called, ok := n.(*ast.SelectorExpr); ok && called.Sel.Name == "MustCompile" {
					problems = append(problems, fmt.Sprintf("%s: line %d compiles a pattern at every start; use sync.OnceValue", s.path, s.set.Position(n.Pos()).Line))
				}
				_, isLater := n.(*ast.FuncLit)
				return !isLater
			})
		}
	}
	return problems
}

// isShipped reports whether a file is of the program or of the public kit.
func isShipped(s source) bool {
	first, _, _ := strings.Cut(s.path, "/")
	return slices.Contains([]string{"cmd", "gates", "internal"}, first)
}

func TestShape_sizesNamesAndInits(t *testing.T) {
	tr := load(t)
	if len(tr.sources) == 0 {
		t.Fatal("found no Go file")
	}
	for _, s := range tr.sources {
		complain(t, checkSizes(s))
		complain(t, checkNames(s))
		complain(t, checkInits(s))
	}
	if lines := strings.Count(tr.texts["ARCHITECTURE.md"], "\n"); lines > maxArchitectureLines {
		t.Errorf("ARCHITECTURE.md has %d lines; at most %d", lines, maxArchitectureLines)
	}
}

func TestShape_plantedViolationsAreFound(t *testing.T) {
	long := planted(t, "internal/x/long.go", "package x\n\nfunc F() {\n"+strings.Repeat("\tF()\n", maxFunctionLines)+"}\n"+strings.Repeat("\n", maxFileLines))
	named := planted(t, "internal/x/http_util.go", "package x\n\ntype taskManager struct{}\n\nfunc init() {}\n\nfunc serverInfo() {}\n")
	fine := planted(t, "internal/x/fine.go", "package x\n\nfunc F() {\n"+strings.Repeat("\t// Why.\n", maxFunctionLines)+"}\n\ntype database struct{}\n")
	eager := planted(t, "internal/x/eager.go", "package x\n\nvar a = regexp.MustCompile(`a`)\n\nvar b = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`b`) })\n")
	var got []string
	for _, s := range []source{long, named, fine, eager} {
		got = slices.Concat(got, checkSizes(s), checkNames(s), checkInits(s))
	}
	want := []string{
		"internal/x/long.go has 464 lines; at most 400",
		"internal/x/long.go: F has 62 lines; at most 60",
		`internal/x/http_util.go: the file http_util uses the banned word "util"`,
		`internal/x/http_util.go: the type taskManager uses the banned word "manager"`,
		`internal/x/http_util.go: the function serverInfo uses the banned word "info"`,
		"internal/x/http_util.go has an init function",
		"internal/x/eager.go: line 3 compiles a pattern at every start; use sync.OnceValue",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
