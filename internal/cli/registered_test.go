package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mendable is a server of three gates that can be broken, and mended.
type mendable struct {
	*mcp.Server

	url    string
	broken atomic.Bool
	probes atomic.Int64 // of its gate test
}

func newMendable(t *testing.T, tools ...string) *mendable {
	t.Helper()
	made := &mendable{Server: mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "1.4.0"}, nil)}
	for _, name := range tools {
		made.addTool(name, "")
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return made.Server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ok"}`) })
	mux.HandleFunc("/test", func(w http.ResponseWriter, _ *http.Request) {
		made.probes.Add(1)
		if made.broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"ok":false,"detail":"required tools unusable: nmap"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"detail":"nmap runs"}`)
	})
	listening := httptest.NewServer(mux)
	t.Cleanup(listening.Close)
	made.url = listening.URL
	return made
}

func (m *mendable) addTool(name, description string) {
	m.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}}, nil)
}

// fleet is a shell in a folder whose countersign.yaml registers three servers, in
// slots of the run nightly.
type fleet struct {
	*shell

	first, second, third *mendable
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	made := &fleet{
		shell: newShell(t), first: newMendable(t, "nmap_scan", "subfinder"), second: newMendable(t, "nmap_scan", "subfinder"), third: newMendable(t, "write"),
	}
	made.env["XDG_CONFIG_HOME"] = t.TempDir()
	inFolder(t, map[string]string{"countersign.yaml": made.configuration()})
	return made
}

func (f *fleet) configuration() string {
	return fmt.Sprintf(`components:
  asm: {kind: mcp_server, url: %s}
  asm-eu: {kind: mcp_server, url: %s, drift: block}
  writer: {kind: mcp_server, url: %s}
slots:
  recon: {primary: asm, fallbacks: [asm-eu], require_tools: [nmap_scan]}
  author: {primary: writer}
runs:
  nightly: {slots: {recon: required, author: optional}}
`, f.first.url, f.second.url, f.third.url)
}

// note stands in the transcript between commands.
func (s *shell) note(text string) { fmt.Fprintf(&s.transcript, "# %s\n\n", text) }

// variable is what differs from run to run in answers of the registry.
var variable = []struct {
	form *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:8080"},
	{regexp.MustCompile(`(ok {4}|FAIL {2}) *\d+\.\d ms`), "${1}      1.0 ms"},
	{regexp.MustCompile(`"age_ms":\d+`), `"age_ms":1`},
	{regexp.MustCompile(`"(\w+Ms|sum|max)":[0-9.]+`), `"$1":1`},
	{regexp.MustCompile(`"signature":"[^"]+"`), `"signature":"c2lnbmVk"`},
	{regexp.MustCompile(`ed25519:[0-9a-f]{16}`), "ed25519:0000000000000000"},
	{regexp.MustCompile(`(?m)^(\S+ +mcp_server  .{11})  [ \d]+s`), "$1    0s"},
	{regexp.MustCompile(`(?m)^(\S+ +mcp_server  .{11}    0s)  [ \d]+s`), "$1    0s"},
	{regexp.MustCompile(`\b\d+ s(,| ago)`), "0 s$1"},
	{regexp.MustCompile(`(?m)^  hours       \S+$`), "  hours       █"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "2026-11-30 13:00 UTC"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-30T12:00:00.000Z"},
	{regexp.MustCompile(`/\S+/countersign.yaml`), "/folder/countersign.yaml"},
	{regexp.MustCompile(`/\S+/countersign.db`), "/folder/countersign.db"},
}

// steady writes over what differs from run to run.
func (s *shell) steady() {
	text := s.transcript.String()
	for _, each := range variable {
		text = each.form.ReplaceAllString(text, each.text)
	}
	s.transcript = strings.Builder{}
	s.transcript.WriteString(text)
}

// TestRegistered_isReadWithoutBeingRegistered has a server on the default database, and
// reads it in a folder whose file defines asm otherwise.
func TestRegistered_isReadWithoutBeingRegistered(t *testing.T) {
	f := newFleet(t)
	rewrite(t, strings.ReplaceAll(f.configuration(), "asm: {kind: mcp_server,", "asm: {kind: mcp_server, interval: 1s,"))
	server := f.serve(t)
	get := func(path string) string { _, body := ask(t, http.MethodGet, server.URL+path, "", nil); return body }
	isAvailable := func() bool { return strings.Contains(get("/api/v1/components/asm"), `"status":"available"`) }
	await(t, "asm is available", isAvailable)
	f.run("preflight", "nightly")
	const warning = "a component was defined anew by another process"

	inFolder(t, map[string]string{"countersign.yaml": strings.ReplaceAll(f.configuration(), f.first.url, f.second.url)})
	f.in = mcpCall("list_components", `{}`)
	for _, args := range [][]string{
		{"component", "list"},
		{"component", "show", "asm"},
		{"--json", "component", "show", "asm"},
		{"component", "accept", "asm"},
		{"preflight", "nightly", "--history"},
		{"mcp", "--registry"},
	} {
		code, out, complaint := f.run(args...)
		if wanted := strings.Contains(args[len(args)-1], "history"); code == exitAsk || !wanted && !strings.Contains(out+complaint, "another definition") && args[1] != "accept" {
			t.Errorf("%v: exit %d, %s%s", args, code, out, complaint)
		}
		if !isAvailable() {
			t.Errorf("%v: the server reads %s", args, get("/api/v1/components/asm"))
		}
	}
	if log := server.log.String(); strings.Contains(log, warning) {
		t.Errorf("the log holds\n%s", log)
	}
	if code, out, complaint := f.run("probe", "asm"); code != exitYes {
		t.Fatalf("exit %d, %s%s", code, out, complaint)
	}
	await(t, "the server has put its definition back", func() bool { return strings.Contains(server.log.String(), warning) })
	await(t, "asm is available again", isAvailable)
	asked := f.first.probes.Load()
	await(t, "asm was probed twice more", func() bool { return f.first.probes.Load() >= asked+2 })
	server.end(t)
	if told := strings.Count(server.log.String(), warning); told != 1 {
		t.Errorf("it is told %d times:\n%s", told, server.log.String())
	}
}

func TestPreflightHistory_showsWhatWasKeptOfARunThatIsNoLongerRegistered(t *testing.T) {
	f := newFleet(t)
	f.run("preflight", "nightly")
	rewrite(t, strings.ReplaceAll(f.configuration(), "nightly:", "weekly:"))
	if code, out, complaint := f.run("preflight", "nightly", "--history"); code != exitYes || !strings.Contains(out, "may start") {
		t.Errorf("exit %d, %s%s", code, out, complaint)
	}
	if code, out, complaint := f.run("preflight", "never", "--history"); code != exitAsk || !strings.Contains(complaint, "E_NOT_FOUND") {
		t.Errorf("exit %d, %s%s", code, out, complaint)
	}
}
