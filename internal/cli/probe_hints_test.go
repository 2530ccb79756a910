package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestParseExpectation_readsWhatTheReferenceSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]registry.Expectation{
		"":                                   {},
		"not_empty":                          {},
		`path=$.a equals={"b": 1}`:           {Path: "$.a", Equals: []byte(`{"b": 1}`)},
		`path=$['x equals=y'] equals="z"`:    {Path: "$['x equals=y']", Equals: []byte(`"z"`)},
		`path=$..*[?@.n > 1]   min_count=12`: {Path: "$..*[?@.n > 1]", MinCount: 12},
		`path=$.a equals=null`:               {Path: "$.a", Equals: []byte(`null`)},
		`path=$[?@.a == " min_count=1"] equals=1`: {Path: `$[?@.a == " min_count=1"]`, Equals: []byte(`1`)},
	} {
		got, err := parseExpectation(text)
		if err != nil || got.Path != want.Path || string(got.Equals) != string(want.Equals) || got.MinCount != want.MinCount || got.Matches != nil {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got, err := parseExpectation("matches=a=b equals=c"); err != nil || got.Matches.String() != "a=b equals=c" {
		t.Errorf("a pattern: got %+v, %v", got, err)
	}
	for _, text := range []string{"empty", "matches=", "matches=(", "path=$.a", "path=a equals=1", "path=$.a equals=ok", "path=$.a min_count=0", "path=$.a min_count=x", "equals=1"} {
		if got, err := parseExpectation(text); err == nil {
			t.Errorf("%q: got %+v, want a refusal", text, got)
		}
	}
}

// bareProtocol is a result in the profile protocol without a canary.
func bareProtocol(target, likely string) registry.ProbeResult {
	result := sound()
	result.Target, result.Profile, result.LikelyCanary = target, registry.Protocol, likely
	result.Healthz.Detail = "the process answers"
	result.Test = registry.Fail(0, registry.NotConfigured, "no canary is declared")
	result.Transport, result.Era, result.ProtocolVersion = registry.Stdio, registry.Legacy, "2025-11-25"
	return result
}

// TestProbesTable_isWorthReading fixes the tables of the profile protocol and
// of many servers in a golden file.
func TestProbesTable_isWorthReading(t *testing.T) {
	t.Parallel()
	held := bareProtocol("npx -y some-server", "")
	held.Test.Detail = "drop_table is marked destructive; " + heldBack
	ends := bareProtocol("npx -y some-server", "")
	ends.Test = registry.Fail(3*time.Millisecond, registry.ProcessExit, "exit status 1")
	failed := bareProtocol("failing", "list_tables")
	bare := failed
	failed.Test = registry.Fail(3*time.Millisecond, registry.CanaryFailed, "list_tables: the tool reports an error: no database")
	gone := registry.ProbeResult{Target: "gone\x1b[2J", Profile: registry.Protocol, ProbedAt: at()}
	gone.Healthz = registry.Fail(time.Millisecond, registry.ProcessExit, "exit status 1; standard error: "+strings.Repeat("no API key ", 20))
	gone.Test, gone.ListTools.GateResult = gone.Healthz, gone.Healthz
	passed := sound()
	passed.Target = "a-server-with-a-name-that-is-rather-long"
	sh := newShell(t)
	for _, result := range []registry.ProbeResult{
		bareProtocol("npx -y some-server", "list_tables"), bareProtocol("npx -y some-server", ""), held, ends, bare, failed,
	} {
		sh.transcript.WriteString(probeTable(&result, nil, typed{isCommand: strings.Contains(result.Target, " ")}, painter{}) + "\n")
	}
	many := []registry.ProbeResult{passed, bareProtocol("tables", "list_tables"), held, failed, gone}
	sh.transcript.WriteString(probesTable(".mcp.json", many, nil, painter{}) + "\n")
	sh.transcript.WriteString(probesTable(".mcp.json", many, []registry.Gate{registry.ListTools}, painter{}) + "\n")
	sh.transcript.WriteString(probesTable(".mcp.json", many[:1], nil, painter{}) + "\n")
	sh.golden(t, "probes.txt")
}
