package examiner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestRecord_holdsNoSecret meets a server that repeats the caller's key in the
// body of an error, in what it says of its tools, and in their descriptions.
func TestRecord_holdsNoSecret(t *testing.T) {
	t.Parallel()
	const key = "canary-4f1c9a7be2d05386"
	server := startDouble(t)
	server.echo.Store(true)
	component := server.component("asm")
	component.Spec.(*registry.MCPServer).Credentials.Headers = map[string]registry.Secret{"X-Key": registry.SecretAt("env:KEY")}
	b := startWith(t, &registry.Registered{Components: []registry.Component{component}}, func(o *examiner.Options) {
		o.Resolve = func(string) (string, error) { return key, nil }
	})
	record, err := b.Examine(t.Context(), "asm")
	if err != nil {
		t.Fatal(err)
	}
	lists, err := json.Marshal(record.ToolList)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(record.Document) + string(lists) + record.Summary.Reason + string(record.Summary.Proof) + strings.Join(record.Summary.Tools, " ")
	for at := range len(key) - 8 {
		if piece := key[at : at+8]; strings.Contains(whole, piece) {
			t.Fatalf("%s of the key stands in %s", piece, whole)
		}
	}
	for part, text := range map[string]string{"document": string(record.Document), "tools": string(lists), "reason": record.Summary.Reason} {
		if !strings.Contains(text, "[secret]") {
			t.Errorf("%s: the server's echo is not there at all: %s", part, text)
		}
	}
	if digest, err := registry.ToolsDigest(record.ToolList); err != nil || digest != record.Summary.ToolsDigest {
		t.Errorf("the digest %s is not that of the tools that are recorded, %s", record.Summary.ToolsDigest, digest)
	}
	var kept struct {
		Test struct{ Transcript *registry.Transcript }
	}
	if err := json.Unmarshal(record.Document, &kept); err != nil || kept.Test.Transcript == nil {
		t.Errorf("no transcript is recorded: %v in %s", err, record.Document)
	}
}

// TestExamine_remembersTheEraAndFindsItOutAnew has a server change its era
// between probes.
func TestExamine_remembersTheEraAndFindsItOutAnew(t *testing.T) {
	t.Parallel()
	server := startDouble(t)
	b := start(t, &registry.Registered{Components: []registry.Component{server.component("asm")}})
	examined := func(era registry.Era) {
		t.Helper()
		record, err := b.Examine(t.Context(), "asm")
		if err != nil {
			t.Fatal(err)
		}
		var result registry.ProbeResult
		if err := result.UnmarshalJSON(record.Document); err != nil {
			t.Fatal(err)
		}
		if !result.Passed() || result.Era != era {
			t.Errorf("got era %q: %s", result.Era, result.Error())
		}
	}
	examined(registry.Legacy)
	examined(registry.Legacy)
	if got := server.asked.Load(); got != 1 {
		t.Errorf("a legacy server was asked %d times whether it is modern, want once", got)
	}
	server.legacy.Store(false)
	examined(registry.Modern)
	examined(registry.Modern)
	server.legacy.Store(true)
	examined(registry.Legacy)
}
