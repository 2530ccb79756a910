//go:build unix

package front

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFront_shakesHandsInBothEras(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	for asked, answered := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + answered + `","capabilities":{"completions":{},"prompts":{},"resources":{},"tools":{}},` +
			`"serverInfo":{"name":"double","version":"1.0.0","title":"A double"},"instructions":"Be kind."}}` + "\n"
		if diff := cmp.Diff(want, string(got.messages[0])); diff != "" || got.status != http.StatusOK || got.header.Get("Mcp-Session-Id") == "" {
			t.Errorf("initialize with %q = %d (-want +got):\n%s", asked, got.status, diff)
		}
	}
	got := f.askModern(t, "server/discover", "")
	want := `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"double","version":"1.0.0","title":"A double"}},"cacheScope":"private",` +
		`"capabilities":{"completions":{},"prompts":{},"resources":{},"tools":{}},"instructions":"Be kind.","resultType":"complete",` +
		`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"ttlMs":0}`
	if diff := cmp.Diff(want, string(got.final(t).Result)); diff != "" || got.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("server/discover (-want +got):\n%s", diff)
	}
}

func TestFront_passesOnWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	const arguments = `"name":"echo","arguments":{"big":9007199254740993,"html":"<&>"},`
	const kept = `"content":[{"type":"text","text":"ok"}],"structuredContent":{"big":9007199254740993,"html":"<&>"},"unknown":{"n":9007199254740993}`
	got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+arguments+`"_meta":{"own/key":[1]}}}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{` + kept + `,"_meta":{"seen":{"own/key":[1]}}}}` + "\n"
	if diff := cmp.Diff(want, string(got.messages[0])); diff != "" {
		t.Errorf("legacy (-want +got):\n%s", diff)
	}
	modern := f.askModern(t, "tools/call", arguments, "Mcp-Name", "echo").final(t)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(modern.Result, &members); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"unknown": `{"n":9007199254740993}`, "resultType": `"complete"`, "structuredContent": `{"big":9007199254740993,"html":"<&>"}`,
		"_meta": `{"io.modelcontextprotocol/serverInfo":{"name":"double","version":"1.0.0","title":"A double"},"seen":null}`,
	} {
		if got := string(members[name]); got != want {
			t.Errorf("modern: %s = %s, want %s", name, got, want)
		}
	}
	list := f.askModern(t, "tools/list", "").final(t)
	if !strings.Contains(string(list.Result), `"novel":[1]`) || !strings.Contains(string(list.Result), `"nextCursor":"2"`) || !strings.Contains(string(list.Result), `"ttlMs":0`) {
		t.Errorf("tools/list = %s", list.Result)
	}
	for _, method := range []string{"resources/list", "resources/templates/list", "prompts/list", "completion/complete"} {
		legacy := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`).final(t)
		if string(legacy.Result) != `{"method":"`+method+`"}` {
			t.Errorf("%s = %s", method, legacy.Result)
		}
	}
	read := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"double:it"}}`).final(t)
	if !strings.Contains(string(read.Result), `"kept":9007199254740993`) {
		t.Errorf("resources/read = %s", read.Result)
	}
}

func TestFront_answersErrorsAsEachEraWantsThem(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	legacy := func(method, members string) answer {
		return f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+members+`}}`)
	}
	rows := []struct {
		name         string
		got          answer
		status, code int
	}{
		{"legacy, unknown tool", legacy("tools/call", `"name":"none"`), 200, -32602},
		{"modern, unknown tool", f.askModern(t, "tools/call", `"name":"none",`, "Mcp-Name", "none"), 400, -32602},
		{"legacy, unknown method", legacy("tasks/list", ""), 200, -32601},
		{"modern, unknown method", f.askModern(t, "tasks/list", ""), 404, -32601},
		{"legacy, what would need a push", legacy("resources/subscribe", `"uri":"double:it"`), 200, -32601},
		{"modern, initialize", f.askModern(t, "initialize", ""), 404, -32601},
		{"modern, ping", f.askModern(t, "ping", ""), 404, -32601},
		{"legacy, no resource", legacy("resources/read", `"uri":"no"`), 200, -32002},
		{"modern, no resource", f.askModern(t, "resources/read", `"uri":"no",`, "Mcp-Name", "no"), 400, -32602},
	}
	for _, row := range rows {
		problem := row.got.final(t).Error
		if row.got.status != row.status || problem == nil || problem.Code != row.code {
			t.Errorf("%s: %d %s, want %d and %d", row.name, row.got.status, row.got.messages, row.status, row.code)
		}
	}
	if got := legacy("ping", ""); string(got.final(t).Result) != "{}" {
		t.Errorf("ping = %s", got.messages)
	}
	if data := rows[0].got.final(t).Error.Data; string(data) != `{"name":"none"}` {
		t.Errorf("the data of the child's error = %s", data)
	}
}

