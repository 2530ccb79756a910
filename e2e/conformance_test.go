//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestServe_conformsToTheOfficialSuite runs the frozen requirements of two
// revisions against serve. The suite compares scenarios with the file of
// expected failures; this test also compares every single check.
func TestServe_conformsToTheOfficialSuite(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			url := startServe(t, sqlite(t))
			expected := absolute(t, filepath.Join("testdata", "conformance", revision+".yaml"))
			results := t.TempDir()
			suite := run(t, results, environment(t), node(t), nodePackage(t, "@modelcontextprotocol/conformance/dist/index.js"),
				"server", "--url", url+"/mcp", "--requirements", revision, "--expected-failures", expected, "-o", results)
			if suite.code != 0 {
				t.Errorf("the suite's own verdict: exit code %d\n%s%s", suite.code, suite.stdout, suite.stderr)
			}
			want := expectedFailures(t, expected)
			got := failures(t, results, unscored(t, revision))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("checks that fail (-expected +got):\n%s", diff)
			}
		})
	}
}

// startServe starts the server on a port of its choice and returns its base URL.
func startServe(t *testing.T, database string) string {
	t.Helper()
	folder := t.TempDir()
	serve := start(t, folder, environment(t), binary(), "serve", "--db", database, "--listen", "127.0.0.1:0")
	return serve.await(t, servedAt.String())[1]
}

var (
	servedAt    = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/mcp`)
	expectation = regexp.MustCompile(`^  - ([a-z0-9-]+) # ([a-z0-9 -]+)$`)
	listed      = regexp.MustCompile(`(?m)^  - (?:scenario: )?([a-z0-9-]+)`)
	scenarioDir = regexp.MustCompile(`^server-([a-z0-9-]+?)-\d{4}-\d\d-\d\dT`)
)

// expectedFailures reads the checks that fail, by scenario, and insists on a
// reason above each.
func expectedFailures(t *testing.T, file string) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string][]string{}
	before := ""
	for line := range strings.SplitSeq(string(content), "\n") {
		if match := expectation.FindStringSubmatch(line); match != nil {
			if !strings.HasPrefix(before, "  # ") {
				t.Errorf("%s gives no reason for %s", file, match[1])
			}
			expected[match[1]] = strings.Fields(match[2])
		} else if strings.HasPrefix(line, "  - ") {
			t.Errorf("%s names no check in %q", file, line)
		}
		before = line
	}
	return expected
}

// unscored gives the scenarios that the suite runs but does not count.
func unscored(t *testing.T, revision string) []string {
	t.Helper()
	content, err := os.ReadFile(nodePackage(t, "@modelcontextprotocol/conformance/requirements/"+revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(content), "\nnot_scored:")
	if !found {
		t.Fatalf("the requirements of %s have no section not_scored", revision)
	}
	var names []string
	for _, match := range listed.FindAllStringSubmatch(after, -1) {
		names = append(names, match[1])
	}
	return names
}

// failures reads the results of the suite: the failing checks of each scored
// scenario, warnings included, as the suite counts them.
func failures(t *testing.T, results string, unscored []string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("the suite left only %d results (%v)", len(files), err)
	}
	found := map[string]map[string]bool{}
	for _, file := range files {
		scenario := scenarioDir.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if scenario == nil {
			t.Fatalf("what scenario is %s?", file)
		}
		if slices.Contains(unscored, scenario[1]) {
			continue
		}
		for _, check := range readChecks(t, file) {
			if check.Status == "FAILURE" || check.Status == "WARNING" {
				if found[scenario[1]] == nil {
					found[scenario[1]] = map[string]bool{}
				}
				found[scenario[1]][check.ID] = true
			}
		}
	}
	sorted := map[string][]string{}
	for scenario, checks := range found {
		sorted[scenario] = slices.Sorted(maps.Keys(checks))
	}
	return sorted
}

// check is one check of a scenario.
type check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

func readChecks(t *testing.T, file string) []check {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	if err := json.Unmarshal(content, &checks); err != nil {
		t.Fatal(fmt.Errorf("read %s: %w", file, err))
	}
	return checks
}
