//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clientScenario is a scenario of the official suite for clients: a server of the
// suite that watches what the prober does.
type clientScenario struct {
	name     string
	revision string
	probes   func(url string) ([]proberCall, error)
	verdicts []string            // of the probes, in order
	unasked  map[string][]string // checks that the suite skips, by the reason
}

// proberCall is one run of countersign probe.
type proberCall struct {
	flags []string
	env   []string
}

// What the prober does not do, so that the suite has nothing to check.
const (
	declaresNothing = "the prober declares no capability, since lists depend on them"
	onlyTools       = "the prober speaks of tools only"
	otherEra        = "the server speaks the modern era, in which there is no handshake"
)

func clientScenarios() []clientScenario {
	const (
		noCanary = "healthz yes, test no (not_configured), "
		empty    = noCanary + "listTools no (zero_tools), exit 1"
		modern   = "modern 2026-07-28, sessions 0 opened 0 closed, "
		given    = "modern 2026-07-28, sessions 1 opened 1 closed, " // the suite gives a session also in the modern era
		legacy   = "legacy 2025-11-25, sessions 0 opened 0 closed, "
		holds    = "healthz yes, test yes, listTools yes (1 tools), "
	)
	add := callTool("add_numbers", `{"a":2,"b":3}`, "--expect", "matches=is 5$")
	invalid := []string{holds + given + "exit 0"}
	for range invalidTools() {
		invalid = append(invalid, "healthz yes, test no (canary_failed), listTools yes (1 tools), "+given+"exit 1")
	}
	return []clientScenario{
		{name: "initialize", probes: plainProbe, verdicts: []string{empty}},
		{
			name: "request-metadata", probes: plainProbe, verdicts: []string{empty},
			unasked: map[string][]string{declaresNothing: {
				"ClientDeclaresElicitationCapability", "ClientDeclaresRootsCapability", "ClientDeclaresSamplingCapability",
			}},
		},
		{
			name: "http-standard-headers", probes: callTool("my-hyphenated-tool", `{}`),
			verdicts: []string{"healthz yes, test yes, listTools yes (2 tools), " + given + "exit 0"},
			unasked: map[string][]string{
				onlyTools: {
					"ClientMcpMethodHeader_prompts_get", "ClientMcpMethodHeader_prompts_list", "ClientMcpMethodHeader_resources_list",
					"ClientMcpMethodHeader_resources_read", "ClientMcpNameHeader_prompts_get", "ClientMcpNameHeader_resources_read",
				},
				otherEra: {"ClientMcpMethodHeader_initialize", "ClientMcpMethodHeader_notifications_initialized"},
			},
		},
		{name: "json-schema-ref-no-deref", probes: plainProbe, verdicts: []string{noCanary + "listTools yes (1 tools), " + modern + "exit 1"}},
		{name: "tools_call", revision: "2025-11-25", probes: add, verdicts: []string{holds + legacy + "exit 0"}},
		{name: "tools_call", revision: "2026-07-28", probes: add, verdicts: []string{holds + modern + "exit 0"}},
		{name: "http-custom-headers", probes: callsOfContext, verdicts: []string{
			"healthz yes, test yes, listTools yes (2 tools), " + given + "exit 0",
			"healthz yes, test yes, listTools yes (2 tools), " + given + "exit 0",
		}},
		{name: "http-invalid-tool-headers", probes: callInvalidTools, verdicts: invalid},
		{name: "auth/client-credentials-basic", revision: "2025-11-25", probes: componentOfContext, verdicts: []string{holds + legacy + "exit 0"}},
		{name: "auth/client-credentials-basic", revision: "2026-07-28", probes: componentOfContext, verdicts: []string{holds + modern + "exit 0"}},
	}
}

// TestProbe_conformsToTheOfficialSuite has the suite run the prober as a client.
// Every check must hold; what the suite skips is listed with its reason, so that a
// check that it no longer skips is noticed too.
func TestProbe_conformsToTheOfficialSuite(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range clientScenarios() {
		t.Run(strings.TrimSpace(scenario.name+" "+scenario.revision), func(t *testing.T) {
			t.Parallel()
			results := t.TempDir()
			argv := []string{
				node(t), nodePackage(t, "@modelcontextprotocol/conformance/dist/index.js"),
				"client", "--command", own, "--scenario", scenario.name, "-o", results, "--timeout", "120000",
			}
			if scenario.revision != "" {
				argv = append(argv, "--force", "--spec-version", scenario.revision) // extensions belong to no revision
			}
			suite := run(t, results, environment(t, envDriver+"="+driveSuite, envBinary+"="+binary()), argv...)
			told := clientResults(t, results, scenario.name)
			if suite.code != 0 {
				t.Errorf("the suite's own verdict: exit code %d\n%s%s\n%s", suite.code, suite.stdout, suite.stderr, told.stderr)
			}
			if diff := cmp.Diff(scenario.verdicts, told.verdicts(t)); diff != "" {
				t.Errorf("verdicts of the probes (-want +got):\n%s\n%s", diff, told.stderr)
			}
			checkScenario(t, scenario, told.checks)
		})
	}
}

// checkScenario compares check by check.
func checkScenario(t *testing.T, scenario clientScenario, checks []check) {
	t.Helper()
	held := 0
	var unasked []string
	for _, one := range checks {
		switch one.Status {
		case "SUCCESS":
			held++
		case "SKIPPED":
			unasked = append(unasked, one.Name)
		case "INFO":
		default:
			t.Errorf("%s (%s): %s: %s", one.Name, one.ID, one.Status, one.ErrorMessage)
		}
	}
	if held == 0 {
		t.Error("no check holds")
	}
	var expected []string
	for _, names := range scenario.unasked {
		expected = append(expected, names...)
	}
	slices.Sort(expected)
	slices.Sort(unasked)
	if diff := cmp.Diff(expected, unasked); diff != "" {
		t.Errorf("checks that the suite skips (-expected +got):\n%s", diff)
	}
}

// clientOutcome is what the suite leaves of one scenario.
type clientOutcome struct {
	checks []check
	stdout string // of the driver
	stderr string
}

func clientResults(t *testing.T, results, scenario string) clientOutcome {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(results, filepath.FromSlash(scenario)+"-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the suite left the results %v (%v), want one", folders, err)
	}
	read := func(file string) string {
		content, err := os.ReadFile(filepath.Join(folders[0], file))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	return clientOutcome{readChecks(t, filepath.Join(folders[0], "checks.json")), read("stdout.txt"), read("stderr.txt")}
}

// verdicts are those of the probes that the driver ran, one a line.
func (o clientOutcome) verdicts(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(o.stdout) {
		var probed driven
		if err := json.Unmarshal([]byte(line), &probed); err != nil {
			t.Fatalf("the driver said %q: %v", line, err)
		}
		all = append(all, verdict(t, outcome{code: probed.Code, stdout: probed.Stdout}))
	}
	return all
}
