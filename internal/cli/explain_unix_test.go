//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// explainedGate is what --explain --json adds to a gate.
type explainedGate struct {
	OK         bool                 `json:"ok"`
	Cause      registry.Cause       `json:"cause"`
	Transcript *registry.Transcript `json:"transcript"`
}

// explained probes with --explain --json and returns one gate.
func explained(t *testing.T, s *shell, gate registry.Gate, args ...string) explainedGate {
	t.Helper()
	_, out, complaint := s.run(append([]string{"--json", "probe", "--explain"}, args...)...)
	var gates map[string]json.RawMessage
	var got explainedGate
	if err := json.Unmarshal([]byte(out), &gates); err != nil {
		t.Fatalf("%v in %q, %q", err, out, complaint)
	}
	if err := json.Unmarshal(gates[string(gate)], &got); err != nil {
		t.Fatal(err)
	}
	var whole registry.ProbeResult
	if err := json.Unmarshal([]byte(out), &whole); err != nil {
		t.Errorf("a result with transcripts is no probe result: %v", err)
	}
	return got
}

// curled runs the lines in a POSIX shell, in an empty folder, as a person would.
// It returns what curl prints, and what was left in the folder.
func curled(t *testing.T, lines string, env ...string) (out string, code int, left []string) {
	t.Helper()
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", lines)
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	printed, _ := command.CombinedOutput() // the exit code is looked at below
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	return string(printed), command.ProcessState.ExitCode(), left
}

func TestExplain_curlLineGetsTheSameFailure(t *testing.T) {
	t.Parallel()
	silence := listening(t, func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		<-request.Context().Done()
	})
	page := listening(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>not MCP") })
	away := listening(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, "http://127.0.0.1:1/", http.StatusFound)
	})
	for name, row := range map[string]struct {
		gate  registry.Gate
		args  []string
		cause registry.Cause
		want  string
		code  int
	}{
		"a server that cannot work":  {registry.Test, []string{threeGates(t, 503, `{"ok":false,"detail":"no nmap"}`)}, registry.NotOK, `{"ok":false,"detail":"no nmap"}`, 0},
		"no MCP":                     {registry.ListTools, []string{page}, registry.NotMCP, "<html>not MCP", 0},
		"a redirect":                 {registry.Healthz, []string{away}, registry.Redirect, "HTTP/1.1 302 Found", 0},
		"silence":                    {registry.Test, []string{silence, "--timeout", "700ms"}, registry.Timeout, "", 28},
		"nobody":                     {registry.Test, []string{"http://127.0.0.1:1"}, registry.Refused, "", 7},
		"an address full of a shell": {registry.Test, []string{page + "/a'b$(touch%20here)`touch here`{1,2}[3]/../x"}, registry.NotJSON, "<html>not MCP", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := explained(t, newShell(t), row.gate, row.args...)
			if got.Cause != row.cause || got.Transcript == nil {
				t.Fatalf("got %+v, want %s with a transcript", got, row.cause)
			}
			out, code, left := curled(t, got.Transcript.Curl)
			if code != row.code || !strings.Contains(out, row.want) || len(left) > 0 {
				t.Errorf("exit %d with %q, and left %q; want %d with %q\n%s", code, out, left, row.code, row.want, got.Transcript.Curl)
			}
		})
	}
}

func TestExplain_curlLineRepeatsTheRefusedPostWithTheTimeOfTheGate(t *testing.T) {
	t.Parallel()
	missing := listening(t, http.NotFound)
	for args, limit := range map[string]string{"": "-m 10.0 ", "--timeout=3s": "-m 3.0 "} {
		got := explained(t, newShell(t), registry.ListTools, append(strings.Fields(args), missing)...)
		if curl := got.Transcript.Curl; !strings.Contains(curl, limit) || !strings.Contains(curl, "-X 'POST'") || !strings.Contains(curl, `"method":"initialize"`) {
			t.Errorf("want the POST of initialize with %s, got %s", limit, curl)
		}
	}
}

// stubborn is a legacy server that opens a session, demands it and a token, and
// fails at the second page with what it was asked.
type stubborn struct {
	cursor string
	token  string

	mu    sync.Mutex
	live  map[string]bool
	asked []string // cursors that came with a live session and the token
}

func (s *stubborn) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Cursor string `json:"cursor"`
		} `json:"params"`
	}
	_ = json.NewDecoder(request.Body).Decode(&message)
	id := request.Header.Get("Mcp-Session-Id")
	answer := func(status int, rest string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, message.ID, rest)
	}
	switch {
	case request.Header.Get("Authorization") != "Bearer "+s.token:
		w.WriteHeader(http.StatusUnauthorized)
	case request.Method == http.MethodDelete:
		delete(s.live, id)
	case message.Method == "server/discover":
		answer(404, `"error":{"code":-32601,"message":"no"}`)
	case message.Method == "initialize":
		id = fmt.Sprintf("session-%d", len(s.live)+len(s.asked)+1)
		s.live[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		answer(200, `"result":{"protocolVersion":"2025-11-25","capabilities":{}}`)
	case !s.live[id]:
		answer(404, `"error":{"code":-32001,"message":"no such session"}`)
	case message.Method == "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case message.Params.Cursor == "":
		next, _ := json.Marshal(s.cursor)
		answer(200, `"result":{"tools":[{"name":"a"}],"nextCursor":`+string(next)+`}`)
	default:
		s.asked = append(s.asked, message.Params.Cursor)
		answer(200, `"error":{"code":-32603,"message":"the second page broke"}`)
	}
}

