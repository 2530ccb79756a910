package mcpserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/task"
)

const (
	initializing = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	listing      = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	modernMeta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

func TestHandler_refusesWhatItMust(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { refusesWhatItMust(t, listen(t, server)) })
}

func refusesWhatItMust(t *testing.T, server *httptest.Server) {
	t.Helper()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, test := range map[string]struct {
		body    string
		headers map[string]string
		status  int
		code    float64 // 0 for a body that is not JSON-RPC
	}{
		"a foreign origin":                 {listing, map[string]string{"Origin": "http://evil.example"}, 403, -32600},
		"a null origin":                    {listing, map[string]string{"Origin": "null"}, 403, -32600},
		"another port's origin":            {listing, map[string]string{"Origin": "http://127.0.0.1:1"}, 403, -32600},
		"a cross-site fetch":               {listing, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, -32600},
		"a foreign host":                   {listing, map[string]string{"Host": "evil.example"}, 403, -32600},
		"a rebound host":                   {listing, map[string]string{"Host": "evil.example:80", "Origin": "http://evil.example:80"}, 403, -32600},
		"a host that only looks like ours": {listing, map[string]string{"Host": "localhost.evil.example"}, 403, -32600},
		"a body over the limit":            {strings.Repeat(" ", task.MaxRequest+1), nil, 413, -32600},
		"only one accepted type":           {listing, map[string]string{"Accept": "application/json"}, 400, 0},
		"no accepted type":                 {listing, map[string]string{"Accept": ""}, 400, 0},
		"another content type":             {listing, map[string]string{"Content-Type": "text/plain"}, 415, 0},
		"an unknown version":               {listing, map[string]string{"MCP-Protocol-Version": "2020-01-01"}, 400, 0},
		"nothing":                          {"", nil, 400, -32700},
		"no JSON":                          {"{", nil, 400, -32700},
		"two values":                       {listing + listing, nil, 400, -32700},
		"no UTF-8":                         {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + "\xff" + `"}}`, nil, 400, -32700},
		"no version":                       {`{"id":1,"method":"ping"}`, nil, 400, -32600},
		"a null id":                        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, -32600},
		"a fractional id":                  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, -32600},
		"an empty batch":                   {`[]`, nil, 400, -32600},
		"an id twice in a batch":           {`[` + listing + `,` + listing + `]`, nil, 400, -32600},
		"an id in two spellings":           {`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"\u0061","method":"ping"}]`, nil, 400, -32600},
		"a number in two spellings":        {`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1.0,"method":"ping"}]`, nil, 400, -32600},
		"initialize in a batch":            {`[` + initializing + `]`, nil, 400, -32600},
		"too large a batch":                {`[` + strings.Repeat(`1,`, maxBatch) + `1]`, nil, 400, -32600},
		"a batch of a later version":       {`[` + listing + `]`, map[string]string{"MCP-Protocol-Version": "2025-06-18"}, 400, 0},
		"an unknown method":                {`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 400, 0},
	} {
		status, answer := post(t, server.URL, test.body, test.headers)
		var said struct{ Error struct{ Code float64 } }
		if err := json.Unmarshal([]byte(answer), &said); test.code != 0 && err != nil {
			t.Errorf("%s: %v in %q", name, err, answer)
		}
		if status != test.status || said.Error.Code != test.code {
			t.Errorf("%s: %d %s, want %d %v", name, status, answer, test.status, test.code)
		}
	}
	for name, headers := range map[string]map[string]string{
		"its own origin":   {"Origin": server.URL},
		"localhost":        {"Host": "LOCALHOST:" + host[strings.LastIndex(host, ":")+1:]},
		"IPv6":             {"Host": "[::1]:80"},
		"any type":         {"Accept": "*/*"},
		"a session unused": {"Mcp-Session-Id": "x"},
	} {
		if status, answer := post(t, server.URL, listing, headers); status != 200 {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

func TestHandler_takesOnlyPost(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { takesOnlyPost(t, listen(t, server)) })
}

func takesOnlyPost(t *testing.T, server *httptest.Server) {
	t.Helper()
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, response.StatusCode, response.Header.Get("Allow"))
		}
	}
}

func TestHandler_servesEveryProtocolVersion(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, tools int) { servesEveryProtocolVersion(t, listen(t, server), tools) })
}

func servesEveryProtocolVersion(t *testing.T, server *httptest.Server, tools int) {
	t.Helper()
	for _, version := range mcp.SupportedProtocolVersions() {
		headers, body := map[string]string{"MCP-Protocol-Version": version}, listing
		if version >= "2026-07-28" {
			headers["Mcp-Method"] = "tools/list"
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
		} else {
			asked := strings.Replace(initializing, "2025-06-18", version, 1)
			if status, answer := post(t, server.URL, asked, nil); status != 200 || !strings.Contains(answer, `"protocolVersion":"`+version+`"`) {
				t.Errorf("%s: initialize: %d %s", version, status, answer)
			}
		}
		status, answer := post(t, server.URL, body, headers)
		if status != 200 || strings.Count(answer, `"inputSchema"`) != tools {
			t.Errorf("%s: %d %.200s", version, status, answer)
		}
	}
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"2","method":"ping"}]`
	if status, answer := post(t, server.URL, batch, nil); status != 200 || strings.Count(answer, `"result":{}`) != 2 {
		t.Errorf("a batch: %d %s", status, answer)
	}
}

func TestHandler_answersAToolCallInBothErasAlike(t *testing.T) {
	server := startHTTP(t, newOperations(t), Options{})
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"no-such"},` + modernMeta + `}}`
	_, first := post(t, server.URL, callOf(1, "get_task", `{"task_id":"no-such"}`), nil)
	_, second := post(t, server.URL, modern, map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "get_task"})
	if diff := cmp.Diff(faultOf(t, first), faultOf(t, second)); diff != "" {
		t.Errorf("(-legacy +modern):\n%s", diff)
	}
}

func TestHandler_checksTheHostWhateverItListensOn(t *testing.T) {
	// No local address is known here, which is when the SDK would not check.
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { checksTheHost(t, server.Handler()) })
}

func checksTheHost(t *testing.T, handler http.Handler) {
	t.Helper()
	for host, status := range map[string]int{"evil.example": 403, "": 403, "10.0.0.1:80": 403, "localhost": 200, "127.0.0.2:80": 200} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(listing))
		request.Host = host
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != status {
			t.Errorf("%q: %d, want %d", host, recorder.Code, status)
		}
	}
}

func TestHandler_answersAPanicOfItsOwn(t *testing.T) {
	server := New(newOperations(t), Options{})
	handler := server.recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", http.NoBody))
	if body := recorder.Body.String(); recorder.Code != 500 || strings.Contains(body, "boom") || !strings.Contains(body, "-32603") {
		t.Errorf("%d %s", recorder.Code, body)
	}
}
