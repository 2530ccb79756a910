package gatestest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	noSuchName    = "countersign-no-such-name"
)

// abuse is a conversation that a careless, old or new client has with the MCP
// endpoint. Its requests are sent in order; a session that one of them opens is
// named by those that follow.
type abuse struct {
	name     string
	requests []request
}

type request struct {
	method string
	header http.Header // in place of what a client of MCP sends
	body   string
}

func abuses() []abuse {
	post := func(body string, header ...string) request {
		r := request{method: http.MethodPost, header: http.Header{}, body: body}
		for i := 0; i+1 < len(header); i += 2 {
			r.header.Set(header[i], header[i+1])
		}
		return r
	}
	one := func(name, body string, header ...string) abuse { return abuse{name, []request{post(body, header...)}} }
	return []abuse{
		one("an Accept without event streams", call("tools/list", ""), "Accept", "application/json"),
		one("an Accept of pages", call("tools/list", ""), "Accept", "text/html"),
		one("a wrong Content-Type", call("tools/list", ""), "Content-Type", "text/plain"),
		one("an empty body", ""),
		one("malformed JSON", `{"jsonrpc":"2.0","id":1,"method":`),
		one("what is not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}"),
		one("a number", "42"),
		one("an empty batch", "[]"),
		one("JSON of great depth", strings.Repeat("[", 20_000)),
		one("parameters of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`),
		one("an unknown method", call(noSuchName, "")),
		one("an unknown notification", `{"jsonrpc":"2.0","method":"notifications/`+noSuchName+`"}`),
		one("an unknown tool", call("tools/call", `"name":"`+noSuchName+`","arguments":{}`)),
		one("an unknown session", call("tools/list", ""), "Mcp-Session-Id", noSuchName),
		one("an unknown protocol version", call("tools/list", ""), "MCP-Protocol-Version", "1999-01-01"),
		{"the legacy era", []request{
			post(call("initialize", `"protocolVersion":"`+legacyVersion+`","capabilities":{},"clientInfo":{"name":"gatestest","version":"1"}`)),
			post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "MCP-Protocol-Version", legacyVersion),
			post(call("tools/list", ""), "MCP-Protocol-Version", legacyVersion),
			{method: http.MethodDelete, header: http.Header{"Mcp-Protocol-Version": {legacyVersion}}},
		}},
		{"the modern era", []request{
			post(modernCall("server/discover"), "MCP-Protocol-Version", modernVersion, "Mcp-Method", "server/discover"),
			post(modernCall("tools/list"), "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list"),
		}},
	}
}

func call(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
}

func modernCall(method string) string {
	const prefix = "io.modelcontextprotocol/"
	return call(method, fmt.Sprintf(`"_meta":{"%sprotocolVersion":%q,"%sclientCapabilities":{},"%sclientInfo":{"name":"gatestest","version":"1"}}`,
		prefix, modernVersion, prefix, prefix))
}

// speakMCP sets what every POST of a client of MCP carries.
func speakMCP(header http.Header) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
}

func (s *suite) testAbuse(t *testing.T, a abuse) {
	t.Helper()
	session := ""
	for i, r := range a.requests {
		status, opened, err := s.send(t.Context(), r, session)
		if session == "" {
			session = opened
		}
		if problem := unsound(status, err); problem != "" {
			t.Errorf("request %d of %d, %s %.200q: %s", i+1, len(a.requests), r.method, r.body, problem)
		}
	}
}

// send returns the status of the answer and the session that it opens. The body
// is read, but a stream that breaks off or stays open is left to the gates.
func (s *suite) send(ctx context.Context, r request, session string) (status int, opened string, err error) {
	sent, err := http.NewRequestWithContext(ctx, r.method, s.server.Endpoint.String(), strings.NewReader(r.body))
	if err != nil {
		return 0, "", err
	}
	speakMCP(sent.Header)
	if session != "" {
		sent.Header.Set("Mcp-Session-Id", session)
	}
	maps.Copy(sent.Header, r.header)
	response, err := s.client.Do(sent)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody))
	return response.StatusCode, response.Header.Get("Mcp-Session-Id"), nil
}
