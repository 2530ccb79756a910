package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// threeGates starts a server whose /test answers with the given status and body.
func threeGates(t *testing.T, status int, body string) (url string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
	server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}}, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ok"}`) })
	mux.HandleFunc("/test", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	listening := httptest.NewServer(mux)
	t.Cleanup(listening.Close)
	return listening.URL
}

func TestProbe_exitsByTheAnswer(t *testing.T) {
	t.Parallel()
	healthy := threeGates(t, 200, `{"ok":true}`)
	broken := threeGates(t, 503, `{"ok":false,"detail":"nmap is gone"}`)
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, row := range []struct {
		args []string
		want int
	}{
		{[]string{"probe", healthy}, exitYes},
		{[]string{"probe", healthy + "/"}, exitYes},
		{[]string{"probe", healthy, "--require-tools", "noop"}, exitYes},
		{[]string{"probe", healthy, "--require-tools", "noop,nmap_scan"}, exitNo},
		{[]string{"probe", broken}, exitNo},
		{[]string{"probe", broken, "--only", "healthz,listTools"}, exitYes},
		{[]string{"probe", broken, "--only", "healthz", "--only", "test"}, exitNo},
		{[]string{"probe", gone.URL}, exitNo},
		{[]string{"probe", healthy + "/elsewhere", "--mcp-url", healthy + "/mcp"}, exitNo},
		{[]string{"probe", healthy + "/elsewhere", "--mcp-url", healthy + "/mcp", "--only", "listTools"}, exitYes},
		{[]string{"probe"}, exitAsk},
		{[]string{"probe", "127.0.0.1:8080"}, exitAsk},
		{[]string{"probe", "ftp://127.0.0.1"}, exitAsk},
		{[]string{"probe", "http://%zz"}, exitAsk},
		{[]string{"probe", healthy, "--only", "health"}, exitAsk},
		{[]string{"probe", healthy, "--timeout", "0s"}, exitAsk},
		{[]string{"probe", healthy, "--timeout", "soon"}, exitAsk},
		{[]string{"probe", healthy, "--timeout", "1h"}, exitAsk},
		{[]string{"probe", healthy, "--mcp-url", "mcp"}, exitAsk},
		{[]string{"healthcheck", broken}, exitYes},
		{[]string{"healthcheck", gone.URL}, exitNo},
		{[]string{"healthcheck", healthy + "/elsewhere"}, exitNo},
		{[]string{"healthcheck", "not an address"}, exitAsk},
		{[]string{"healthcheck", healthy, "--timeout", "-1s"}, exitAsk},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			t.Parallel()
			code, out, err := newShell(t).run(row.args...)
			if code != row.want {
				t.Errorf("exit %d, want %d\n%s%s", code, row.want, out, err)
			}
			if code == exitAsk && (out != "" || !strings.Contains(err, "E_INVALID_ARGUMENT")) {
				t.Errorf("got %q on standard output and %q on standard error, want a fault on the latter", out, err)
			}
		})
	}
}

func TestProbe_printsOneProbeResultAsJSON(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		url    string
		passed bool
	}{
		"healthy": {threeGates(t, 200, `{"ok":true}`), true},
		"broken":  {threeGates(t, 503, `{"ok":false}`), false},
	} {
		_, out, _ := newShell(t).run("--json", "probe", row.url)
		var got registry.ProbeResult
		if err := json.Unmarshal([]byte(out), &got); err != nil || strings.Count(out, "\n") != 1 {
			t.Fatalf("%s: %v in %q, want one line with a probe result", name, err, out)
		}
		if got.Passed() != row.passed || got.Target != row.url || got.SessionsOpened != 1 || got.SessionsClosed != 1 {
			t.Errorf("%s: got %s", name, out)
		}
	}
	code, out, _ := newShell(t).run("--json", "probe", "nowhere:80")
	var fault map[string]any
	if err := json.Unmarshal([]byte(out), &fault); err != nil || code != exitAsk || fault["code"] != "E_INVALID_ARGUMENT" {
		t.Errorf("a fault: exit %d with %q, want 2 with E_INVALID_ARGUMENT", code, out)
	}
}

func TestHealthcheck_printsTheGateAsJSON(t *testing.T) {
	t.Parallel()
	_, out, _ := newShell(t).run("--json", "healthcheck", threeGates(t, 503, ``))
	var got registry.GateResult
	if err := json.Unmarshal([]byte(out), &got); err != nil || !got.OK || got.Detail != "status 200" {
		t.Errorf("got %q, %v, want a gate that holds", out, err)
	}
}

