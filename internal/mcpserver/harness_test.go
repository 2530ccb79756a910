package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// newOperations returns a gate on an empty database, whose clock begins at a
// fixed moment and goes on by one second at each look.
func newOperations(t *testing.T) task.Operations {
	t.Helper()
	database, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Close(); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return task.NewGate(database, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	})
}

// thisProcess is the caller of the tests over stdio.
func thisProcess(lock task.AgentID) task.Caller {
	return task.Caller{Principal: task.Principal{Kind: "process", ID: "p"}, Lock: lock}
}

// logging makes a server log to its test, unless it logs elsewhere.
func logging(t *testing.T, options Options) Options {
	t.Helper()
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return options
}

// shut closes what a test opened.
func shut(t *testing.T, closer io.Closer) {
	t.Helper()
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
}

// client is the other end of a stdio server.
type client struct {
	t        *testing.T
	in       *io.PipeWriter
	received chan string
	ended    chan error
	cancel   context.CancelFunc
}

// startStdio serves the task gate to one client until the test ends.
func startStdio(t *testing.T, operations task.Operations, options Options) *client {
	t.Helper()
	return connect(t, New(operations, logging(t, options)))
}

// connect serves one client over stdio until the test ends.
func connect(t *testing.T, server *Server) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c := &client{t: t, in: in, received: make(chan string), ended: make(chan error, 1), cancel: cancel}
	go func() {
		err := server.ServeStdio(ctx, fromClient, toClient)
		shut(t, toClient)
		c.ended <- err
	}()
	go func() {
		defer close(c.received)
		reader := bufio.NewReader(out)
		for {
			text, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			c.received <- strings.TrimSuffix(text, "\n")
		}
	}()
	t.Cleanup(func() {
		cancel()
		shut(t, in)
		for range c.received {
		}
		shut(t, fromClient)
	})
	return c
}

// send writes one line.
func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatalf("send %.200s: %v", text, err)
	}
}

// receive returns the next line.
func (c *client) receive() string {
	c.t.Helper()
	select {
	case text, more := <-c.received:
		if !more {
			c.t.Fatal("the server ended its output")
		}
		return text
	case <-time.After(patience):
		c.t.Fatal("the server does not answer")
	}
	return ""
}

// hangUp ends the input and returns what the server still had to say and how it
// ended.
func (c *client) hangUp() (rest []string, err error) {
	c.t.Helper()
	shut(c.t, c.in)
	for text := range c.received {
		rest = append(rest, text)
	}
	select {
	case err = <-c.ended:
	case <-time.After(patience):
		c.t.Fatal("the server does not end with its input")
	}
	return rest, err
}

// ask sends one line and returns its answer.
func (c *client) ask(text string) string {
	c.t.Helper()
	c.send(text)
	return c.receive()
}

// initialize goes through the handshake of the legacy era.
func (c *client) initialize() {
	c.t.Helper()
	c.ask(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// callOf returns a tool call of the legacy era.
func callOf(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// startHTTP serves the task gate on a loopback address until the test ends.
func startHTTP(t *testing.T, operations task.Operations, options Options) *httptest.Server {
	t.Helper()
	return listen(t, New(operations, logging(t, options)))
}

// listen serves on a loopback address until the test ends.
func listen(t *testing.T, server *Server) *httptest.Server {
	t.Helper()
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	return listening
}

// eachToolSet runs a test of the wire against a server of every tool set, of
// which tools is the number.
func eachToolSet(t *testing.T, test func(t *testing.T, server *Server, tools int)) {
	t.Helper()
	t.Run("task gate", func(t *testing.T) {
		test(t, New(newOperations(t), logging(t, Options{Caller: thisProcess("")})), 5)
	})
	t.Run("registry", func(t *testing.T) {
		test(t, NewRegistry(newFleet(), logging(t, Options{})), 4)
	})
}

// post sends a body with the usual headers, which headers may replace, and
// returns status and answer.
func post(t *testing.T, url, body string, headers map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, response.Body)
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	cursors = regexp.MustCompile(`(\\?"next_cursor\\?":\\?")([A-Za-z0-9_-]+)`)
)

// aliases gives what differs from run to run a name that does not.
type aliases struct {
	names map[string]string
	real  map[string]string
}

func newAliases() *aliases { return &aliases{names: map[string]string{}, real: map[string]string{}} }

func (a *aliases) name(kind, value string) string {
	if known, ok := a.names[value]; ok {
		return known
	}
	name := fmt.Sprintf("<%s %d>", kind, len(a.names)+1)
	a.names[value], a.real[name] = name, value
	return name
}

// hide replaces ids and cursors by their names.
func (a *aliases) hide(text string) string {
	text = cursors.ReplaceAllStringFunc(text, func(match string) string {
		parts := cursors.FindStringSubmatch(match)
		return parts[1] + a.name("cursor", parts[2])
	})
	return uuids.ReplaceAllStringFunc(text, func(id string) string { return a.name("id", id) })
}

// show puts ids and cursors back in the place of their names.
func (a *aliases) show(text string) string {
	for name, value := range a.real {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// serve hands one body to a handler as if it had come over HTTP, and returns its
// answer.
func serve(t *testing.T, handler http.Handler, body string) string {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp/registry", strings.NewReader(body))
	request.Host = "localhost"
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Body.String()
}