func TestExplain_curlLinesOpenTheSessionAndQuoteWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	for name, cursor := range map[string]string{
		"a plain cursor":           "page-2",
		"a cursor full of a shell": `'; touch here; echo '$(touch here)` + "`touch here`" + ` "$TOKEN" \ ! # & | > here`,
		"a cursor of controls":     "\x1b]0;title\x07\r\n\x7f\u202e\u2066 \U000e0041 é\u2028",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &stubborn{cursor: cursor, token: `tok'en-$(id)-"0123"`, live: map[string]bool{}}
			s := newShell(t)
			s.env["TOKEN"] = server.token
			file := configured(t, fmt.Sprintf("components:\n  it:\n    kind: mcp_server\n    url: %s\n    credentials: {bearer: env:TOKEN}\n", listening(t, server.ServeHTTP)))
			got := explained(t, s, registry.ListTools, "it", "--config", file)
			if got.Cause != registry.ProtocolError {
				t.Fatalf("got %+v, want protocol_error", got)
			}
			want := []registry.Variable{{Name: "TOKEN", Means: "env:TOKEN"}}
			if len(got.Transcript.Variables) != 1 || got.Transcript.Variables[0] != want[0] {
				t.Errorf("the variables are %v, want %v", got.Transcript.Variables, want)
			}
			out, _, left := curled(t, got.Transcript.Curl, "TOKEN="+server.token)
			if !strings.Contains(out, "the second page broke") || len(left) > 0 {
				t.Errorf("got %q, and left %q, by\n%s", out, left, got.Transcript.Curl)
			}
			if len(server.asked) != 2 || server.asked[0] != server.asked[1] || server.asked[0] != cursor {
				t.Errorf("the cursors were %q, want %q twice", server.asked, cursor)
			}
			_, text, _ := s.run("probe", "--explain", "it", "--config", file)
			if strings.ContainsAny(text, "\x1b\x07\r\x7f\u202e\u2066\u2028\U000e0041") {
				t.Errorf("the explanation lets control characters through: %q", text)
			}
			shown, _, _ := strings.Cut(got.Transcript.Curl, "\n")
			if !strings.Contains(text, shown) {
				t.Errorf("the text has another curl line than the JSON:\n%s", text)
			}
		})
	}
}

// TestExplain_isWorthReading fixes what a person sees in a golden file.
func TestExplain_isWorthReading(t *testing.T) {
	t.Parallel()
	result := sound()
	result.Timings = registry.Timings{ResolveMs: 1.25, ConnectMs: 0.5, FirstByteMs: 3, HandshakeMs: 4, ListMs: 5, CallMs: 6}
	result.Test = registry.Fail(3*time.Millisecond, registry.NotOK, "nmap is gone\x1b[2J")
	result.Test.Transcript = &registry.Transcript{
		Exchanges: []registry.Exchange{{
			Request: registry.HTTPMessage{Line: "GET http://127.0.0.1:8080/test", Header: []string{"Authorization: Bearer $ASM_TOKEN"}},
			Response: &registry.HTTPMessage{
				Line: "503 Service Unavailable", Header: []string{"Content-Type: application/json"},
				Body: "{\"ok\":false,\n> \"detail\":\"nmap is gone\x1b[2J\"}", BodyBytes: 40,
			},
			Address: "127.0.0.1:8080", Timings: registry.Phases{ConnectMs: 0.5, FirstByteMs: 2, TotalMs: 3},
		}, {
			Request: registry.HTTPMessage{Line: "GET http://127.0.0.1:8080/test"}, Error: "connection refused by 127.0.0.1:8080",
			Timings: registry.Phases{TotalMs: 1},
		}},
		LeftOut: 3, Curl: "curl -sS -i 'http://127.0.0.1:8080/test' -H 'Authorization: Bearer '\"$ASM_TOKEN\"",
		Variables: []registry.Variable{{Name: "ASM_TOKEN", Means: "env:ASM_TOKEN"}},
	}
	result.Healthz = registry.Fail(3*time.Millisecond, registry.ProcessExit, "exit status 1")
	result.Healthz.Transcript = &registry.Transcript{
		Messages: []registry.WireMessage{{Sent: true, Text: `{"id":1}`, Bytes: 8}, {Text: "junk\x07", Bytes: 5}}, Stderr: "no key\nbye",
	}
	result.ListTools.GateResult = result.Healthz
	s := newShell(t)
	s.transcript.WriteString(explanation(&result, painter{}))
	s.golden(t, "explain.txt")
}
