package mcpwire

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// trace follows one request through its phases. The transport calls it from
// goroutines of its own, also after the request is over.
type trace struct {
	mu        sync.Mutex
	now       string
	address   string
	tlsFailed bool
	began     map[string]time.Time
	took      map[string]time.Duration
}

// The phases, in words that fit behind "while".
const (
	resolving  = "resolving the host name"
	connecting = "connecting"
	securing   = "securing the connection"
	waiting    = "waiting for the answer"
	reading    = "reading the answer"
)

func newTrace() *trace {
	return &trace{now: connecting, began: map[string]time.Time{}, took: map[string]time.Duration{}}
}

func (t *trace) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { t.begin(resolving) },
		DNSDone:  func(httptrace.DNSDoneInfo) { t.end(resolving) },
		ConnectStart: func(_, address string) {
			t.begin(connecting)
			t.mu.Lock()
			t.address = address
			t.mu.Unlock()
		},
		ConnectDone:       func(_, _ string, _ error) { t.end(connecting) },
		TLSHandshakeStart: func() { t.begin(securing) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			t.end(securing)
			t.mu.Lock()
			t.tlsFailed = err != nil
			t.mu.Unlock()
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { t.begin(waiting) },
		GotFirstResponseByte: func() {
			t.end(waiting)
			t.begin(reading)
		},
	})
}

func (t *trace) begin(phase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = phase
	t.began[phase] = time.Now()
}

func (t *trace) end(phase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took[phase] = time.Since(t.began[phase])
}

func (t *trace) phase() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// place is the phase and, while connecting, the address that is dialled.
func (t *trace) place() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == connecting && t.address != "" {
		return t.now + " to " + t.address
	}
	return t.now
}

// by names the address that was dialled last.
func (t *trace) by() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.address == "" {
		return ""
	}
	return " by " + t.address
}

// dialled is the address that was dialled last; empty when none was.
func (t *trace) dialled() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.address
}

func (t *trace) shookHandsInVain() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tlsFailed
}

// timings gives the phases of the connection and of the first byte.
func (t *trace) timings() registry.Timings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return registry.Timings{
		ResolveMs:   registry.Milliseconds(t.took[resolving]),
		ConnectMs:   registry.Milliseconds(t.took[connecting]),
		TLSMs:       registry.Milliseconds(t.took[securing]),
		FirstByteMs: registry.Milliseconds(t.took[waiting]),
	}
}
