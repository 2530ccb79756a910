//go:build unix

package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// fronted is a front under test with its child.
type fronted struct {
	*Front

	url string
	log *logged
}

// begin runs a front before a double until the test ends.
func begin(t *testing.T, how string, adjust ...func(*limits)) *fronted {
	t.Helper()
	f := &fronted{log: &logged{}}
	f.Front = New(Options{
		Command:  mcpwire.Command{Path: os.Args[0], Env: []string{behaviour + "=" + how}},
		Identity: mcpwire.Identity{Name: "front", Version: "1"},
		Log:      slog.New(slog.NewTextHandler(f.log, nil)),
	})
	for _, each := range adjust {
		each(&f.limits)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	server := httptest.NewServer(f.Front)
	f.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		select {
		case err := <-over:
			if err != nil {
				t.Errorf("Run = %v", err)
			}
		case <-time.After(patience):
			t.Error("the front does not end")
		}
		if t.Failed() {
			t.Logf("log:\n%s", f.log)
		}
	})
	return f
}

// answer is what a client got: the JSON-RPC messages, and how they came.
type answer struct {
	status   int
	header   http.Header
	messages []json.RawMessage
}

// final is the last message, taken apart.
func (a answer) final(t *testing.T) rpc {
	t.Helper()
	if len(a.messages) == 0 {
		t.Fatalf("status %d without a message", a.status)
	}
	var got rpc
	if err := json.Unmarshal(a.messages[len(a.messages)-1], &got); err != nil {
		t.Fatal(err)
	}
	return got
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcProblem     `json:"error"`
}

type rpcProblem struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// post sends one body; header holds pairs of name and value, after those that
// every client sends, and an empty value removes one.
func (f *fronted) post(ctx context.Context, t *testing.T, body string, header ...string) (answer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			request.Header.Del(header[i])
			continue
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	got := answer{status: response.StatusCode, header: response.Header}
	text, err := io.ReadAll(response.Body)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if message, isOne := strings.CutPrefix(lines.Text(), "data: "); isOne {
				got.messages = append(got.messages, json.RawMessage(message))
			}
		}
	} else if len(text) > 0 {
		got.messages = append(got.messages, text)
	}
	return got, err
}

// ask sends one body and returns the answer, which must come.
func (f *fronted) ask(t *testing.T, body string, header ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := f.post(ctx, t, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// askModern sends a request of the modern era.
func (f *fronted) askModern(t *testing.T, method, members string, header ...string) answer {
	t.Helper()
	return f.ask(t, modernBody(method, members), append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}, header...)...)
}

func modernBody(method, members string) string {
	return `{"jsonrpc":"2.0","id":"m","method":"` + method + `","params":{` + members + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s: never", what)
		}
		<-time.After(time.Millisecond)
	}
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

// passed is how an error of a child reaches a client.
func passed(t *testing.T, raw string) *rpcProblem {
	t.Helper()
	recorder := httptest.NewRecorder()
	(&reply{w: recorder, document: true}).pass(methodRead, json.RawMessage(raw))
	return answer{messages: []json.RawMessage{recorder.Body.Bytes()}}.final(t).Error
}
