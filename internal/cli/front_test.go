package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/front"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestFront_serveAndSayWhyTheServerIsDown(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var log bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, []string{"front", "--json", "--name", "scanner", "--listen", "127.0.0.1:0", "--", program, "--no-such-flag"}, Surroundings{
			In: strings.NewReader(""), Out: in, Err: &log, Getenv: func(string) string { return "" },
		})
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var begun fronting
	if err := json.Unmarshal(line, &begun); err != nil || begun.Name != "scanner" || begun.Program != filepath.Base(program) || begun.Public {
		t.Fatalf("start line %s: %v", line, err)
	}
	deadline := time.Now().Add(servePatience)
	status, body := 0, ""
	for !strings.Contains(body, "exit status 2") && time.Now().Before(deadline) { // it is starting at first
		status, body = ask(t, http.MethodGet, begun.Healthz, "", nil)
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"down","service":"scanner"`) {
		t.Errorf("/healthz = %d %s", status, body)
	}
	status, body = ask(t, http.MethodGet, begun.Test, "", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"detail":"required tools unusable: tools/list"`) || !strings.Contains(body, "exit status 2") {
		t.Errorf("/test = %d %s", status, body)
	}
	status, body = ask(t, http.MethodPost, begun.MCP, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":-32603`) {
		t.Errorf("tools/list = %d %s", status, body)
	}
	if status, body = ask(t, http.MethodPost, begun.MCP, `{}`, map[string]string{"Origin": "http://evil.example.com"}); status != http.StatusForbidden {
		t.Errorf("from a foreign page = %d %s", status, body)
	}
	stop()
	if got := <-code; got != exitYes {
		t.Errorf("front ended with %d, want 0; log:\n%s", got, &log)
	}
	if strings.Contains(log.String(), "warning:") {
		t.Errorf("it warns on loopback:\n%s", &log)
	}
}

func TestFront_refusesToStartWithTheReason(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, []byte("front: {listen: 127.0.0.1:0, tests: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		args   []string
		reason string
	}{
		{"no command", nil, "<command>"},
		{"no program", []string{"--listen", "127.0.0.1:0", "--", "countersign-no-such-program", "x"}, "process_start: countersign-no-such-program: executable file not found"},
		{"no executable", []string{"--listen", "127.0.0.1:0", "--", file}, "process_start: countersign.yaml: "},
		{"listen", []string{"--listen", "nowhere", "--", "true"}, "is not an address with a port to listen on"},
		{"listen by name", []string{"--listen", "example.com:80", "--", "true"}, "is not an address with a port to listen on"},
		{"name", []string{"--name", "My Server", "--", "true"}, "is not a name"},
		{"configuration", []string{"--config", file, "--", "true"}, "tests"},
		{"no configuration", []string{"--config", file + ".not", "--", "true"}, "there is no file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, out, err := newShell(t).run(append([]string{"front"}, c.args...)...)
			if code != exitAsk || out != "" || !strings.Contains(err, c.reason) {
				t.Errorf("front = %d, %q, %q; want 2 and %q", code, out, err, c.reason)
			}
		})
	}
}

func TestFrontAddress_isOnLoopbackOrNot(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"localhost:1": "127.0.0.1:1", ":8080": "0.0.0.0:8080", "192.0.2.1:80": "192.0.2.1:80", "[::]:80": "[::]:80",
	} {
		if got, err := frontAddress(listen); err != nil || got.String() != want {
			t.Errorf("frontAddress(%q) = %s, %v; want %s", listen, got, err, want)
		}
	}
}

func TestFronting_warnsWhenOtherMachinesCanConnect(t *testing.T) {
	t.Parallel()
	for ip, public := range map[string]bool{"127.0.0.1": false, "::1": false, "0.0.0.0": true, "::": true, "192.0.2.1": true} {
		var out, err bytes.Buffer
		begun := newFronting("front", &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}, "/opt/bin/serv\x1ber")
		if failed := begun.print(&process{Surroundings: Surroundings{Out: &out, Err: &err, Getenv: func(string) string { return "" }}}); failed != nil {
			t.Fatal(failed)
		}
		if begun.Public != public || strings.Contains(err.String(), "is reachable from other machines") != public {
			t.Errorf("%s: public %v, %q", ip, begun.Public, &err)
		}
		if everywhere := net.ParseIP(ip).IsUnspecified(); everywhere != strings.Contains(out.String(), "It listens on all addresses") ||
			everywhere && begun.MCP != "http://127.0.0.1:1/mcp" {
			t.Errorf("%s is told to clients as %s:\n%s", ip, begun.MCP, &out)
		}
		if !strings.Contains(out.String(), `stands in front of serv\u001ber.`) || strings.Contains(out.String(), "/opt") {
			t.Errorf("%s: %s", ip, &out)
		}
	}
}

func TestFronting_isTheGoldenText(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	begun := newFronting("memory", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8485}, "/usr/bin/npx")
	s.transcript.WriteString(begun.text(painter{}))
	line, err := json.Marshal(begun)
	if err != nil {
		t.Fatal(err)
	}
	s.transcript.WriteString("--- with --json\n\n" + string(line) + "\n")
	s.golden(t, "front.txt")
}

func TestFronting_saysThatNoCanaryIsDeclared(t *testing.T) {
	t.Parallel()
	begun := newFronting("memory", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8485}, "npx")
	if text := begun.text(painter{}); !strings.Contains(text, "No canary is declared") {
		t.Errorf("without a canary:\n%s", text)
	}
	begun.Canary = "echo"
	if text := begun.text(painter{}); strings.Contains(text, "No canary is declared") {
		t.Errorf("with a canary:\n%s", text)
	}
	list := uncalled(func(context.Context) (string, error) { return "listed 9 tools", io.EOF })
	if told, err := list(t.Context()); told != "listed 9 tools; no canary is configured, so none was called" || !errors.Is(err, io.EOF) {
		t.Errorf("the entry of /test tells %q, %v", told, err)
	}
}

func TestRedactor_blotsOutSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	redact := redactor([]string{"HOME=/home/ada-lovelace", "API_KEY=sk-0123456789", "SHORT_TOKEN=true", "DB_PASSWORD=correct horse", "BROKEN"})
	const said = "sk-0123456789 of /home/ada-lovelace is true, not correct horse"
	if got, want := redact(said), "[API_KEY] of /home/ada-lovelace is true, not [DB_PASSWORD]"; got != want {
		t.Errorf("redacted: %s\nwant: %s", got, want)
	}
}

func TestFrontDependencies_areThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	fronted := front.New(front.Options{Log: slog.New(slog.DiscardHandler)})
	told := config.Front{
		Executables: []config.Executable{{Name: "nmap", Path: "nmap", Matches: regexp.MustCompile("x")}, {Name: "whatweb", Path: "whatweb", Optional: true}},
		HTTP:        []config.HTTPCheck{{Name: "index", URL: "http://127.0.0.1:1/"}, {Name: "mirror", URL: "http://127.0.0.1:1/", Optional: true}},
		Canary:      &registry.Canary{Tool: "echo"},
	}
	if got := len(frontDependencies(fronted, told)); got != 6 {
		t.Errorf("%d dependencies", got)
	}
	if got := len(frontDependencies(fronted, config.Front{})); got != 1 {
		t.Errorf("without a configuration %d dependencies", got)
	}
}
