package examiner_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// double is a server under the three gates that can be told to change.
type double struct {
	*httptest.Server

	probes atomic.Int64 // requests to /healthz
	dead   atomic.Bool  // every gate fails
	hold   func()       // called before /healthz is answered
	echo   atomic.Bool  // /test fails and repeats what the caller sent
	legacy atomic.Bool  // it has never heard of the modern era
	asked  atomic.Int64 // requests server/discover
	mu     sync.Mutex   // of what follows
	tools  []string     // their names
	means  string       // the description of each
	number string       // the version of the server
}

func startDouble(t *testing.T) *double {
	t.Helper()
	d := &double{hold: func() {}, tools: []string{"scan"}, number: "1.2.0"}
	d.legacy.Store(true)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		d.probes.Add(1)
		d.hold()
		d.answer(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("/test", func(w http.ResponseWriter, request *http.Request) {
		if d.echo.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"ok":false,"detail":"refused %s","tools":{"api":{"detail":%q}}}`,
				request.Header.Get("X-Key"), request.Header.Get("X-Key"))
			return
		}
		d.answer(w, `{"ok":true}`)
	})
	mux.HandleFunc("/mcp", d.speak)
	d.Server = httptest.NewServer(mux)
	t.Cleanup(d.Close)
	return d
}

func (d *double) answer(w http.ResponseWriter, body string) {
	if d.dead.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, body)
}

func (d *double) speak(w http.ResponseWriter, request *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(request.Body).Decode(&message)
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := ""
	switch message.Method {
	case "server/discover":
		d.asked.Add(1)
		if !d.legacy.Load() {
			answer = fmt.Sprintf(`"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","serverInfo":{"name":"double","version":%q}}`, d.number)
		}
	case "initialize":
		if d.legacy.Load() {
			answer = fmt.Sprintf(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"double","version":%q}}`, d.number)
		}
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	case "tools/list":
		var list []string
		for _, name := range d.tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, d.means+request.Header.Get("X-Key")))
		}
		answer = `"result":{"resultType":"complete","tools":[` + strings.Join(list, ",") + `]}`
	}
	if answer == "" {
		answer = `"error":{"code":-32601,"message":"Method not found"}`
	}
	w.Header().Set("Content-Type", "application/json")
	d.answer(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, message.ID, answer))
}

// serves changes the tools and what they mean.
func (d *double) serves(means string, tools ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.means, d.tools = means, tools
}

// component is the server as it is registered.
func (d *double) component(name string) registry.Component {
	return registry.Component{Name: name, Timeout: 20 * time.Second, Spec: &registry.MCPServer{URL: d.URL, Profile: registry.ThreeGates}}
}

// clock is a time that passes only when it is told to.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

// bench is an examiner with all that it needs.
type bench struct {
	*examiner.Examiner

	store *memory
	clock *clock
}

func start(t *testing.T, registered *registry.Registered) bench {
	t.Helper()
	return startWith(t, registered, func(*examiner.Options) {})
}

func startWith(t *testing.T, registered *registry.Registered, adjust func(*examiner.Options)) bench {
	t.Helper()
	b := bench{store: newMemory(), clock: newClock()}
	options := examiner.Options{Store: b.store, Now: b.clock.now, Version: "test", Key: signing()}
	adjust(&options)
	b.Examiner = examiner.New(options)
	if err := b.Use(t.Context(), registered); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(time.Second)
	return b
}

// signing has a key that is always the same.
func signing() func() (ed25519.PrivateKey, error) {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	return func() (ed25519.PrivateKey, error) { return key, nil }
}

// wantFault checks that err is a fault with a code and a hint.
func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	got, is := fault.Of(err)
	if !is || got.Code != code || got.Hint == "" {
		t.Errorf("got %v, want the fault %s with a hint", err, code)
	}
}
