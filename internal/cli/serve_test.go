package cli

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// servePatience is how long a test waits for a server.
const servePatience = time.Minute

// served is a running serve command.
type served struct {
	serving
	stop context.CancelFunc
	code chan int
	log  *journal
}

// journal is what was logged so far, and may be read meanwhile.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *journal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *journal) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// serve runs the command in this process until the test ends.
func (s *shell) serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	server := &served{stop: stop, code: make(chan int, 1), log: &journal{}}
	go func() {
		server.code <- Main(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...), Surroundings{
			In: strings.NewReader(""), Out: in, Err: server.log, Getenv: func(name string) string { return s.env[name] },
		})
		close(server.code)
		_ = in.Close()
	}()
	t.Cleanup(func() { server.end(t) })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("serve printed no start line: %v", err)
	}
	if err := json.Unmarshal(line, &server.serving); err != nil {
		t.Fatalf("start line %s: %v", line, err)
	}
	return server
}

// end stops the server and returns its exit code, 0 when it has ended before.
func (s *served) end(t *testing.T) int {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		return code
	case <-time.After(servePatience):
		t.Fatal("serve does not end")
		return -1
	}
}

// ask sends one request of an MCP client and returns the status and the body.
func ask(t *testing.T, method, url, body string, header map[string]string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servePatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		request.Host = host
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const createCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task",` +
	`"arguments":{"title":"Ship","acceptance_criteria":["it ships"],"created_by":"lead"}}}`

func TestServe_putsTheTaskGateAtMCP(t *testing.T) {
	s := newShell(t)
	server := s.serve(t)
	status, body := ask(t, http.MethodPost, server.MCP, createCall, nil)
	if status != http.StatusOK || !strings.Contains(body, `"status":"pending"`) {
		server.end(t)
		t.Fatalf("create_task = %d %s; log:\n%s", status, body, server.log)
	}
	if _, out, _ := s.run("task", "list"); !strings.Contains(out, "Ship") {
		t.Errorf("the task is not in the default database:\n%s", out)
	}
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d, want 0; log:\n%s", code, server.log)
	}
}

func TestServe_passesItsOwnGates(t *testing.T) {
	s := newShell(t)
	server := s.serve(t)
	if code, out, err := s.run("probe", server.URL); code != exitYes {
		t.Errorf("probe = %d\n%s%s", code, out, err)
	}
	if code, out, err := s.run("healthcheck", server.URL); code != exitYes {
		t.Errorf("healthcheck = %d\n%s%s", code, out, err)
	}
}

func TestServe_refusesWhatIsNotMeantForIt(t *testing.T) {
	server := newShell(t).serve(t)
	cases := []struct {
		name, body string
		header     map[string]string
		statuses   []int
	}{
		{"foreign host", createCall, map[string]string{"Host": "evil.example.com"}, []int{403, 421}},
		{"foreign origin", createCall, map[string]string{"Origin": "http://evil.example.com"}, []int{403}},
		{"null origin", createCall, map[string]string{"Origin": "null"}, []int{403}},
		{"wrong Accept", createCall, map[string]string{"Accept": "text/html"}, []int{400, 406}},
		{"oversize", `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 1<<20) + `"}`, nil, []int{413}},
		{"malformed", `{`, nil, []int{400}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, body := ask(t, http.MethodPost, server.MCP, c.body, c.header)
			if !slices.Contains(c.statuses, status) {
				t.Errorf("status = %d, want one of %v: %s", status, c.statuses, body)
			}
		})
	}
	if status, body := ask(t, http.MethodPost, server.MCP, createCall, nil); status != http.StatusOK {
		t.Errorf("afterwards create_task = %d %s", status, body)
	}
}

