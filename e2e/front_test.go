//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// frontOf starts front before a server over stdio.
func frontOf(t *testing.T, flags, env []string, server ...string) (*process, string) {
	t.Helper()
	argv := append([]string{binary(), "front", "--log-format", "json", "--listen", "127.0.0.1:0"}, flags...)
	front := start(t, t.TempDir(), environment(t, env...), append(append(argv, "--"), server...)...)
	return front, front.await(t, servedAt.String())[1]
}

// fixtureServer is the official Go server with the fixtures of the conformance
// suite, which speaks stdio.
func fixtureServer(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "fixtures")
	built := run(t, ".", os.Environ(), "go", "build", "-buildvcs=false", "-o", file, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	if built.code != 0 {
		t.Fatalf("build the fixture server:\n%s", built.stderr)
	}
	return file
}

// TestFront_conformsToTheOfficialSuite runs the frozen requirements of two
// revisions against front, with the official fixtures behind it.
func TestFront_conformsToTheOfficialSuite(t *testing.T) {
	t.Parallel()
	fixtures := fixtureServer(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			_, url := frontOf(t, nil, nil, fixtures)
			expected := absolute(t, filepath.Join("testdata", "conformance", "front-"+revision+".yaml"))
			results := t.TempDir()
			suite := run(t, results, environment(t), node(t), nodePackage(t, "@modelcontextprotocol/conformance/dist/index.js"),
				"server", "--url", url+"/mcp", "--requirements", revision, "--expected-failures", expected, "-o", results)
			if suite.code != 0 {
				t.Errorf("the suite's own verdict: exit code %d\n%s%s", suite.code, suite.stdout, suite.stderr)
			}
			want := expectedFailures(t, expected)
			got := failures(t, results, unscored(t, revision))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("checks that fail (-expected +got):\n%s", diff)
			}
		})
	}
}

// TestFront_givesRealServersTheGates puts real servers behind front, probes them
// and has the official Inspector use them in both eras.
func TestFront_givesRealServersTheGates(t *testing.T) {
	t.Parallel()
	servers := []struct {
		name            string
		argv            []string
		tool, arguments string
		tools           int
		lists           []string
	}{
		{"server-memory", []string{nodePackage(t, "@modelcontextprotocol/server-memory/dist/index.js")}, "read_graph", "{}", 9, []string{"tools/list"}},
		{
			"server-everything",
			[]string{nodePackage(t, "@modelcontextprotocol/server-everything/dist/index.js")},
			"echo", `{"message":"hi"}`, 13,
			[]string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"},
		},
		{"TypeScript SDK, modern only", []string{driver(t, "server-v2.mjs"), "stdio", "reject"}, "echo", `{"text":"hi"}`, 1, []string{"tools/list"}},
	}
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			_, url := frontOf(t, nil, memoryFile(t), append([]string{node(t)}, server.argv...)...)
			probed := run(t, t.TempDir(), environment(t), binary(), "probe", "--json", url)
			want := fmt.Sprintf("healthz yes, test yes, listTools yes (%d tools), modern 2026-07-28, sessions 0 opened 0 closed, exit 0", server.tools)
			if got := verdict(t, probed); got != want {
				t.Errorf("probe\n got: %s\nwant: %s\n%s%s", got, want, probed.stdout, probed.stderr)
			}
			for _, era := range []string{"legacy", "modern"} {
				for _, method := range server.lists {
					inspectFront(t, url, era, method)
				}
				inspectFront(t, url, era, "tools/call", "--tool-name", server.tool, "--tool-args-json", server.arguments)
			}
		})
	}
}

// inspectFront makes one request with the official Inspector.
func inspectFront(t *testing.T, url, era, method string, flags ...string) {
	t.Helper()
	argv := []string{
		node(t), nodePackage(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli", url + "/mcp", "--transport", "http",
		"--protocol-era", era, "--format", "json", "--method", method,
	}
	ran := run(t, t.TempDir(), environment(t), append(argv, flags...)...)
	var said struct {
		Result map[string]json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(ran.stdout), &said); err != nil || ran.code != 0 || len(said.Result) == 0 {
		t.Errorf("%s in the %s era: exit code %d\n%s%s", method, era, ran.code, ran.stdout, ran.stderr)
	}
}

// TestFront_keepsOfficialClientsApart has two legacy clients and a modern one of
// the official Go SDK make 200 calls each at the same time.
func TestFront_keepsOfficialClientsApart(t *testing.T) {
	t.Parallel()
	_, url := frontOf(t, nil, nil, node(t), nodePackage(t, "@modelcontextprotocol/server-everything/dist/index.js"))
	var all sync.WaitGroup
	for name, version := range map[string]string{"first": "2025-11-25", "second": "2025-03-26", "modern": "2026-07-28"} {
		client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		places := make(chan struct{}, 8)
		for call := range 200 {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				mark := fmt.Sprintf("%s %d", name, call)
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": mark}})
				if err != nil || result.IsError || len(result.Content) != 1 {
					t.Errorf("%s: %+v, %v", mark, result, err)
					return
				}
				if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "Echo: "+mark {
					t.Errorf("%s is answered by %+v", mark, result.Content[0])
				}
			})
		}
	}
	all.Wait()
}

