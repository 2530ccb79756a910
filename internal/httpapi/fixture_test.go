package httpapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// short stands for a limit that a test waits for.
const short = 100 * time.Millisecond

// running is a server under test.
type running struct {
	url  string
	host string
	log  *logged
	stop context.CancelFunc
	over chan error
}

// start runs the server until the test ends.
func start(t *testing.T, server *Server) *running {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	server.options.Log = logTo(log)
	ctx, stop := context.WithCancel(context.Background())
	run := &running{
		url: "http://" + listener.Addr().String(), host: listener.Addr().String(),
		log: log, stop: stop, over: make(chan error, 1),
	}
	go func() {
		run.over <- server.Run(ctx, listener)
		close(run.over)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-run.over:
			if err != nil {
				t.Errorf("Run = %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	return run
}

// plain is a server whose parts do the least.
func plain() *Server {
	return New(Options{
		Service:      "countersign",
		Version:      "1.2.3",
		MCP:          answering("mcp"),
		Registry:     answering("registry"),
		Metrics:      answering("metrics"),
		Pages:        map[string]http.Handler{"GET /{$}": answering("page"), "GET /assets/": answering("file"), "POST /components/{name}/probe": answering("probed")},
		Dependencies: []gates.Dependency{gates.Required("database", gates.Func(func(context.Context) error { return nil }))},
	})
}

func discarding() *slog.Logger { return slog.New(slog.DiscardHandler) }

func logTo(log *logged) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

func answering(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, text)
	})
}

// reply is an answer whose body was read.
type reply struct {
	StatusCode int
	Header     http.Header
}

// do sends one request and returns the answer with its body.
func (r *running) do(t *testing.T, method, path string, header http.Header, body string) (reply, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		if name == "Host" {
			request.Host = values[0]
			continue
		}
		request.Header[name] = values
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return reply{StatusCode: answer.StatusCode, Header: answer.Header}, string(text)
}

// logged collects log lines.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// handlerOf is the handler of a server on loopback.
func handlerOf(t *testing.T, server *Server) http.Handler {
	t.Helper()
	handler, err := server.handler(t.Context().Done(), place{port: httpPort})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}
