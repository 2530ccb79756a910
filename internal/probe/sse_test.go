package probe_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// events is a server of HTTP with server-sent events. What is empty behaves
// well: it greets with the endpoint event, and the script's answers travel on
// the stream.
type events struct {
	script   script
	greeting string           // the beginning of the stream
	open     http.HandlerFunc // instead of the stream
	post     http.HandlerFunc // instead of taking a message
	refuse   http.HandlerFunc // answers a POST to the stream's address
	noise    string           // sent before each answer
	early    bool             // the answer is sent before the POST is answered
	goodbye  bool             // the stream ends instead of bringing an answer to tools/list
	ended    chan struct{}    // closed when the stream has ended, unless it is nil
}

const endpointEvent = "event: endpoint\ndata: /messages?sessionId=1\n\n"

func (e events) start(t *testing.T) (url string) {
	t.Helper()
	out := make(chan string, 64)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, request *http.Request) { e.stream(w, request, out) })
	mux.HandleFunc("POST /sse", func(w http.ResponseWriter, request *http.Request) {
		if e.refuse != nil {
			e.refuse(w, request)
			return
		}
		http.NotFound(w, request)
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, request *http.Request) { e.take(w, request, out) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/sse"
}

func (e events) stream(w http.ResponseWriter, request *http.Request, out <-chan string) {
	if e.open != nil {
		e.open(w, request)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	greeting := endpointEvent
	if e.greeting != "" {
		greeting = e.greeting
	}
	_, _ = io.WriteString(w, greeting)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case text := <-out:
			if text == "" {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		case <-request.Context().Done():
			if e.ended != nil {
				close(e.ended)
			}
			return
		}
	}
}

func (e events) take(w http.ResponseWriter, request *http.Request, out chan<- string) {
	if e.post != nil {
		e.post(w, request)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	if !e.early {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
	}
	if e.goodbye && strings.Contains(string(body), "tools/list") {
		out <- ""
		return
	}
	request.Body = io.NopCloser(strings.NewReader(string(body)))
	answer := httptest.NewRecorder()
	e.script.serve(answer, request)
	if text := answer.Body.String(); text != "" {
		out <- e.noise + "event: message\ndata: " + strings.ReplaceAll(text, "\n", "\ndata: ") + "\n\n"
	}
	if e.early {
		w.WriteHeader(http.StatusAccepted)
	}
}

// sse is a way in which such a server behaves, and the causes of g3 and g2.
type sse struct {
	events

	list  registry.Cause
	test  registry.Cause // when it is not what canaryOf says
	limit time.Duration
}

func eventStreams() map[string]sse {
	answers := func(method string, answer any) events { return events{script: script{method: answer}} }
	elsewhere := func(to string) events { return events{greeting: "event: endpoint\ndata: " + to + "\n\n"} }
	return map[string]sse{
		"a good server":                          {},
		"POST is refused with 400":               {events: events{refuse: says(400, `sessionid must be provided`)}},
		"POST is refused with 405":               {events: events{refuse: says(405, ``)}},
		"POST is refused with JSON of its own":   {events: events{refuse: says(404, `{"error":"not found"}`)}},
		"POST is refused with 406":               {events: events{refuse: says(406, ``)}, list: registry.HTTPStatus},
		"POST is refused with 500":               {events: events{refuse: says(500, ``)}, list: registry.HTTPStatus},
		"POST is refused with 401":               {events: events{refuse: says(401, ``)}, list: registry.Auth},
		"GET is refused too":                     {events: events{open: http.NotFound}, list: registry.HTTPStatus},
		"GET answers with a page":                {events: events{open: says(200, `<html>`)}, list: registry.HTTPStatus},
		"the stream names no endpoint":           {events: events{greeting: ": hello\n\n"}, list: registry.HTTPStatus, limit: 2 * time.Second},
		"the stream ends before the endpoint":    {events: events{open: streams(": hello\n\n")}, list: registry.HTTPStatus},
		"the endpoint is on another host":        {events: elsewhere("http://192.0.2.1/messages"), list: registry.Handshake},
		"the endpoint is on another port":        {events: elsewhere("http://127.0.0.1:1/messages"), list: registry.Handshake},
		"the endpoint has another scheme":        {events: elsewhere("//127.0.0.1:1/messages"), list: registry.Handshake},
		"the endpoint is no address":             {events: elsewhere("http://%zz"), list: registry.Handshake},
		"the endpoint is relative":               {events: elsewhere("messages?sessionId=1")},
		"a message in the flush of the endpoint": {events: events{greeting: endpointEvent + "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"}},
		"an answer in the flush of the endpoint": {events: events{
			greeting: endpointEvent + "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"protocolVersion\":\"2024-11-05\"}}\n\n",
			script:   script{"initialize": says(202, ``)},
		}},
		"the answer comes before the POST is answered": {events: events{early: true}},
		"junk and notifications come between":          {events: events{noise: "data: hello\n\n: x\n\nevent: other\ndata: {}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"}},
		"the server pings":                             {events: events{noise: "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n"}},
		"initialize fails":                             {events: answers("initialize", failure(200, -32603, "")), list: registry.Handshake},
		"the list fails":                               {events: answers("tools/list", failure(200, -32603, "")), list: registry.ProtocolError},
		"zero tools":                                   {events: answers("tools/list", result(`{"tools":[]}`)), list: registry.ZeroTools},
		"another id":                                   {events: answers("tools/list", reply{200, `{"jsonrpc":"2.0","id":"%s","result":{}}`}), list: registry.Timeout, limit: time.Second},
		"the stream ends instead of answering":         {events: events{goodbye: true}, list: registry.ProtocolError, test: registry.ProtocolError},
		"messages are refused":                         {events: events{post: says(500, ``)}, list: registry.HTTPStatus},
		"messages are refused with 403":                {events: events{post: says(403, ``)}, list: registry.Forbidden},
		"messages are never answered":                  {events: events{post: hangs}, list: registry.Timeout, limit: short},
		"an event that never ends":                     {events: events{greeting: endpointEvent, noise: "data: " + strings.Repeat("x", 5<<20) + "\n\n"}, list: registry.TooLarge},
	}
}

// probedAt probes an endpoint in the profile protocol.
func probedAt(t *testing.T, endpoint string, limit time.Duration) registry.ProbeResult {
	t.Helper()
	server, err := probe.ParseEndpoint(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	server.Canary = &registry.Canary{Tool: "noop", Force: true}
	return server.Probe(t.Context(), settings(limit))
}

func TestEventStreams_haveTheCauseOfTheContract(t *testing.T) {
	t.Parallel()
	for name, row := range eventStreams() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := generous
			if row.limit != 0 {
				limit = row.limit
			}
			row.script = withCanary(row.script)
			got := probedAt(t, row.start(t), limit)
			checkProtocol(t, got, "", cmp.Or(row.test, canaryOf(row.list)), row.list)
			if got.ListTools.OK && (got.Transport != registry.SSE || got.Era != registry.Legacy || got.SessionsOpened != 1) {
				t.Errorf("got the transport %q, the era %q, %d sessions; want sse, legacy, 1", got.Transport, got.Era, got.SessionsOpened)
			}
		})
	}
}

