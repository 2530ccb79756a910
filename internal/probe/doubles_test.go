package probe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// double is a server under the three gates. What is nil behaves well.
type double struct {
	healthz http.HandlerFunc
	test    http.HandlerFunc
	mcp     http.HandlerFunc
}

func (d double) start(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, page := range map[string][2]http.HandlerFunc{
		"/healthz": {d.healthz, says(200, `{"status":"ok"}`)},
		"/test":    {d.test, says(200, `{"ok":true,"detail":"all required tools executable"}`)},
		"/mcp":     {d.mcp, script{}.serve},
	} {
		if page[0] != nil {
			mux.HandleFunc(path, page[0])
		} else {
			mux.HandleFunc(path, page[1])
		}
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// probed examines a server with a limit that is generous unless the double is
// meant to run into it.
func probed(t *testing.T, url string, limit time.Duration) registry.ProbeResult {
	t.Helper()
	server, err := probe.ParseMCPServer(url, "")
	if err != nil {
		t.Fatal(err)
	}
	return server.Probe(t.Context(), settings(limit))
}

func settings(limit time.Duration) probe.Settings {
	return probe.Settings{Timeout: limit, Version: "test", Now: time.Now}
}

const (
	generous = 2 * time.Minute
	short    = 400 * time.Millisecond
)

// says answers with a status and a body in JSON.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// leads answers with a redirect.
func leads(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) { http.Redirect(w, request, to, http.StatusFound) }
}

// hangs never answers. It reads the body, because the end of the connection is
// not noticed before.
func hangs(_ http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	<-request.Context().Done()
}

// hangsUp drops the connection instead of answering.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// breaksOff promises a longer body than it sends.
func breaksOff(kind, part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drips sends a byte now and then for ever.
func drips(kind, begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, begin)
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-request.Context().Done():
				return
			case <-ticks.C:
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// floods sends as fast as it can, for ever.
func floods(kind, begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, begin)
		chunk := make([]byte, 64<<10)
		for i := range chunk {
			chunk[i] = 'x'
		}
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

// script is an MCP server of the legacy era: for each method, what is answered
// instead of the good answer. In an answer %s stands for the request's id.
type script map[string]any

func (s script) serve(w http.ResponseWriter, request *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(request.Body).Decode(&message)
	step := message.Method
	if request.Method != http.MethodPost {
		step = request.Method
	}
	switch answer := s[step].(type) {
	case http.HandlerFunc:
		answer(w, request)
	case reply:
		answer.write(w, string(message.ID))
	case nil:
		s.behave(w, step, string(message.ID))
	default:
		panic(fmt.Sprintf("no answer is a %T", answer))
	}
}

func (script) behave(w http.ResponseWriter, step, id string) {
	switch step {
	case "server/discover":
		reply{404, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`}.write(w, id)
	case "initialize":
		result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"double","version":"1"}}`).write(w, id)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case "tools/list":
		result(`{"tools":[{"name":"noop","inputSchema":{"type":"object"}}]}`).write(w, id)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// reply is a status and a JSON-RPC message with %s for the id.
type reply struct {
	status  int
	message string
}

func (r reply) write(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	if id == "" {
		id = "null"
	}
	fmt.Fprintf(w, r.message, id)
}

func result(of string) reply {
	return reply{200, `{"jsonrpc":"2.0","id":%s,"result":` + of + `}`}
}

func failure(status, code int, more string) reply {
	return reply{status, fmt.Sprintf(`{"jsonrpc":"2.0","id":%%s,"error":{"code":%d,"message":"no"%s}}`, code, more)}
}
