package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// passing is a result whose gates all hold.
func passing() registry.ProbeResult {
	return registry.ProbeResult{
		Target:  "http://127.0.0.1:8080",
		Profile: registry.ThreeGates,
		Healthz: registry.Pass(1200*time.Microsecond, "status 200"),
		Test:    registry.Pass(3*time.Millisecond, "all required tools executable"),
		ListTools: registry.ToolsResult{
			GateResult: registry.Pass(8*time.Millisecond, "2 tools"), ToolCount: 2,
		},
		ProbedAt:        time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC),
		Tools:           []string{"a", "b"},
		ToolsDigest:     "sha256:00",
		Dependencies:    map[string]json.RawMessage{"nmap": json.RawMessage(`{"executable":true}`)},
		Era:             registry.Modern,
		Transport:       registry.StreamableHTTP,
		ProtocolVersion: "2026-07-28",
		Server:          registry.Server{Name: "tiny", Version: "0.0.1"},
		Timings:         registry.Timings{ConnectMs: 0.5, HandshakeMs: 2, ListMs: 1},
		Warnings:        []string{"odd"},
		SessionsOpened:  1,
		SessionsClosed:  1,
	}
}

func TestPassed_isTheConjunctionOfTheGatesAndATool(t *testing.T) {
	t.Parallel()
	for bits := range 16 {
		result := passing()
		result.Healthz.OK, result.Test.OK, result.ListTools.OK = bits&1 != 0, bits&2 != 0, bits&4 != 0
		if bits&8 == 0 {
			result.ListTools.ToolCount = 0
		}
		if got, want := result.Passed(), bits == 15; got != want {
			t.Errorf("healthz %v, test %v, listTools %v, %d tools: passed %v, want %v",
				result.Healthz.OK, result.Test.OK, result.ListTools.OK, result.ListTools.ToolCount, got, want)
		}
	}
	if zero := (&registry.ProbeResult{}); zero.Passed() {
		t.Error("the zero value has passed")
	}
}

func TestProbeResult_hasTheShapeOfTheContract(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(passing())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"target":"http://127.0.0.1:8080","profile":"three-gates",` +
		`"healthz":{"ok":true,"latencyMs":1.2,"detail":"status 200"},` +
		`"test":{"ok":true,"latencyMs":3,"detail":"all required tools executable"},` +
		`"listTools":{"ok":true,"latencyMs":8,"detail":"2 tools","toolCount":2},` +
		`"passed":true,"probedAt":"2026-11-30T12:00:00.250Z","tools":["a","b"],"toolsDigest":"sha256:00",` +
		`"dependencies":{"nmap":{"executable":true}},"era":"modern","transport":"streamable-http",` +
		`"protocolVersion":"2026-07-28","server":{"name":"tiny","version":"0.0.1"},` +
		`"timings":{"connectMs":0.5,"handshakeMs":2,"listMs":1},"warnings":["odd"],"sessionsOpened":1,"sessionsClosed":1}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestError_joinsTheFailuresOfTheGates(t *testing.T) {
	t.Parallel()
	result := passing()
	if got := result.Error(); got != "" {
		t.Errorf("a pass has the error %q", got)
	}
	result.Healthz = registry.Fail(0, registry.Refused, "connection refused")
	result.ListTools.GateResult = registry.Fail(0, registry.ZeroTools, "0 tools")
	const want = "healthz: refused: connection refused; listTools: zero_tools: 0 tools"
	if got := result.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecode_givesBackWhatWasEncoded(t *testing.T) {
	t.Parallel()
	failed := passing()
	failed.Test = registry.Fail(time.Second, registry.Timeout, "the time ran out")
	for _, want := range []registry.ProbeResult{passing(), failed} {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got registry.ProbeResult
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("decode %s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decoded (-want +got):\n%s", diff)
		}
	}
}

