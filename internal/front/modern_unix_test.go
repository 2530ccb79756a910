//go:build unix

package front

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFront_standsBeforeAChildOfTheModernEraAlone has clients of both eras use a
// child that speaks one of them.
func TestFront_standsBeforeAChildOfTheModernEraAlone(t *testing.T) {
	t.Parallel()
	f := begin(t, "modern only")
	legacy := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`).final(t)
	want := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"double","version":"2.0.0"}}`
	if diff := cmp.Diff(want, string(legacy.Result)); diff != "" {
		t.Errorf("initialize (-want +got):\n%s", diff)
	}
	modern := f.askModern(t, "server/discover", "").final(t)
	if !strings.Contains(string(modern.Result), `"supportedVersions":["2026-07-28","2025-11-25",`) {
		t.Errorf("server/discover = %s", modern.Result)
	}
	for call := range 20 {
		for _, client := range []string{"first", "second", "modern"} {
			f.checkCall(t, client, call)
		}
	}
	if listed, err := f.ProveTools(t.Context()); err != nil || listed != "listed 4 tools" {
		t.Errorf("ProveTools = %q, %v", listed, err)
	}
}

func TestFront_saysForWhomAModernChildIsAsked(t *testing.T) {
	t.Parallel()
	f := begin(t, "modern only")
	const echo = `"name":"echo","arguments":{},`
	rows := map[string]rpc{
		"front": f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+echo+`"_meta":{"own":1}}}`).final(t),
		"c":     f.askModern(t, "tools/call", echo, "Mcp-Name", "echo").final(t),
	}
	for name, got := range rows {
		for _, claim := range []string{
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`,
			`"io.modelcontextprotocol/clientInfo":{"name":"` + name + `","version":"1"}`,
		} {
			if !strings.Contains(string(got.Result), claim) {
				t.Errorf("the child was asked for %s without %s: %s", name, claim, got.Result)
			}
		}
	}
	if !strings.Contains(string(rows["front"].Result), `"own":1`) {
		t.Errorf("what the client said is lost: %s", rows["front"].Result)
	}
}

func TestFront_passesOnAWishForInputToWhomItCanBeTold(t *testing.T) {
	t.Parallel()
	f := begin(t, "modern only")
	modern := f.askModern(t, "tools/call", `"name":"more",`, "Mcp-Name", "more").final(t)
	for _, member := range []string{`"resultType":"input_required"`, `"inputRequests":{"name":{"method":"elicitation/create"}}`, `"requestState":"s"`} {
		if !strings.Contains(string(modern.Result), member) {
			t.Errorf("modern: %s lacks %s", modern.Result, member)
		}
	}
	legacy := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"more"}}`)
	problem := legacy.final(t).Error
	if legacy.status != http.StatusOK || problem == nil || problem.Code != codeInternal || !strings.Contains(problem.Message, "asks for more input") {
		t.Errorf("legacy: %d %s", legacy.status, legacy.messages)
	}
}
