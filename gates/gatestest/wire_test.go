package gatestest_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/registry"
)

const wireDocument = "../../docs/WIRE.md"

func wireContract(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(wireDocument)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var verdictRow = regexp.MustCompile("(?m)^\\| `(\\d{3})` \\| (?:`(.*)`|nothing) \\| (?:`([a-z_]+)`|it passes) \\|$")

func TestWireContract_saysWhatTheProberSays(t *testing.T) {
	t.Parallel()
	rows := verdictRow.FindAllStringSubmatch(wireContract(t), -1)
	if len(rows) < 20 {
		t.Fatalf("found only %d rows of the table of verdicts", len(rows))
	}
	for _, row := range rows {
		status, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := registry.JudgeTest(status, []byte(row[2])); got.Cause != registry.Cause(row[3]) {
			t.Errorf("%s %s: the prober says %q, the document %q", row[1], row[2], got.Cause, row[3])
		}
	}
}

// TestWireContract_showsTheBodyOfTheKit compares the members that the document
// shows with those that the kit writes.
func TestWireContract_showsTheBodyOfTheKit(t *testing.T) {
	t.Parallel()
	_, after, found := strings.Cut(wireContract(t), "```json\n")
	shown, _, ended := strings.Cut(after, "```")
	if !found || !ended {
		t.Fatal("the document has no block of JSON")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	gates.Mount(mux, gates.Options{Service: "s", Version: "1", Dependencies: []gates.Dependency{
		gates.Required("nmap", gates.Executable{Path: path, Args: []string{"-test.run=^$", "-test.v"}, Match: regexp.MustCompile(`(PASS)`), MinVersion: "7.93"}),
	}})
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/test", nil))
	documented, written := members(t, shown), members(t, answer.Body.String())
	if diff := cmp.Diff(documented, written); diff != "" {
		t.Errorf("members (-document +kit):\n%s\n%s", diff, answer.Body)
	}
}

// members gives the names of the members of a body, and of its first tool.
func members(t *testing.T, body string) [][]string {
	t.Helper()
	var whole map[string]json.RawMessage
	var tools map[string]map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(body), &whole), json.Unmarshal(whole["tools"], &tools)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	names := [][]string{slices.Sorted(maps.Keys(whole))}
	for _, tool := range tools {
		names = append(names, slices.Sorted(maps.Keys(tool)))
	}
	return names
}
