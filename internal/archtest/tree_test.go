package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/countersign-dev/countersign"

// source is one Go file, parsed whatever its build constraints are.
type source struct {
	path    string // from the root, with slashes
	lines   int
	isTest  bool
	imports []string
	file    *ast.File
	set     *token.FileSet
}

// pkg is the directory of the file, which names its package in the table.
func (s source) pkg() string { return path.Dir(s.path) }

// tree is the repository: what a clone of it holds.
type tree struct {
	sources []source
	texts   map[string]string // every file that is text, by its path
	others  map[string]bool   // every file that is no text, such as a picture
	dirs    map[string]bool
}

// documents gives the paths of the Markdown files in order.
func (tr tree) documents() []string {
	var found []string
	for name := range tr.texts {
		if strings.HasSuffix(name, ".md") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// load reads the repository around the test.
func load(t *testing.T) tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{texts: map[string]string{}, others: map[string]bool{}, dirs: map[string]bool{}}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			tr.dirs[rel] = true
			if untracked(rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			return add(&tr, name, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// untracked names the directories that a clone does not hold; .gitignore lists
// the same.
func untracked(dir string) bool {
	return slices.Contains([]string{".git", "bin", "build"}, dir) || path.Base(dir) == "node_modules"
}

// add reads one file into the tree.
func add(tr *tree, name, rel string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.ContainsRune(string(content), 0) {
		tr.others[rel] = true
		return nil
	}
	tr.texts[rel] = string(content)
	if !strings.HasSuffix(rel, ".go") || strings.Contains(rel, "testdata/") {
		return nil
	}
	parsed, err := parse(rel, string(content))
	if err != nil {
		return err
	}
	tr.sources = append(tr.sources, parsed)
	return nil
}

func parse(rel, content string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, rel, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{path: rel, lines: strings.Count(content, "\n"), isTest: strings.HasSuffix(rel, "_test.go"), file: file, set: set}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// planted parses one Go file that a test makes up.
func planted(t *testing.T, rel, content string) source {
	t.Helper()
	s, err := parse(rel, content)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// complain fails the test with every problem found.
func complain(t *testing.T, problems []string) {
	t.Helper()
	slices.Sort(problems)
	for _, problem := range slices.Compact(problems) {
		t.Error(problem)
	}
}
