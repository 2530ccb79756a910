package probe_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// wire is a way in which an MCP endpoint behaves, and the cause that g3 finds.
type wire struct {
	answer http.HandlerFunc
	cause  registry.Cause
	limit  time.Duration
}

const supports = `,"data":{"supported":["%s"],"requested":"x"}`

// handshakes are ways of failing, or not, before the list is asked for.
func handshakes() map[string]wire {
	modern := func(list reply) script {
		return script{"server/discover": result(`{"supportedVersions":["2026-07-28"],"resultType":"complete"}`), "tools/list": list}
	}
	refuses := func(answer any) http.HandlerFunc { return script{"initialize": answer}.serve }
	return map[string]wire{
		"a legacy server":       {answer: script{}.serve},
		"a modern server":       {answer: modern(result(`{"tools":[{"name":"noop"}],"resultType":"complete"}`)).serve},
		"modern, no resultType": {answer: modern(result(`{"tools":[{"name":"noop"}]}`)).serve},
		"modern, asks for input": {
			answer: modern(result(`{"tools":[{"name":"noop"}],"resultType":"input_required"}`)).serve, cause: registry.ProtocolError,
		},
		"modern, a tool with a wrong x-mcp-header": {
			answer: modern(result(`{"tools":[{"name":"noop","inputSchema":{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}}]}`)).serve,
			cause:  registry.ZeroTools,
		},
		"modern, two tools, one with a wrong x-mcp-header": {
			answer: modern(result(`{"tools":[{"name":"noop"},{"name":"bad","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}`)).serve,
		},
		"legacy, a tool with a wrong x-mcp-header": {
			answer: script{"tools/list": result(`{"tools":[{"name":"noop","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}`)}.serve,
		},
		"discover echoes anything": {answer: script{"server/discover": result(`{}`)}.serve},
		"discover is HTML":         {answer: script{"server/discover": says(200, `<html>`)}.serve},
		"discover ends in silence": {answer: script{"server/discover": http.HandlerFunc(hangs)}.serve, limit: 3 * time.Second},
		"discover names only legacy versions": {
			answer: script{"server/discover": result(`{"supportedVersions":["2025-06-18"]}`)}.serve,
		},
		"discover names only a future version": {
			answer: script{"server/discover": result(`{"supportedVersions":["2099-01-01"]}`)}.serve, cause: registry.VersionMismatch,
		},
		"discover answers 500":                   {answer: script{"server/discover": says(500, `oops`)}.serve, cause: registry.HTTPStatus},
		"discover answers 500 and an error":      {answer: script{"server/discover": failure(500, -32603, "")}.serve},
		"discover wants another modern version":  {answer: script{"server/discover": failure(400, -32022, fmt.Sprintf(supports, "2099-01-01"))}.serve, cause: registry.VersionMismatch},
		"discover wants a legacy version":        {answer: script{"server/discover": failure(400, -32022, fmt.Sprintf(supports, "2025-06-18"))}.serve},
		"discover has -32022 without versions":   {answer: script{"server/discover": failure(400, -32022, "")}.serve},
		"discover has a number from the drafts":  {answer: script{"server/discover": failure(400, -32004, "")}.serve},
		"initialize wants the modern version":    {answer: modernOnly(), cause: ""},
		"initialize wants an unknown version":    {answer: refuses(failure(400, -32022, fmt.Sprintf(supports, "2099-01-01"))), cause: registry.VersionMismatch},
		"initialize wants an older version":      {answer: olderOnly(), cause: ""},
		"initialize fails":                       {answer: refuses(failure(200, -32603, "")), cause: registry.Handshake},
		"initialize fails with 500":              {answer: refuses(failure(500, -32603, "")), cause: registry.Handshake},
		"initialize fails without naming its id": {answer: refuses(reply{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"},"was":"%s"}`}), cause: registry.Handshake},
		"initialize gives no version":            {answer: refuses(result(`{}`)), cause: registry.Handshake},
		"initialize gives null":                  {answer: refuses(result(`null`)), cause: registry.Handshake},
		"initialize gives a version of newlines": {answer: refuses(result(`{"protocolVersion":"a\nb"}`)), cause: registry.Handshake},
		"initialize gives an unheard-of version": {answer: refuses(result(`{"protocolVersion":"1999-01-01"}`))},
		"initialize answers with a string id":    {answer: refuses(reply{200, `{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":"2025-11-25"}}`}), cause: registry.Handshake},
		"initialize is 202":                      {answer: refuses(says(202, ``)), cause: registry.NotMCP},
		"initialize writes its keys in capitals": {answer: refuses(reply{200, `{"jsonrpc":"2.0","ID":%s,"Result":{"protocolVersion":"2025-11-25"}}`}), cause: registry.NotMCP},
		"initialize is 401":                      {answer: refuses(failure(401, -32001, "")), cause: registry.Auth},
		"initialized is 400":                     {answer: script{"notifications/initialized": says(400, ``)}.serve, cause: registry.Handshake},
		"initialized is 200":                     {answer: script{"notifications/initialized": says(200, ``)}.serve},
		"HTML":                                   {answer: says(200, `<html>`), cause: registry.NotMCP},
		"JSON that is no message":                {answer: says(200, `{"ok":true}`), cause: registry.NotMCP},
		"a stream that ends at once":             {answer: streams(``), cause: registry.ProtocolError},
		"404":                                    {answer: http.NotFound, cause: registry.HTTPStatus},
		"405":                                    {answer: says(405, ``), cause: registry.HTTPStatus},
		"503":                                    {answer: says(503, ``), cause: registry.HTTPStatus},
		"401":                                    {answer: says(401, ``), cause: registry.Auth},
		"403":                                    {answer: says(403, `Access is only allowed at localhost`), cause: registry.Forbidden},
		"429":                                    {answer: says(429, ``), cause: registry.RateLimited},
		"a redirect":                             {answer: leads("/elsewhere"), cause: registry.Redirect},
		"no answer":                              {answer: hangs, cause: registry.Timeout, limit: short},
		"a connection that drops":                {answer: hangsUp, cause: registry.Unreachable},
		"a body that never ends":                 {answer: floods("application/json", `{"jsonrpc":"2.0","id":1,"x":"`), cause: registry.TooLarge},
		"a stream that never ends":               {answer: floods("text/event-stream", `data: `), cause: registry.TooLarge},
		"a stream of endless comments":           {answer: drips("text/event-stream", `: `), cause: registry.Timeout, limit: short},
		"a body that drips":                      {answer: drips("application/json", `{`), cause: registry.Timeout, limit: short},
		"a header of a megabyte":                 {answer: bigHeader, cause: registry.TooLarge},
		"a body that breaks off":                 {answer: breaksOff("application/json", `{"jsonrpc":"2.0"`), cause: registry.NotMCP},
		"a stream that breaks off":               {answer: breaksOff("text/event-stream", "data: {\n\n"), cause: registry.ProtocolError},
	}
}

// lists are ways of answering tools/list after a sound handshake.
func lists() map[string]wire {
	list := func(answer any) http.HandlerFunc { return script{"tools/list": answer}.serve }
	event := `data: {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"noop"}]}}` + "\n\n"
	noise := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n\n"
	return map[string]wire{
		"no tools":                       {answer: list(result(`{"tools":[]}`)), cause: registry.ZeroTools},
		"tools null":                     {answer: list(result(`{"tools":null}`)), cause: registry.ProtocolError},
		"tools an object":                {answer: list(result(`{"tools":{"a":1}}`)), cause: registry.ProtocolError},
		"tools in capitals":              {answer: list(result(`{"Tools":[{"name":"noop"}]}`)), cause: registry.ProtocolError},
		"no tools at all":                {answer: list(result(`{}`)), cause: registry.ProtocolError},
		"a list as the result":           {answer: list(result(`[]`)), cause: registry.ProtocolError},
		"only a tool without a name":     {answer: list(result(`{"tools":[{"title":"x"},{"name":""},7,null]}`)), cause: registry.ZeroTools},
		"a tool with and one without":    {answer: list(result(`{"tools":[{},{"name":"noop"}]}`))},
		"an error":                       {answer: list(failure(200, -32603, "")), cause: registry.ProtocolError},
		"an error with 404":              {answer: list(failure(404, -32601, "")), cause: registry.ProtocolError},
		"404 in plain text":              {answer: list(says(404, `session not found`)), cause: registry.HTTPStatus},
		"a result with 500":              {answer: list(reply{500, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"noop"}]}}`}), cause: registry.HTTPStatus},
		"401 in the middle":              {answer: list(says(401, ``)), cause: registry.Auth},
		"200 and nothing":                {answer: list(says(200, ``)), cause: registry.NotMCP},
		"another id":                     {answer: list(reply{200, `{"jsonrpc":"2.0","id":%s0,"result":{"tools":[{"name":"noop"}]}}`}), cause: registry.ProtocolError},
		"no answer":                      {answer: list(http.HandlerFunc(hangs)), cause: registry.Timeout, limit: 3 * time.Second},
		"a stream with the answer":       {answer: list(streams(event))},
		"a stream that talks before":     {answer: list(streams(": hello\n\nid: 1\ndata:\n\n" + noise + event))},
		"a stream that talks on":         {answer: list(drips("text/event-stream", event+noise))},
		"a stream with another id":       {answer: list(streams(strings.Replace(event, `"id":3`, `"id":4`, 1))), cause: registry.ProtocolError},
		"a stream with an unknown event": {answer: list(streams("event: other\n" + event)), cause: registry.ProtocolError},
		"a cursor that stands still":     {answer: list(result(`{"tools":[{"name":"noop"}],"nextCursor":"a"}`)), cause: registry.ProtocolError},
		"a cursor that is a number":      {answer: list(result(`{"tools":[{"name":"noop"}],"nextCursor":1}`)), cause: registry.ProtocolError},
		"an empty cursor":                {answer: list(result(`{"tools":[{"name":"noop"}],"nextCursor":""}`))},
		"new cursors for ever":           {answer: list(endlessPages(`{"name":"noop"}`)), cause: registry.TooLarge},
		"too many tools": {
			answer: list(result(`{"tools":[` + manyTools(10_001) + `]}`)), cause: registry.TooLarge,
		},
		"large pages for ever": {
			answer: list(endlessPages(`{"name":"noop","description":"` + strings.Repeat("x", 1<<20) + `"}`)), cause: registry.TooLarge,
		},
	}
}

func TestWire_hasTheCauseOfTheContractAndSparesTheOtherGates(t *testing.T) {
	t.Parallel()
	for group, rows := range map[string]map[string]wire{"handshake": handshakes(), "list": lists()} {
		for name, row := range rows {
			t.Run(group+": "+name, func(t *testing.T) {
				t.Parallel()
				limit := generous
				if row.limit != 0 {
					limit = row.limit
				}
				checkGates(t, probed(t, double{mcp: row.answer}.start(t).URL, limit), "", "", row.cause)
			})
		}
	}
}

// streams answers with a stream of events that ends.
func streams(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write([]byte(events))
	}
}

// modernOnly refuses initialize in the way of a server without the legacy era,
// and knows no discover.
func modernOnly() http.HandlerFunc {
	return script{"initialize": failure(400, -32022, fmt.Sprintf(supports, "2026-07-28"))}.serve
}

// olderOnly admits an older version only, in the way of the legacy era.
func olderOnly() http.HandlerFunc {
	var asked atomic.Int64
	return func(w http.ResponseWriter, request *http.Request) {
		if asked.Add(1) == 2 {
			failure(200, -32602, fmt.Sprintf(supports, "2024-11-05")).write(w, "2")
			return
		}
		script{}.serve(w, request)
	}
}

// endlessPages gives a new cursor with each page.
func endlessPages(tool string) http.HandlerFunc {
	var page atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		n := page.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s],"nextCursor":"%d"}}`, n+2, tool, n)
	}
}

func manyTools(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`{"name":"t%d"}`, i)
	}
	return strings.Join(names, ",")
}