// TestFront_standsUpAgainAndEndsWithItsServer kills the server and then ends front.
func TestFront_standsUpAgainAndEndsWithItsServer(t *testing.T) {
	t.Parallel()
	front, url := frontOf(t, nil, memoryFile(t), node(t), nodePackage(t, "@modelcontextprotocol/server-memory/dist/index.js"))
	const ready = `"msg":"the child is ready","pid":(\d+)`
	first := pidOf(t, front.await(t, ready)[1])
	awaitStatus(t, url+"/healthz", http.StatusOK)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, url+"/healthz", http.StatusServiceUnavailable)
	awaitStatus(t, url+"/healthz", http.StatusOK)
	second := pidOf(t, front.await(t, ready+`(?s).*`+ready)[2])
	if probed := run(t, t.TempDir(), environment(t), binary(), "probe", url); probed.code != 0 {
		t.Errorf("probe after the restart = %d\n%s%s", probed.code, probed.stdout, probed.stderr)
	}
	if code := front.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("front ended with %d after SIGTERM, want 0", code)
	}
	for _, pid := range []int{first, second} {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("the server, process %d, still runs", pid)
		}
	}
}

func pidOf(t *testing.T, text string) int {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// awaitStatus asks until the answer has the status.
func awaitStatus(t *testing.T, url string, want int) string {
	t.Helper()
	for end := time.Now().Add(startTimeout); ; {
		status, body := fetch(t, url)
		if status == want {
			return body
		}
		if time.Now().After(end) {
			t.Fatalf("%s = %d %s, want %d", url, status, body, want)
		}
	}
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestFront_seesThatTheTypeScriptExampleLostItsFolder shows what g2 is for: the
// server lives and lists its tool, and every call of it fails.
func TestFront_seesThatTheTypeScriptExampleLostItsFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	notes := filepath.Join(home, "notes")
	writeFile(t, filepath.Join(notes, "gates.md"), "# Gates\n\nThere are three of them.\n")
	source, err := os.ReadFile(absolute(t, "../examples/typescript-server/server.ts"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, "package.json"), `{"type":"module"}`)
	writeFile(t, filepath.Join(home, "server.ts"), string(source))
	if err := os.Symlink(absolute(t, "node/node_modules"), filepath.Join(home, "node_modules")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "countersign.yaml")
	writeFile(t, file, `
front:
  test:
    executables:
      sh: {args: [-c, "echo sh 1.2.3"], matches: 'sh (\S+)', min_version: "1.2"}
    canary: {tool: search, arguments: {text: three}, expect: {matches: "gates: There are three"}}
`)
	_, url := frontOf(t, []string{"--config", file, "--name", "notes"}, nil, node(t), filepath.Join(home, "server.ts"), notes)
	judge := func(want string) {
		t.Helper()
		probed := run(t, t.TempDir(), environment(t), binary(), "probe", "--json", url)
		if got := verdict(t, probed); got != want {
			t.Errorf("probe\n got: %s\nwant: %s\n%s%s", got, want, probed.stdout, probed.stderr)
		}
	}
	const listed = "listTools yes (1 tools), modern 2026-07-28, sessions 0 opened 0 closed, "
	awaitStatus(t, url+"/healthz", http.StatusOK)
	if body := awaitStatus(t, url+"/test", http.StatusOK); !strings.Contains(body, `"version":"1.2.3"`) || !strings.Contains(body, `"tools/call search"`) {
		t.Errorf("/test = %s", body)
	}
	judge("healthz yes, test yes, " + listed + "exit 0")
	if err := os.Rename(notes, notes+".away"); err != nil {
		t.Fatal(err)
	}
	body := awaitStatus(t, url+"/test", http.StatusServiceUnavailable)
	if !strings.Contains(body, `"detail":"required tools unusable: tools/call search"`) || !strings.Contains(body, "no such file") {
		t.Errorf("/test = %s", body)
	}
	judge("healthz yes, test no (not_ok), " + listed + "exit 1")
	if err := os.Rename(notes+".away", notes); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, url+"/test", http.StatusOK)
	judge("healthz yes, test yes, " + listed + "exit 0")
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
