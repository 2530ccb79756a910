package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mentionedPath = regexp.MustCompile("`((?:\\.ci/|bench/|cmd/|docs/|e2e/|gates/|internal/|tools/go)[A-Za-z0-9_./-]*)`")
	mentionedName = regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z]*)(?:\\.([A-Z][A-Za-z]*))?`")
)

// declarations gives what each of our packages declares: Name, and Name.Method
// or Name.Field for what belongs to a type.
func declarations(sources []source) map[string][]string {
	declared := map[string][]string{}
	for _, s := range sources {
		if s.isTest {
			continue
		}
		name := path.Base(s.pkg())
		for _, decl := range s.file.Decls {
			declared[name] = append(declared[name], declaredBy(decl)...)
		}
	}
	return declared
}

func declaredBy(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{receiver(d.Recv.List[0].Type) + "." + d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			names = append(names, specified(spec)...)
		}
		return names
	}
	return nil
}

func specified(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		var names []string
		for _, name := range s.Names {
			names = append(names, name.Name)
		}
		return names
	case *ast.TypeSpec:
		return append([]string{s.Name.Name}, members(s)...)
	}
	return nil
}

// members gives the fields of a struct and the methods of an interface.
func members(s *ast.TypeSpec) []string {
	var list *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, s.Name.Name+"."+name.Name)
		}
	}
	return names
}

func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// checkMentions wants every path and every Go name of ours that a document
// mentions to exist.
func checkMentions(tr tree, declared map[string][]string, name string) []string {
	var problems []string
	text := outsideFences(tr.texts[name])
	for _, match := range mentionedPath.FindAllStringSubmatch(text, -1) {
		mentioned := strings.TrimSuffix(match[1], "/")
		if _, isFile := tr.texts[mentioned]; !isFile && !tr.dirs[mentioned] {
			problems = append(problems, fmt.Sprintf("%s mentions %s, which does not exist", name, match[1]))
		}
	}
	for _, match := range mentionedName.FindAllStringSubmatch(text, -1) {
		names, ours := declared[match[1]]
		wanted := strings.TrimSuffix(match[2]+"."+match[3], ".")
		if ours && !slices.Contains(names, wanted) {
			problems = append(problems, fmt.Sprintf("%s mentions %s.%s, which is not declared", name, match[1], wanted))
		}
	}
	return problems
}

func TestDocuments_mentionWhatExists(t *testing.T) {
	tr := load(t)
	declared := declarations(tr.sources)
	for _, name := range tr.documents() {
		complain(t, checkMentions(tr, declared, name))
	}
}

func TestDocuments_plantedMentionsAreFound(t *testing.T) {
	declared := declarations([]source{planted(t, "internal/task/a.go",
		"package task\n\ntype Gate struct{ Limit int }\n\nfunc (g *Gate) Claim() {}\n\nconst Pending = 1\n")})
	tr := tree{
		texts: map[string]string{"a.md": "`task.Gate`, `task.Gate.Claim`, `task.Gate.Limit`, `task.Pending`, `http.Server`, `internal/task`, " +
			"`task.Board`, `task.Gate.Lease`, `internal/gone`"},
		dirs: map[string]bool{"internal/task": true},
	}
	got := checkMentions(tr, declared, "a.md")
	want := []string{
		"a.md mentions internal/gone, which does not exist",
		"a.md mentions task.Board, which is not declared",
		"a.md mentions task.Gate.Lease, which is not declared",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