func TestProbe_namesTheProfileOfAnEndpointThatAnswersAtEveryPath(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
	server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}}, nil)
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(listening.Close)
	_, out, _ := newShell(t).run("probe", listening.URL)
	if want := "countersign probe " + listening.URL + "/mcp --profile protocol"; !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("no word of %s:\n%s", want, out)
	}
}

func TestProbe_saysHowACommandIsProbed(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"./hello": "probe -- ./hello.", "/opt/hello": "probe -- /opt/hello.", "npx -y server --key=secret": "probe -- npx.", `bin\hello`: `probe -- bin\hello.`,
		"hello": "a command behind --", "127.0.0.1:8080": "Write it in full", "example.com/mcp": "Write it in full",
	} {
		if code, _, err := newShell(t).run("probe", word); code != exitAsk || !strings.Contains(err, want) || strings.Contains(err, "secret") {
			t.Errorf("%s: exit %d with %q, want %q", word, code, err, want)
		}
	}
}

func TestHealthcheck_asksForTheAddressWithoutThePage(t *testing.T) {
	t.Parallel()
	url := threeGates(t, 200, `{"ok":true}`)
	if _, out, _ := newShell(t).run("healthcheck", url+"/healthz/"); !strings.Contains(out, "is added to the address; give "+url+"\n") {
		t.Errorf("with the page: %q", out)
	}
	if _, out, _ := newShell(t).run("healthcheck", url+"/elsewhere"); !strings.HasSuffix(out, "\n  Check the path, and read the server's log of this request.\n") {
		t.Errorf("elsewhere: %q", out)
	}
}

func TestProbe_exitsNonZeroWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		cancel()
		<-request.Context().Done()
	}))
	t.Cleanup(server.Close)
	var out, complaint bytes.Buffer
	code := Main(ctx, []string{"probe", server.URL}, Surroundings{
		In: strings.NewReader(""), Out: &out, Err: &complaint, Getenv: func(string) string { return "" },
	})
	if code != exitAsk || out.Len() != 0 || !strings.Contains(complaint.String(), "interrupted") {
		t.Errorf("exit %d with %q and %q, want 2 and a word about the interruption", code, out.String(), complaint.String())
	}
}

// at is when the results of the table were gained.
func at() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func sound() registry.ProbeResult {
	return registry.ProbeResult{
		Target: "http://127.0.0.1:8080", Profile: registry.ThreeGates, ProbedAt: at(),
		Healthz: registry.Pass(1234*time.Microsecond, "status 200"),
		Test:    registry.Pass(43210*time.Microsecond, "all required tools executable"),
		ListTools: registry.ToolsResult{
			GateResult: registry.Pass(8*time.Millisecond, "2 tools"), ToolCount: 2,
		},
		Tools: []string{"nmap_scan", "subfinder"}, Era: registry.Modern, Transport: registry.StreamableHTTP,
		ProtocolVersion: "2026-07-28", Server: registry.Server{Name: "asm", Version: "1.4.0"},
	}
}

