package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// explained is a failure of two gates with the transcript that they share, and of
// one with its own.
func explained() registry.ProbeResult {
	shared := &registry.Transcript{
		Exchanges: []registry.Exchange{{
			Request:  registry.HTTPMessage{Line: "GET http://127.0.0.1:8080/test", Header: []string{"Accept: */*"}},
			Response: &registry.HTTPMessage{Line: "200 OK", Body: "{\"ok\":false,\"detail\":\"<\u2028\ufffd\"}", BodyBytes: 4096},
			Address:  "127.0.0.1:8080", Timings: registry.Phases{ConnectMs: 0.5, TotalMs: 2},
		}},
		LeftOut: 3, Curl: `curl -H "Authorization: Bearer $TOKEN"`, Variables: []registry.Variable{{Name: "TOKEN", Means: "env:TOKEN"}},
	}
	result := passing()
	result.Healthz = registry.Fail(time.Second, registry.Timeout, "the time ran out")
	result.Test = registry.Fail(time.Second, registry.NotOK, "no")
	result.ListTools.GateResult = registry.Fail(time.Second, registry.ProcessExit, "gone")
	result.Healthz.Transcript, result.Test.Transcript = shared, shared
	result.ListTools.Transcript = &registry.Transcript{
		Messages: []registry.WireMessage{{Sent: true, Text: "{}", Bytes: 2}}, Stderr: "segmentation fault",
	}
	return result
}

func TestDecode_givesBackTranscripts(t *testing.T) {
	t.Parallel()
	want := explained()
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got registry.ProbeResult
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	if got.Healthz.Transcript != got.Test.Transcript || got.Test.Transcript == got.ListTools.Transcript {
		t.Error("the gates do not share the transcript that they shared")
	}
}

func TestDecode_refusesWhatIsNoTranscript(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(explained())
	if err != nil {
		t.Fatal(err)
	}
	many := `"variables":[` + strings.TrimSuffix(strings.Repeat(`{"name":"A","means":"b"},`, registry.MaxTranscriptEntries+1), ",") + `]`
	for name, swap := range map[string][2]string{
		"of a gate that held":       {`"ok":false,"latencyMs":1000,"detail":"gone","cause":"process_exit"`, `"ok":true,"latencyMs":1000`},
		"that is null":              {`{"messages":[{"sent":true,"text":"{}","bytes":2}],"stderr":"segmentation fault"}`, `null`},
		"that is a list":            {`{"messages":[{"sent":true,"text":"{}","bytes":2}],"stderr":"segmentation fault"}`, `[]`},
		"with an unknown member":    {`"stderr":`, `"note":1,"stderr":`},
		"with a doubled member":     {`"stderr":`, `"stderr":"x","stderr":`},
		"with a member in capitals": {`"stderr":`, `"Stderr":`},
		"with a member of null":     {`"stderr":"segmentation fault"`, `"stderr":null`},
		"with half a byte":          {`"bytes":2`, `"bytes":2.5`},
		"with too many entries":     {`"variables":[{"name":"TOKEN","means":"env:TOKEN"}]`, many},
		"that is too large":         {`segmentation fault`, strings.Repeat("x", registry.MaxTranscriptBytes)},
	} {
		forged := strings.Replace(string(raw), swap[0], swap[1], 1)
		if forged == string(raw) {
			t.Fatalf("%s: %q is not in %s", name, swap[0], raw)
		}
		var got registry.ProbeResult
		if err := json.Unmarshal([]byte(forged), &got); err == nil || !strings.Contains(err.Error(), "transcript") {
			t.Errorf("a transcript %s: got %v, want an error about the transcript", name, err)
		}
	}
}
