package registry_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestSummary_saysWhatTheGatesSay(t *testing.T) {
	t.Parallel()
	type gates struct{ healthz, test, list registry.GateResult }
	held := registry.Pass(2*time.Millisecond, "status 200")
	fail := func(cause registry.Cause) registry.GateResult {
		return registry.Fail(9*time.Millisecond, cause, "words")
	}
	for name, row := range map[string]struct {
		gates   gates
		tools   int
		outcome registry.Outcome
		causes  []registry.Cause
		reason  string
		proof   string
	}{
		"a pass": {
			gates{held, held, held},
			2, registry.OutcomePassed, nil, "",
			`{"healthz":true,"test":true,"listTools":true,"toolCount":2}`,
		},
		"a failure": {
			gates{held, fail(registry.NotOK), held},
			2, registry.OutcomeFailed,
			[]registry.Cause{registry.NotOK},
			"test: not_ok: words",
			`{"healthz":true,"test":false,"listTools":true,"toolCount":2}`,
		},
		"one cause of many gates": {
			gates{fail(registry.Refused), fail(registry.Refused), fail(registry.Timeout)},
			0, registry.OutcomeFailed,
			[]registry.Cause{registry.Refused, registry.Timeout},
			"healthz, test: refused: words; listTools: timeout: words",
			`{"healthz":false,"test":false,"listTools":false,"toolCount":0}`,
		},
		"sound gates without a tool": {
			gates{held, held, held},
			0, registry.OutcomeFailed,
			[]registry.Cause{registry.ZeroTools},
			"listTools: zero_tools",
			`{"healthz":true,"test":true,"listTools":true,"toolCount":0}`,
		},
		"what is ours alone": {
			gates{fail(registry.Denied), fail(registry.Denied), fail(registry.Overloaded)},
			0, registry.OutcomeUndecided,
			[]registry.Cause{registry.Denied, registry.Overloaded},
			"healthz, test: denied: words; listTools: overloaded: words",
			`{"healthz":false,"test":false,"listTools":false,"toolCount":0}`,
		},
		"what is ours beside gates that held": {
			gates{held, held, fail(registry.Overloaded)},
			0, registry.OutcomeUndecided,
			[]registry.Cause{registry.Overloaded},
			"listTools: overloaded: words",
			`{"healthz":true,"test":true,"listTools":false,"toolCount":0}`,
		},
		"what is ours beside a failure": {
			gates{fail(registry.Denied), held, fail(registry.Refused)},
			0, registry.OutcomeFailed,
			[]registry.Cause{registry.Denied, registry.Refused},
			"healthz: denied: words; listTools: refused: words",
			`{"healthz":false,"test":true,"listTools":false,"toolCount":0}`,
		},
	} {
		result := passing()
		result.Healthz, result.Test = row.gates.healthz, row.gates.test
		result.ListTools = registry.ToolsResult{GateResult: row.gates.list, ToolCount: row.tools}
		want := registry.Summary{
			ProbedAt: result.ProbedAt, Outcome: row.outcome, Causes: append([]registry.Cause{}, row.causes...), Reason: row.reason,
			Latency: 9 * time.Millisecond, Proof: json.RawMessage(row.proof),
			Tools: []string{"a", "b"}, ServerVersion: "0.0.1", ToolsDigest: "sha256:00",
			Sessions: registry.Opened{Opened: result.SessionsOpened, Ended: result.SessionsClosed},
		}
		for _, gate := range registry.Gates() {
			got := result.Gate(gate)
			want.Parts = append(want.Parts, registry.PartTime{
				Part: string(gate), OK: got.OK, Cause: got.Cause, Took: got.Took(),
			})
		}
		if row.gates == (gates{held, held, held}) {
			want.Latency = 2 * time.Millisecond
		}
		if diff := cmp.Diff(want, result.Summary()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSummary_ofAPassIsDegradedWhenADependencyCannotBeExecuted(t *testing.T) {
	t.Parallel()
	for entries, reason := range map[string]string{
		`{"nmap":{"executable":true},"dig":{"present":false}}`:                                                    "",
		`{"nmap":{"executable":false,"required":false},"dig":{}}`:                                                 "not executable: nmap",
		`{"whois":{"executable":false},"nmap":{"executable":false},"dig":{}}`:                                     "not executable: nmap, whois",
		`{"a":{"executable":"false"},"b":false,"c":null,"d":[],"e":{"executable":null},"f":{"Executable":false}}`: "",
	} {
		result := passing()
		if err := json.Unmarshal([]byte(entries), &result.Dependencies); err != nil {
			t.Fatal(err)
		}
		got := result.Summary()
		if got.Outcome != registry.OutcomePassed || got.Degraded != (reason != "") || got.Reason != reason {
			t.Errorf("%s: %s, degraded %v, %q, want %q", entries, got.Outcome, got.Degraded, got.Reason, reason)
		}
		result.Test = registry.Fail(0, registry.NotOK, "no")
		if got := result.Summary(); got.Degraded || got.Reason != "test: not_ok: no" {
			t.Errorf("%s, and a failure: degraded %v, %q", entries, got.Degraded, got.Reason)
		}
	}
	result := passing()
	result.Dependencies = map[string]json.RawMessage{strings.Repeat("x", 1000): json.RawMessage(`{"executable":false}`)}
	if got := result.Summary().Reason; len(got) > registry.MaxDetail {
		t.Errorf("a reason has %d bytes", len(got))
	}
}

func TestDecodeResult_isByKind(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(passing())
	if err != nil {
		t.Fatal(err)
	}
	got, err := registry.DecodeResult(registry.KindMCPServer, raw)
	if err != nil || !got.Passed() || got.Summary().ToolsDigest != "sha256:00" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := registry.DecodeResult(registry.KindMCPServer, []byte(`{"passed":true}`)); err == nil || got != nil {
		t.Errorf("a claim without evidence gives %+v, %v", got, err)
	}
	if got, err := registry.DecodeResult("toaster", raw); err == nil || got != nil {
		t.Errorf("an unknown kind gives %+v, %v", got, err)
	}
}

// TestDefinition_isWhatResultsAreAbout changes one thing after the other: a digest
// that changes needlessly throws results away, and one that does not change keeps
// those of another server.
func TestDefinition_isWhatResultsAreAbout(t *testing.T) {
	t.Parallel()
	digest := func(change func(*registry.Component, *registry.MCPServer)) string {
		c := server("asm")
		change(c, c.Spec.(*registry.MCPServer))
		definition, err := c.Definition()
		if err != nil {
			t.Fatal(err)
		}
		return definition
	}
	usual := digest(func(*registry.Component, *registry.MCPServer) {})
	const stored = "sha256:33dba1c0"
	if !strings.HasPrefix(usual, stored) {
		t.Errorf("the digest is %s, and %s is what databases hold", usual, stored)
	}
	for name, same := range map[string]func(*registry.Component, *registry.MCPServer){
		"its name":     func(c *registry.Component, _ *registry.MCPServer) { c.Name = "asm-eu" },
		"its schedule": func(c *registry.Component, _ *registry.MCPServer) { c.Interval, c.TTL, c.Timeout = 1, 2, 3 },
		"thresholds":   func(c *registry.Component, _ *registry.MCPServer) { c.Rise, c.Fall, c.ProbingDeadline = 1, 2, 3 },
		"drift":        func(_ *registry.Component, m *registry.MCPServer) { m.Drift = registry.DriftBlocks },
	} {
		if got := digest(same); got != usual {
			t.Errorf("%s changes the definition", name)
		}
	}
	seen := map[string]string{usual: "nothing"}
	for name, other := range map[string]func(*registry.Component, *registry.MCPServer){
		"the address":    func(_ *registry.Component, m *registry.MCPServer) { m.URL = "http://127.0.0.1:8081" },
		"the profile":    func(_ *registry.Component, m *registry.MCPServer) { m.Profile = registry.Protocol },
		"the command":    func(_ *registry.Component, m *registry.MCPServer) { m.Command = []string{"front"} },
		"required tools": func(_ *registry.Component, m *registry.MCPServer) { m.RequireTools = []string{"a"} },
		"a reference":    func(_ *registry.Component, m *registry.MCPServer) { m.Credentials.Bearer = registry.SecretAt("env:A") },
		"the canary": func(_ *registry.Component, m *registry.MCPServer) {
			m.Canary = &registry.Canary{Tool: "a", Expect: registry.Expectation{Matches: regexp.MustCompile("x")}}
		},
		"its expectation": func(_ *registry.Component, m *registry.MCPServer) {
			m.Canary = &registry.Canary{Tool: "a", Expect: registry.Expectation{Matches: regexp.MustCompile("y")}}
		},
	} {
		got := digest(other)
		if before, twice := seen[got]; twice {
			t.Errorf("%s gives the definition of %s", name, before)
		}
		seen[got] = name
	}
	secret := func(text string) string {
		return digest(func(_ *registry.Component, m *registry.MCPServer) { m.Credentials.Bearer = registry.SecretText(text) })
	}
	if secret("a") != secret("b") {
		t.Error("the text of a secret is part of the definition")
	}
}