// TestProbeTable_isWorthReading fixes the table for people in a golden file.
func TestProbeTable_isWorthReading(t *testing.T) {
	t.Parallel()
	broken := sound()
	broken.Test = registry.Fail(50*time.Millisecond, registry.NotOK, "required tools unusable: nmap")
	broken.Dependencies = map[string]json.RawMessage{
		"nmap":      json.RawMessage(`{"present":true,"executable":false,"detail":"exit status 127"}`),
		"subfinder": json.RawMessage(`{"executable":true}`),
	}
	broken.Era, broken.ProtocolVersion = registry.Legacy, "2025-11-25"
	broken.SessionsOpened, broken.SessionsClosed = 1, 1
	for i := range 30 {
		broken.Tools = append(broken.Tools, fmt.Sprintf("tool_%02d", i))
	}
	broken.ListTools.Detail, broken.ListTools.ToolCount = "32 tools", 32

	gone := registry.ProbeResult{Target: "http://127.0.0.1:9", ProbedAt: at()}
	gone.Healthz = registry.Fail(time.Millisecond, registry.Refused, "connection refused by 127.0.0.1:9")
	gone.Test, gone.ListTools.GateResult = gone.Healthz, gone.Healthz

	bare := sound()
	bare.Healthz = registry.Fail(time.Millisecond, registry.HTTPStatus, "status 404")
	bare.Test = registry.Fail(time.Millisecond, registry.HTTPStatus, "Not Found")
	endpoint := bare
	endpoint.Target += "/mcp"
	endpoint.ListTools.GateResult = registry.Fail(time.Millisecond, registry.HTTPStatus, "status 404")
	endpoint.Era, endpoint.Tools = "", nil

	nowhere := endpoint
	nowhere.Target = bare.Target

	component := bare
	component.Target = "everything"
	called := sound()
	called.Target, called.Test = "everything", registry.Fail(time.Millisecond, registry.CanaryFailed, "echo: the tool reports an error")

	hostile := sound()
	hostile.Test.Detail = "fine\n  healthz     ok\x1b[2J\u202e"
	hostile.Server = registry.Server{Name: "\x1b]0;title\x07", Version: "1\n2"}
	hostile.Tools = []string{"a\x1b[31m", strings.Repeat("long", 50)}
	hostile.Warnings = []string{"a tool without a name is listed; it does not count", "\r\x00"}

	stalled := sound()
	stalled.Healthz = registry.Fail(8*time.Second, registry.Overloaded,
		"this process stood still for 8s until 2026-12-01T12:00:30.000Z, so this says nothing: timeout: the time ran out")
	stalled.Test = stalled.Healthz
	stalledAndBroken := stalled
	stalledAndBroken.Test = broken.Test

	s := newShell(t)
	for _, scene := range []struct {
		title  string
		result registry.ProbeResult
		only   []registry.Gate
	}{
		{"a sound server", sound(), nil},
		{"up, but useless", broken, nil},
		{"up, but useless; asked for less", broken, []registry.Gate{registry.Healthz, registry.ListTools}},
		{"nobody there", gone, nil},
		{"no three gates", bare, nil},
		{"no three gates, and no endpoint at /mcp", nowhere, nil},
		{"the endpoint instead of the base", endpoint, nil},
		{"a component with the address of its endpoint", component, nil},
		{"a component whose canary failed", called, nil},
		{"a hostile server", hostile, nil},
		{"a machine that stood still", stalled, nil},
		{"a machine that stood still, and asked for what held", stalled, []registry.Gate{registry.ListTools}},
		{"a stall, and a failure besides", stalledAndBroken, nil},
	} {
		fits(t, probeTable(&scene.result, scene.only, typed{}, painter{width: 80}))
		fmt.Fprintf(&s.transcript, "# %s\n\n%s\n", scene.title, probeTable(&scene.result, scene.only, typed{}, painter{}))
	}
	s.golden(t, "probe.txt")
	if text := s.transcript.String(); strings.ContainsAny(text, "\x1b\r\x00\u202e") {
		t.Error("the table lets control characters through")
	}
	if text := probeTable(&broken, nil, typed{}, painter{width: 80}); !strings.Contains(text, "\n"+strings.Repeat(" ", detailColumn)+"tool_") {
		t.Errorf("the detail leaves its column:\n%s", text)
	}
}

func TestProbeTable_saysTheSameWithColours(t *testing.T) {
	t.Parallel()
	result := sound()
	plain := probeTable(&result, nil, typed{}, painter{})
	painted := probeTable(&result, nil, typed{}, painter{on: true})
	if plain == painted {
		t.Error("the painter does not paint")
	}
	for _, code := range []string{"1", "2", "31", "32", "0"} {
		painted = strings.ReplaceAll(painted, "\x1b["+code+"m", "")
	}
	if painted != plain {
		t.Errorf("without its colours the table reads %q, want %q", painted, plain)
	}
}

func TestProbe_guessesWhichComponentIsMeant(t *testing.T) {
	inFolder(t, map[string]string{"countersign.yaml": "components:\n  scanner: {kind: mcp_server, url: \"http://127.0.0.1:9\"}\n"})
	s := newShell(t)
	for name, hint := range map[string]string{"scaner": "Is it scanner that is meant?", "other": "config check lists the components"} {
		if code, _, told := s.run("probe", name); code != exitAsk || !strings.Contains(told, hint) {
			t.Errorf("probe %s: exit %d\n%s", name, code, told)
		}
	}
}
