package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/countersign-dev/countersign/internal/registry"
)

// stub is a server under the three gates that does nothing: its answers are
// written by hand, so that what is measured is who asks.
type stub struct {
	*httptest.Server

	era      registry.Era
	stateful bool
	tools    string // the result of tools/list
	requests atomic.Int64
	opened   atomic.Int64 // sessions
	closed   atomic.Int64

	holding sync.Mutex
	held    chan struct{} // requests of /test wait until it is closed; nil for no waiting
	waiting atomic.Int64  // requests that wait
	holdAll bool          // hold every request, not only /test
}

func newStub(era registry.Era, stateful bool) *stub {
	s := &stub{era: era, stateful: stateful, tools: stubTools()}
	s.Server = httptest.NewServer(s)
	return s
}

// hold lets requests wait, those of /test or all, until the function that it
// returns is called.
func (s *stub) hold(all bool) (release func()) {
	gate := make(chan struct{})
	s.holding.Lock()
	defer s.holding.Unlock()
	s.held, s.holdAll = gate, all
	s.waiting.Store(0)
	return sync.OnceFunc(func() {
		s.holding.Lock()
		defer s.holding.Unlock()
		s.held = nil
		close(gate)
	})
}

func (s *stub) wait(path string) {
	s.holding.Lock()
	gate, all := s.held, s.holdAll
	s.holding.Unlock()
	if gate != nil && (all || path == "/test") {
		s.waiting.Add(1)
		<-gate
	}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.requests.Add(1)
	s.wait(request.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case request.Method == http.MethodDelete:
		s.closed.Add(1)
		w.WriteHeader(http.StatusNoContent)
	case request.URL.Path == "/mcp":
		s.speak(w, request)
	default:
		_, _ = io.WriteString(w, `{"ok":true,"status":"ok"}`)
	}
}

// speak answers one message.
func (s *stub) speak(w http.ResponseWriter, request *http.Request) {
	var message struct {
		ID     int64  `json:"id"`
		Method string `json:"method"`
	}
	if json.NewDecoder(request.Body).Decode(&message) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := ""
	switch message.Method {
	case "server/discover":
		if s.era == registry.Modern {
			result = `{"supportedVersions":["2026-07-28"],"resultType":"complete","capabilities":{"tools":{}}}`
		}
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"stub","version":"1"}}`
		if s.stateful {
			w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", s.opened.Add(1)))
		}
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	case "tools/list":
		result = s.tools
	}
	if result == "" {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}`, message.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":%s}`, message.ID, result)
}

// stubTools are eight tools of the size of real ones.
func stubTools() string {
	tools := make([]string, 8)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":"Looks up what is known about a host and returns it as text.",`+
			`"inputSchema":{"type":"object","properties":{"host":{"type":"string"},"ports":{"type":"array","items":{"type":"integer"}}},"required":["host"]}}`, i)
	}
	return `{"resultType":"complete","tools":[` + strings.Join(tools, ",") + `]}`
}

// freeAddress is an address on loopback that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