func TestFront_holdsModernRequestsToTheirHeaders(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	call := modernBody("tools/call", `"name":"echo","arguments":{},`)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`
	const version, method, name = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"
	encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte("echo")) + "?="
	rows := []struct {
		what         string
		body         string
		header       []string
		status, code int
	}{
		{"all there", call, []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 200, 0},
		{"name in base64", call, []string{version, "2026-07-28", method, "tools/call", name, encoded}, 200, 0},
		{"broken base64", call, []string{version, "2026-07-28", method, "tools/call", name, "=?base64?*?="}, 400, -32020},
		{"no method", call, []string{version, "2026-07-28", name, "echo"}, 400, -32020},
		{"wrong method", call, []string{version, "2026-07-28", method, "tools/list", name, "echo"}, 400, -32020},
		{"method in another case", call, []string{version, "2026-07-28", method, "Tools/Call", name, "echo"}, 400, -32020},
		{"no name", call, []string{version, "2026-07-28", method, "tools/call"}, 400, -32020},
		{"wrong name", call, []string{version, "2026-07-28", method, "tools/call", name, "other"}, 400, -32020},
		{"no version in the header", call, []string{method, "tools/call", name, "echo"}, 400, -32020},
		{"another version in the header", call, []string{version, "2025-11-25", method, "tools/call", name, "echo"}, 400, -32020},
		{"no version in _meta", list + `}}`, []string{version, "2026-07-28", method, "tools/list"}, 400, -32602},
		{"no capabilities", list + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{version, "2026-07-28", method, "tools/list"}, 400, -32602},
		{"unknown version", list + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, []string{version, "2099-01-01", method, "tools/list"}, 400, -32022},
		{"unknown version in the header", list + `}}`, []string{version, "2020-01-01"}, 400, -32022},
		{"legacy version", list + `}}`, []string{version, "2025-06-18"}, 200, 0},
		{"no version at all", list + `}}`, nil, 200, 0},
	}
	for _, row := range rows {
		got := f.ask(t, row.body, row.header...)
		code := 0
		if problem := got.final(t).Error; problem != nil {
			code = problem.Code
		}
		if got.status != row.status || code != row.code {
			t.Errorf("%s: %d %s, want %d and %d", row.what, got.status, got.messages, row.status, row.code)
		}
	}
	unknown := f.ask(t, list+`}}`, version, "2020-01-01").final(t).Error.Data
	if string(unknown) != `{"requested":"2020-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}` {
		t.Errorf("the data of an unknown version = %s", unknown)
	}
}

func TestFront_refusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	rows := []struct {
		what   string
		body   string
		header []string
		status int
		code   int
	}{
		{"nothing", "", nil, 400, -32700},
		{"no JSON", "{", nil, 400, -32700},
		{"two values", ping + ping, nil, 400, -32700},
		{"no UTF-8", `{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, nil, 400, -32700},
		{"a batch", "[" + ping + "]", nil, 400, -32600},
		{"null", "null", nil, 400, -32600},
		{"no version", `{"id":1,"method":"ping"}`, nil, 400, -32600},
		{"id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, -32600},
		{"id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, -32600},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 200) + `","method":"ping"}`, nil, 400, -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, 400, -32600},
		{"method that is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, nil, 400, -32600},
		{"params that are a list", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, nil, 400, -32602},
		{"_meta that is a text", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":"x"}}`, nil, 400, -32602},
		{"another type", ping, []string{"Content-Type", "text/plain"}, 415, -32600},
		{"no type", ping, []string{"Content-Type", ""}, 415, -32600},
		{"only HTML", ping, []string{"Accept", "text/html"}, 406, -32600},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", MaxBody) + `"}}`, nil, 413, -32600},
	}
	for _, row := range rows {
		got := f.ask(t, row.body, row.header...)
		if problem := got.final(t).Error; got.status != row.status || problem == nil || problem.Code != row.code {
			t.Errorf("%s: %d %.200s, want %d and %d", row.what, got.status, got.messages, row.status, row.code)
		}
	}
	for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		if got := f.ask(t, body); got.status != http.StatusAccepted || got.messages != nil {
			t.Errorf("%s = %d %s, want 202 and nothing", body, got.status, got.messages)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		request, err := http.NewRequestWithContext(t.Context(), method, f.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "POST" {
			t.Errorf("%s = %d", method, response.StatusCode)
		}
	}
}

func TestFront_takesABodyWhoseLengthIsNotTold(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	for size, status := range map[int]int{10: http.StatusOK, MaxBody: http.StatusRequestEntityTooLarge} {
		body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", size) + `"}}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, struct{ *strings.Reader }{strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.ContentLength = -1
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%d bytes = %d, want %d", size, response.StatusCode, status)
		}
	}
}

func TestFront_answersInTheFormThatIsAccepted(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	for accept, want := range map[string]string{
		"application/json, text/event-stream": "application/json", "text/event-stream": "text/event-stream", "*/*": "application/json",
		"text/*;q=0.5": "text/event-stream", "": "application/json",
	} {
		if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Accept", accept); got.header.Get("Content-Type") != want || string(got.final(t).Result) != "{}" {
			t.Errorf("Accept %q: %s %s", accept, got.header.Get("Content-Type"), got.messages)
		}
	}
}