func TestDecode_refusesWhatTheGatesDoNotSupport(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(passing())
	if err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string][2]string{
		"passed over a failed gate":       {`"test":{"ok":true`, `"test":{"ok":false`},
		"passed with no tools":            {`"toolCount":2`, `"toolCount":0`},
		"not passed over sound gates":     {`"passed":true`, `"passed":false`},
		"passed as a string":              {`"passed":true`, `"passed":"true"`},
		"passed as null":                  {`"passed":true`, `"passed":null`},
		"no passed":                       {`"passed":true,`, ``},
		"passed twice":                    {`"passed":true`, `"passed":true,"passed":false`},
		"passed in capitals":              {`"passed":true`, `"Passed":true`},
		"no healthz":                      {`"healthz":`, `"health":`},
		"a gate that is null":             {`"healthz":{"ok":true,"latencyMs":1.2,"detail":"status 200"}`, `"healthz":null`},
		"ok in capitals":                  {`"test":{"ok":true`, `"test":{"OK":true`},
		"ok as a number":                  {`"test":{"ok":true`, `"test":{"ok":1`},
		"ok twice":                        {`"test":{"ok":true`, `"test":{"ok":false,"ok":true`},
		"ok beside a cause":               {`"detail":"status 200"`, `"cause":"timeout"`},
		"no latency":                      {`"latencyMs":1.2`, `"latency":1.2`},
		"a negative latency":              {`"latencyMs":1.2`, `"latencyMs":-1`},
		"half a tool":                     {`"toolCount":2`, `"toolCount":1.5`},
		"fewer tools than counted":        {`["a","b"]`, `["a"]`},
		"a time that is none":             {`2026-11-30T12:00:00.250Z`, `yesterday`},
		"something behind the document":   {`"sessionsClosed":1}`, `"sessionsClosed":1} {}`},
		"a count of sessions as a string": {`"sessionsClosed":1`, `"sessionsClosed":"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forged := strings.Replace(string(raw), swap[0], swap[1], 1)
			if forged == string(raw) {
				t.Fatalf("%q is not in %s", swap[0], raw)
			}
			var got registry.ProbeResult
			if err := json.Unmarshal([]byte(forged), &got); err == nil {
				t.Errorf("decoded %s", forged)
			}
		})
	}
}

func TestDecode_refusesAnUnknownCause(t *testing.T) {
	t.Parallel()
	result := passing()
	result.Healthz = registry.Fail(0, "bad luck", "")
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var got registry.ProbeResult
	if err := json.Unmarshal(raw, &got); err == nil || !strings.Contains(err.Error(), "bad luck") {
		t.Errorf("got error %v, want one that names the cause", err)
	}
}

// FuzzDecode shows that no document yields a pass without the evidence, which
// is read here by other means, and that what decodes encodes to the same result.
func FuzzDecode(f *testing.F) {
	raw, err := json.Marshal(passing())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	withTranscripts, err := json.Marshal(explained())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(withTranscripts)
	f.Add([]byte(`{"healthz":{"ok":true,"latencyMs":0},"test":{"ok":true,"latencyMs":0},"listTools":{"ok":true,"latencyMs":0,"toolCount":1},"passed":true,"probedAt":"2026-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		var got registry.ProbeResult
		if err := got.UnmarshalJSON(document); err != nil {
			return
		}
		if got.Passed() && !evident(document) {
			t.Fatalf("passed without evidence: %s", document)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("encode what was decoded from %s: %v", document, err)
		}
		var second registry.ProbeResult
		if err := json.Unmarshal(again, &second); err != nil {
			t.Fatalf("decode %s: %v", again, err)
		}
		if second.Passed() != got.Passed() || second.Error() != got.Error() ||
			!cmp.Equal(second.ListTools.Transcript, got.ListTools.Transcript) {
			t.Fatalf("the result changed: %s", again)
		}
	})
}

// evident reads the evidence of a pass with nothing of the package under test.
func evident(document []byte) bool {
	var fields map[string]any
	if json.Unmarshal(document, &fields) != nil {
		return false
	}
	for _, gate := range []string{"healthz", "test", "listTools"} {
		members, _ := fields[gate].(map[string]any)
		if members["ok"] != true {
			return false
		}
	}
	tools, _ := fields["listTools"].(map[string]any)
	count, _ := tools["toolCount"].(float64)
	return count > 0 && fields["passed"] == true
}
