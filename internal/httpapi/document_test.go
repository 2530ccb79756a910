package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/httpstatus"
)

// TestDocument_isMadeFromTheAPI holds the tables of docs/API.md against the OpenAPI
// document and the faults.
func TestDocument_isMadeFromTheAPI(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "API.md")
	plain, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(plain)
	got := between(t, want, "<!-- made from the OpenAPI document:", operationRows(t))
	got = between(t, got, "<!-- made from the faults:", faultRows())
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		want = got
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not current (-file +API):\n%s", file, diff)
	}
}

// between replaces what stands between a mark and the end of it.
func between(t *testing.T, page, mark, text string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, mark)
	line, rest, _ := strings.Cut(rest, "\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		t.Fatalf("there is no %s with its end", mark)
	}
	return before + mark + line + "\n\n" + text + "\n<!-- end -->" + after
}

func operationRows(t *testing.T) string {
	t.Helper()
	f := startFleet(t, func(*Options) {})
	_, body := f.ask(t, asking{method: http.MethodGet, path: pathDocument})
	var read struct {
		Paths map[string]map[string]struct {
			OperationID string
			Summary     string
			RequestBody json.RawMessage
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(body), &read); err != nil || len(read.Paths) == 0 {
		t.Fatalf("the document has %d paths: %v", len(read.Paths), err)
	}
	rows := "| method | path | operation | for | takes |\n|---|---|---|---|---|\n"
	for _, path := range slices.Sorted(maps.Keys(read.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(read.Paths[path])) {
			operation := read.Paths[path][method]
			var takes []string
			if operation.RequestBody != nil {
				takes = append(takes, "a body")
			}
			for _, parameter := range operation.Parameters {
				if parameter.In == "query" {
					takes = append(takes, "`"+parameter.Name+"`")
				}
			}
			rows += fmt.Sprintf("| %s | `%s` | `%s` | %s | %s |\n", strings.ToUpper(method), path, operation.OperationID, operation.Summary, strings.Join(takes, ", "))
		}
	}
	return rows
}

func faultRows() string {
	codes := map[int][]string{}
	for _, code := range fault.Codes() {
		codes[httpstatus.Of(code)] = append(codes[httpstatus.Of(code)], "`"+string(code)+"`: "+strings.TrimSuffix(code.Meaning(), "."))
	}
	rows := "| status | codes |\n|---|---|\n"
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		rows += fmt.Sprintf("| %d | %s |\n", status, strings.Join(codes[status], "; "))
	}
	return rows
}
