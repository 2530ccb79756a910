package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

func TestRun_finishesTheCallsInFlight(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := plain()
	server.options.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "finished")
	})
	run := start(t, server)
	answers := make(chan string, 1)
	go func() {
		_, body := run.do(t, http.MethodPost, "/mcp", nil, "{}")
		answers <- body
	}()
	<-entered
	run.stop()
	untilRefused(t, run.host)
	close(release)
	if body := <-answers; body != "finished" {
		t.Errorf("the call in flight was answered %q", body)
	}
	if err := <-run.over; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
}

func TestRun_breaksOffWhatDoesNotEnd(t *testing.T) {
	entered := make(chan struct{})
	server := plain()
	server.limits.drain = short
	server.options.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-r.Context().Done()
	})
	run := start(t, server)
	broken := make(chan error, 1)
	go func() {
		answer, err := http.Post(run.url+"/mcp", "application/json", strings.NewReader("{}"))
		if err == nil {
			_ = answer.Body.Close()
		}
		broken <- err
	}()
	<-entered
	run.stop()
	if err := <-broken; err == nil {
		t.Error("the call was answered, want it broken off")
	}
	if err := <-run.over; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if !strings.Contains(run.log.String(), "broken off") {
		t.Errorf("the log does not say so: %s", run.log)
	}
}

func TestRun_refusesAnAddressThatOthersReach(t *testing.T) {
	listener := &foreignListener{}
	if err := plain().Run(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "not a loopback address") {
		t.Errorf("Run = %v", err)
	}
	if !listener.closed {
		t.Error("the listener is still open")
	}
}

func TestRun_survivesAPanic(t *testing.T) {
	server := plain()
	server.options.MCP = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret cause") })
	run := start(t, server)
	answer, body := run.do(t, http.MethodPost, "/mcp", nil, "{}")
	if answer.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"code":"E_INTERNAL"`) || strings.Contains(body, "secret") {
		t.Errorf("a panic is answered %d %s", answer.StatusCode, body)
	}
	if !strings.Contains(run.log.String(), "secret cause") {
		t.Errorf("the log does not tell the cause: %s", run.log)
	}
	if answer, _ := run.do(t, http.MethodGet, "/healthz", nil, ""); answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz = %d afterwards", answer.StatusCode)
	}
}

func TestRun_breaksOffAnAnswerThatPanics(t *testing.T) {
	server := plain()
	server.options.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("halfway")
	})
	run := start(t, server)
	answer, err := http.Post(run.url+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		return // broken off before the headers were sent
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("the answer looks complete: %s", body)
	}
}

func TestLog_tellsEachRequestWithoutItsSecrets(t *testing.T) {
	run := start(t, plain())
	run.do(t, http.MethodPost, "/mcp?token=hidden", http.Header{"Authorization": {"Bearer hidden"}}, `{"evidence":"hidden"}`)
	run.do(t, http.MethodGet, "/a%0Alevel=ERROR%1b", nil, "")
	run.do(t, http.MethodGet, "/"+strings.Repeat("x", 10_000), nil, "")
	run.stop()
	if err := <-run.over; err != nil {
		t.Errorf("Run = %v", err)
	}
	log := run.log.String()
	for _, wanted := range []string{
		"msg=request method=POST path=/mcp status=200 bytes=3",
		`method=GET path="/a%0Alevel=ERROR%1b" status=404`,
		strings.Repeat("x", maxPath-1) + "... status=404",
	} {
		if !strings.Contains(log, wanted) {
			t.Errorf("the log holds no %q:\n%s", wanted, log)
		}
	}
	if strings.Contains(log, "hidden") {
		t.Errorf("the log holds a secret:\n%s", log)
	}
}

func TestLog_leavesOutWhatProbesAskAgainAndAgainUnlessItFails(t *testing.T) {
	server := plain()
	var broken atomic.Bool
	server.options.Dependencies = []gates.Dependency{gates.Required("database", gates.Func(func(context.Context) error {
		if broken.Load() {
			return errors.New("gone")
		}
		return nil
	}))}
	run := start(t, server)
	for _, path := range []string{"/healthz", "/health", "/metrics", "/assets/style.css"} {
		run.do(t, http.MethodGet, path, nil, "")
	}
	again := http.Header{"Countersign-Again": {"1"}}
	run.do(t, http.MethodGet, "/", again, "")
	run.do(t, http.MethodPost, "/healthz", nil, "")
	broken.Store(true)
	for _, noticed := range []struct{ method, path string }{{http.MethodPost, "/components/docs/probe"}, {http.MethodGet, "/nothing"}, {http.MethodGet, pathV1 + "/tasks"}} {
		run.do(t, noticed.method, noticed.path, again, "")
	}
	run.do(t, http.MethodGet, "/test", nil, "")
	run.stop()
	if err := <-run.over; err != nil {
		t.Errorf("Run = %v", err)
	}
	log := run.log.String()
	if strings.Count(log, "msg=request") != 5 || !strings.Contains(log, "level=INFO msg=request method=POST path=/healthz status=405") ||
		!strings.Contains(log, "level=WARN msg=request method=GET path=/test status=503") {
		t.Errorf("the log is\n%s", log)
	}
}

// A stream learns by its flush that its client is gone.
func TestAnswer_streamsThroughTheGuards(t *testing.T) {
	inner := &deaf{ResponseRecorder: httptest.NewRecorder()}
	var answer http.ResponseWriter = &watched{ResponseWriter: &timedAnswer{ResponseWriter: inner, limit: patience}}
	flusher, ok := answer.(http.Flusher)
	if !ok {
		t.Fatal("answers cannot be flushed")
	}
	flusher.Flush()
	out := &stream{w: answer}
	if err := out.send([]byte("one")); err != nil || inner.flushed != 2 || inner.Body.String() != "one" {
		t.Errorf("flushed %d times, told %q: %v", inner.flushed, inner.Body, err)
	}
	inner.fails = errors.New("nobody reads")
	if err := out.send([]byte("two")); !errors.Is(err, inner.fails) {
		t.Errorf("the flush fails, and the stream is told %v", err)
	}
}

// deaf is an answer whose flush may fail.
type deaf struct {
	*httptest.ResponseRecorder

	flushed int
	fails   error
}

func (d *deaf) FlushError() error { d.flushed++; return d.fails }

// untilRefused waits until nothing is accepted at host any more.
func untilRefused(t *testing.T, host string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			return
		}
		_ = connection.Close()
	}
	t.Fatal("connections are still accepted")
}

// foreignListener pretends to listen where other machines reach it.
type foreignListener struct{ closed bool }

func (*foreignListener) Accept() (net.Conn, error) { return nil, io.EOF }
func (l *foreignListener) Close() error            { l.closed = true; return nil }
func (*foreignListener) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