func TestServe_turnsItsTestRedWhenTheDatabaseBreaks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gate.db")
	server := newShell(t).serve(t, "--db", file)
	if status, body := ask(t, http.MethodGet, server.Test, "", nil); status != http.StatusOK {
		t.Fatalf("/test = %d %s", status, body)
	}
	execute(t, file, "DROP TABLE heartbeat")
	deadline := time.Now().Add(servePatience)
	status, body := http.StatusOK, ""
	for status == http.StatusOK && time.Now().Before(deadline) { // the last result is used for a second
		status, body = ask(t, http.MethodGet, server.Test, "", nil)
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"detail":"required tools unusable: database"`) {
		t.Errorf("/test = %d %s", status, body)
	}
	if status, body := ask(t, http.MethodGet, server.Healthz, "", nil); status != http.StatusOK {
		t.Errorf("/healthz = %d %s", status, body)
	}
	server.end(t)
	if !strings.Contains(server.log.String(), "the database failed its check") {
		t.Errorf("the log does not tell the cause:\n%s", server.log)
	}
}

// execute runs a statement on a SQLite file behind the gate's back.
func execute(t *testing.T, file, statement string) {
	t.Helper()
	saboteur, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = saboteur.ExecContext(t.Context(), statement)
	if err := errors.Join(err, saboteur.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseProof_failsOnceTheDatabaseIsGone(t *testing.T) {
	cases := map[string]func(file string, database *store.Database) error{
		"closed":  func(_ string, database *store.Database) error { return database.Close() },
		"removed": func(file string, _ *store.Database) error { return os.Remove(file) },
		"replaced": func(file string, _ *store.Database) error {
			return errors.Join(os.Rename(file, file+".moved"), os.WriteFile(file, nil, 0o600))
		},
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "gate.db")
			database, err := store.Open(t.Context(), file, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Close() })
			proof := databaseProof(database, slog.New(slog.DiscardHandler))
			if err := proof(t.Context()); err != nil {
				t.Errorf("proof = %v", err)
			}
			if err := breakIt(file, database); err != nil {
				t.Fatal(err)
			}
			if err := proof(t.Context()); err == nil {
				t.Error("the database is proven")
			}
		})
	}
}

func TestServe_showsAPageWithTheClientConfiguration(t *testing.T) {
	server := newShell(t).serve(t)
	_, page := ask(t, http.MethodGet, server.URL+"/connect", "", nil)
	for _, wanted := range []string{server.Clients.HTTP.String(), server.Clients.Stdio.String(), "countersign probe " + server.URL} {
		if !strings.Contains(html.UnescapeString(page), wanted) {
			t.Errorf("the page does not hold %s", wanted)
		}
	}
}

func TestServe_refusesToStartWithTheReason(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	const reachable, malformed = "is reachable from other machines", "is not an address with a port"
	cases := []struct {
		name   string
		args   []string
		reason string
	}{
		{"all interfaces", []string{"--listen", "0.0.0.0:8484"}, reachable},
		{"all interfaces, short", []string{"--listen", ":8484"}, reachable},
		{"all interfaces, IPv6", []string{"--listen", "[::]:8484"}, reachable},
		{"other address", []string{"--listen", "192.0.2.1:8484"}, reachable},
		{"name", []string{"--listen", "example.com:8484"}, malformed},
		{"no port", []string{"--listen", "127.0.0.1"}, malformed},
		{"port that is none", []string{"--listen", "127.0.0.1:99999"}, malformed},
		{"empty", []string{"--listen", ""}, malformed},
		{"busy port", []string{"--listen", taken.Addr().String()}, "--listen 127.0.0.1:0 takes a free one"},
		{"log format", []string{"--log-format", "xml"}, "--log-format"},
		{"log level", []string{"--log-level", "loud"}, "--log-level"},
		{"directory for a database", []string{"--listen", "127.0.0.1:0", "--db", t.TempDir()}, "is not a file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, out, err := newShell(t).run(append([]string{"serve"}, c.args...)...)
			if code != exitAsk || out != "" || !strings.Contains(err, c.reason) {
				t.Errorf("serve = %d, %q, %q; want 2 and %q", code, out, err, c.reason)
			}
		})
	}
}

func TestLoopbackAddress_takesEveryAddressOfThisMachineOnly(t *testing.T) {
	for listen, want := range map[string]string{
		"localhost:8484": "127.0.0.1:8484", "127.0.0.2:1": "127.0.0.2:1", "[::1]:8484": "[::1]:8484",
		"[::ffff:127.0.0.1]:80": "[::ffff:127.0.0.1]:80",
	} {
		if got, err := loopbackAddress(listen); err != nil || got.String() != want {
			t.Errorf("loopbackAddress(%q) = %s, %v; want %s", listen, got, err, want)
		}
	}
}

func TestClientConfiguration_readsTheSameForPeopleAndMachines(t *testing.T) {
	begun := newServing(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, `/a "b" <c> & d.db`, true)
	for _, want := range []clientConfiguration{begun.Clients.HTTP, begun.Clients.Stdio} {
		var got clientConfiguration
		if err := json.Unmarshal([]byte(want.String()), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the text reads otherwise (-want +got):\n%s", diff)
		}
	}
}

func TestServing_isTheGoldenText(t *testing.T) {
	s := newShell(t)
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484}
	bare := newServing(address, "/home/ada/.local/share/countersign/countersign.db", false)
	bare.lookedFor = []string{"countersign.yaml", "/home/ada/.config/countersign/countersign.yaml"}
	s.transcript.WriteString(bare.text(painter{}))
	full := newServing(address, "/srv/gate.db", true).registering(&config.Config{File: "/srv/countersign.yaml", Components: make([]registry.Component, 3)}, nil)
	s.transcript.WriteString("--- with a configuration\n\n" + full.text(painter{}))
	elsewhere := newServing(address, "postgres://db.internal/gate", true)
	elsewhere.Config = "/srv/countersign.yaml"
	s.transcript.WriteString("--- with --db\n\n" + elsewhere.text(painter{}))
	line, err := json.Marshal(newServing(address, "/srv/\x1bgate.db", true))
	if err != nil {
		t.Fatal(err)
	}
	s.transcript.WriteString("--- with --json\n\n" + string(line) + "\n")
	s.golden(t, "serve.txt")
}