// withCanary lets a script answer the call of its tool.
func withCanary(s script) script {
	if s == nil {
		s = script{}
	}
	if _, told := s["tools/call"]; !told {
		s["tools/call"] = result(`{"content":[{"type":"text","text":"yes"}]}`)
	}
	return s
}

// canaryOf is the cause of a sound canary beside that of g3: what makes g3 fail
// without ending the conversation leaves g2 whole.
func canaryOf(list registry.Cause) registry.Cause {
	if list == registry.ZeroTools {
		return registry.CanaryFailed // the canary's tool is not listed either
	}
	if list == registry.ProtocolError {
		return ""
	}
	return list
}

// checkProtocol is checkGates without the claims about latency and detail, which
// a gate that did not get its turn does not have.
func checkProtocol(t *testing.T, got registry.ProbeResult, alive, canary, list registry.Cause) {
	t.Helper()
	for gate, want := range map[registry.Gate]registry.Cause{
		registry.Healthz: alive, registry.Test: canary, registry.ListTools: list,
	} {
		if found := got.Gate(gate); found.Cause != want || found.OK != (want == "") || found.Detail == "" {
			t.Errorf("%s: ok %v, cause %q (%s), want cause %q", gate, found.OK, found.Cause, found.Detail, want)
		}
	}
	if passed := alive == "" && canary == "" && list == ""; got.Passed() != passed {
		t.Errorf("passed %v, want %v", got.Passed(), passed)
	}
	if got.SessionsOpened != got.SessionsClosed {
		t.Errorf("%d sessions opened, %d closed", got.SessionsOpened, got.SessionsClosed)
	}
}

func TestEventStreams_areEndedWithTheProbe(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]bool{"after a success": false, "after an interruption": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			double := events{ended: ended, script: withCanary(nil)}
			if interrupted {
				double.script["tools/list"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })
			}
			server, err := probe.ParseEndpoint(double.start(t))
			if err != nil {
				t.Fatal(err)
			}
			got := server.Probe(ctx, settings(generous))
			<-ended
			if got.ListTools.OK == interrupted || got.SessionsOpened != 1 || got.SessionsClosed != 1 {
				t.Errorf("g3 %+v with %d opened, %d closed", got.ListTools, got.SessionsOpened, got.SessionsClosed)
			}
		})
	}
}

func TestEventStreams_followPages(t *testing.T) {
	t.Parallel()
	var asked int
	double := events{script: withCanary(script{"tools/list": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		next := ""
		if asked < 5 {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, asked)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"noop%d"}]%s}}`, asked+3, asked, next)
	})})}
	double.script["initialize"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		result(`{"protocolVersion":"2024-11-05"}`).write(w, "3")
	})
	got := probedAt(t, double.start(t), generous)
	if got.ListTools.ToolCount != 5 || got.ProtocolVersion != "2024-11-05" {
		t.Errorf("got %d tools (%s) in version %q, want 5 in 2024-11-05", got.ListTools.ToolCount, got.ListTools.Detail, got.ProtocolVersion)
	}
}
