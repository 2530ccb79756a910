//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// evil is what every stranger says: markup that runs scripts wherever it gets out of
// its place, and bytes that drive a terminal or turn the direction of text. It has
// no spaces, so that it fits everywhere.
const evil = "\x1b[31mred\x1b]0;owned\x07\u009b2J\u202eesrever\u2066<script>window.pwned=1;alert(1)</script>" +
	"\"'><img/src=x/onerror=window.pwned=2><svg/onload=window.pwned=3></title></textarea></pre><base/href=//evil.example>{{.}}"

// strangers are doubles of each kind that say nothing but evil.
type strangers struct {
	turn atomic.Int64 // of the tools, whose descriptions change
}

// server is an MCP server. One that works passes its gates.
func (s *strangers) server(works bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		read, _ := io.ReadAll(request.Body)
		text := quoted(evil)
		switch {
		case request.URL.Path == "/healthz" && !works:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, evil)
		case request.URL.Path == "/healthz":
			fmt.Fprint(w, evil)
		case request.URL.Path == "/test":
			fmt.Fprintf(w, `{"ok":%[1]t,"detail":%[2]s,"tools":{%[2]s:{"executable":false,"required":%[3]t,"detail":%[2]s,"version":%[2]s,"path":%[2]s}}}`, works, text, !works)
		default:
			w.Header().Set("Content-Type", "application/json")
			s.talk(w, read)
		}
	})
}

// talk is the protocol, with another description of the tools each time.
func (s *strangers) talk(w http.ResponseWriter, read []byte) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(read, &message)
	text := quoted(evil)
	var result string
	switch message.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":%[1]s,"version":%[1]s},"instructions":%[1]s}`, text)
	case "tools/list":
		result = fmt.Sprintf(`{"tools":[{"name":%[1]s,"description":%[2]s,"inputSchema":{"type":"object","properties":{%[1]s:{"type":"string","default":%[2]s}}}},
			{"name":"search","description":%[1]s,"annotations":{"readOnlyHint":true,"title":%[1]s},"inputSchema":{"type":"object"}}]}`,
			text, quoted(fmt.Sprint(evil, s.turn.Add(1))))
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%[1]s}],"structuredContent":{"results":[{"id":%[1]s,"text":%[1]s}],"content_version":%[1]s}}`, text)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%[2]s,"data":%[2]s}}`, message.ID, text)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
}

// model is a model. It answers with a status.
func (s *strangers) model(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprintf(w, `{"error":{"message":%[1]s,"type":%[1]s,"code":%[1]s}}`, quoted(evil))
			return
		}
		fmt.Fprintf(w, `{"model":%[1]s,"choices":[{"message":{"content":%[1]s},"finish_reason":%[1]s}],"usage":{"prompt_tokens":24,"completion_tokens":2,"total_tokens":26}}`, quoted(evil))
	}
}

// strangersFile registers one of each.
func strangersFile(t *testing.T, folder string) (yaml string, names []string) {
	t.Helper()
	s := &strangers{}
	writeFile(t, filepath.Join(folder, "evil.txt"), evil+"\n")
	writeFile(t, filepath.Join(folder, "evil.sh"), "cat evil.txt >&2\ncat evil.txt\nexit 3\n")
	image := scanImage(t, nil)
	image.report(t, time.Now().Add(-time.Hour), evil+" CRITICAL")
	components := map[string]string{
		"evil-gates":   fmt.Sprintf(`{kind: mcp_server, url: %q}`, listenAs(t, s.server(false))),
		"evil-tools":   fmt.Sprintf(`{kind: mcp_server, url: %q, drift: block}`, listenAs(t, s.server(true))),
		"evil-name":    fmt.Sprintf(`{kind: mcp_server, url: %q, expect_server: nice, require_tools: [nice]}`, listenAs(t, s.server(true))),
		"evil-canary":  fmt.Sprintf(`{kind: mcp_server, url: %q, canary: {tool: search, expect: {matches: nice}}}`, listenAs(t, s.server(true))),
		"evil-process": `{kind: mcp_server, command: [sh, evil.sh], canary: {tool: search}}`,
		"evil-model":   fmt.Sprintf(`{kind: model, provider: openai, model: nice, base_url: "%s/v1"}`, listenAs(t, s.model(http.StatusOK))),
		"evil-refusal": fmt.Sprintf(`{kind: model, provider: openai, model: nice, base_url: "%s/v1"}`, listenAs(t, s.model(http.StatusUnauthorized))),
		"evil-image":   fmt.Sprintf(`{kind: harness, image: %q, scan: {max_age: 168h}}`, image.reference()),
		"evil-book": fmt.Sprintf(`{kind: knowledge_base, url: %q, pinned_version: nice, retrieve: {tool: search, chunks: $.results, ids: "$.results[*].id", expect_ids: [nice], version: $.content_version}}`,
			listenAs(t, s.server(true))),
	}
	var written, slots, run strings.Builder
	for name, keys := range components {
		names = append(names, name)
		fmt.Fprintf(&written, "  %s: %s, interval: 2s}\n", name, strings.TrimSuffix(keys, "}"))
		fmt.Fprintf(&slots, "  of-%s: {primary: %s}\n", name, name)
		fmt.Fprintf(&run, "of-%s: required, ", name)
	}
	return fmt.Sprintf("components:\n%sslots:\n%sruns:\n  evil: {slots: {%s}}\n", &written, &slots, strings.TrimSuffix(run.String(), ", ")), names
}
