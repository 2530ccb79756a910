package httpapi

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGuards_answerOnlyWhoMeansThisServer(t *testing.T) {
	run := start(t, plain())
	_, port, err := net.SplitHostPort(run.host)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		header http.Header
		status int
	}{
		{"address", http.Header{"Host": {"127.0.0.1:" + port}}, 200},
		{"other loopback address", http.Header{"Host": {"127.1.2.3:" + port}}, 200},
		{"name", http.Header{"Host": {"LocalHost:" + port}}, 200},
		{"IPv6", http.Header{"Host": {"[::1]:" + port}}, 200},
		{"foreign name", http.Header{"Host": {"evil.example.com:" + port}}, 403},
		{"name that only begins well", http.Header{"Host": {"localhost.evil.example.com:" + port}}, 403},
		{"foreign address", http.Header{"Host": {"192.0.2.1:" + port}}, 403},
		{"all interfaces", http.Header{"Host": {"0.0.0.0:" + port}}, 403},
		{"other port", http.Header{"Host": {"127.0.0.1:1"}}, 403},
		{"no port", http.Header{"Host": {"localhost"}}, 403},
		{"port with a name", http.Header{"Host": {"localhost:http"}}, 403},
		{"own origin", http.Header{"Origin": {"http://localhost:" + port}, "Host": {"localhost:" + port}}, 200},
		{"foreign origin", http.Header{"Origin": {"http://evil.example.com"}}, 403},
		{"null origin", http.Header{"Origin": {"null"}}, 403},
		{"empty origin", http.Header{"Origin": {""}}, 403},
		{"origin of another port", http.Header{"Origin": {"http://127.0.0.1:1"}}, 403},
		{"origin of another scheme", http.Header{"Origin": {"https://127.0.0.1:" + port}}, 403},
		{"own origin and a foreign one", http.Header{"Origin": {run.url, "http://evil.example.com"}}, 403},
		{"foreign origin that claims to be typed", http.Header{"Origin": {"http://evil.example.com"}, "Sec-Fetch-Site": {"none"}}, 403},
		{"cross-site without an origin", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{"/mcp", "/mcp/registry"} {
				if answer, body := run.do(t, http.MethodPost, path, c.header, "{}"); answer.StatusCode != c.status {
					t.Errorf("POST %s = %d %s, want %d", path, answer.StatusCode, body, c.status)
				}
			}
		})
	}
	header := http.Header{"Origin": {"http://evil.example.com"}}
	for _, path := range []string{"/test", "/metrics"} {
		if answer, _ := run.do(t, http.MethodGet, path, header, ""); answer.StatusCode != http.StatusForbidden {
			t.Errorf("GET %s from a foreign page = %d", path, answer.StatusCode)
		}
	}
}

func TestGuards_tellBrowsersToTrustNothing(t *testing.T) {
	run := start(t, plain())
	for path, wanted := range map[string]string{
		"/": pagePolicy, "/assets/style.css": pagePolicy, "/mcp": policy, "/healthz": policy, "/test": policy, "/nothing": policy,
	} {
		answer, _ := run.do(t, http.MethodGet, path, nil, "")
		referrer := "no-referrer"
		if wanted == pagePolicy {
			referrer = "same-origin" // or a form of the page would have the origin null
		}
		for name, want := range map[string]string{
			"Content-Security-Policy":      wanted,
			"Referrer-Policy":              referrer,
			"X-Content-Type-Options":       "nosniff",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("GET %s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestGuards_endSlowHeaders(t *testing.T) {
	server := plain()
	server.limits.header = short
	connection := dial(t, start(t, server))
	if _, err := io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(connection); err != nil || strings.Contains(string(text), "200 OK") {
		t.Errorf("after headers that do not end came %q (%v), want the end of the connection", text, err)
	}
}

func TestGuards_endASlowBody(t *testing.T) {
	server := plain()
	server.limits.body = short
	run := start(t, server)
	connection := dial(t, run)
	if _, err := io.WriteString(connection, "POST /mcp HTTP/1.1\r\nHost: "+run.host+"\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest || !answer.Close {
		t.Errorf("a body that does not end = %d, connection closed %v", answer.StatusCode, answer.Close)
	}
}

// A preflight may work for minutes: no limit of the server is one of its handlers.
func TestGuards_leaveAHandlerThatWorksAlone(t *testing.T) {
	server := plain()
	server.limits = limits{header: short, body: short, answer: short, drain: patience}
	working := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(5 * short):
			_, _ = io.WriteString(w, "worked")
		case <-r.Context().Done():
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	server.options.MCP, server.options.Registry = working, working
	run := start(t, server)
	for _, path := range []string{"/mcp", "/mcp/registry"} {
		if answer, body := run.do(t, http.MethodPost, path, nil, "{}"); answer.StatusCode != http.StatusOK || body != "worked" {
			t.Errorf("POST %s that takes longer than its body and its answer may = %d %q", path, answer.StatusCode, body)
		}
	}
}

// Who hangs up ends the work: a preflight that nobody waits for takes no place.
func TestGuards_tellAHandlerThatItsClientLeft(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	server := plain()
	server.options.Registry = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	run := start(t, server)
	connection := dial(t, run)
	if _, err := io.WriteString(connection, "POST /mcp/registry HTTP/1.1\r\nHost: "+run.host+"\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("the handler works on")
	}
}

func TestGuards_boundHeaders(t *testing.T) {
	header := http.Header{"X-Long": {strings.Repeat("x", 2*maxHeaderBytes)}}
	if answer, _ := start(t, plain()).do(t, http.MethodGet, "/healthz", header, ""); answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("headers of %d bytes = %d", 2*maxHeaderBytes, answer.StatusCode)
	}
}

func TestGuards_refuseCallsBeyondTheBound(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	handler := places(1).bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	}))
	ask := func() int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", nil))
		return answer.Code
	}
	first := make(chan int)
	go func() { first <- ask() }()
	<-entered
	if status := ask(); status != http.StatusServiceUnavailable {
		t.Errorf("the call beyond the bound = %d", status)
	}
	close(release)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the call within the bound = %d", status)
	}
	go func() { <-entered }()
	if status := ask(); status != http.StatusOK {
		t.Errorf("a call when there is room again = %d", status)
	}
}

// The bounds hold for a thousand callers at once, and those of one endpoint take no
// place of another.
func TestGuards_boundTheCallsOfEachEndpoint(t *testing.T) {
	const callers = 1000
	entered, release := make(chan struct{}, callers), make(chan struct{})
	server := plain()
	server.options.Log = slog.New(slog.DiscardHandler)
	server.options.Registry = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	handler := handlerOf(t, server)
	call := func(path string) int {
		request := httptest.NewRequest(http.MethodPost, path, http.NoBody)
		request.Host = "127.0.0.1"
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	answers := make(chan int, callers)
	for range callers {
		go func() { answers <- call(PathRegistry) }()
	}
	for range callers - maxCalls {
		if status := <-answers; status != http.StatusServiceUnavailable {
			t.Errorf("a call beyond the bound = %d", status)
		}
	}
	for range maxCalls {
		<-entered
	}
	if further := len(entered); further > 0 {
		t.Errorf("%d calls beyond the bound are worked on", further)
	}
	if status := call(PathMCP); status != http.StatusOK {
		t.Errorf("a call of the other endpoint = %d", status)
	}
	close(release)
	for range maxCalls {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a call within the bound = %d", status)
		}
	}
}

func dial(t *testing.T, run *running) net.Conn {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", run.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestGuards_ofAPublicServerKnowItsNamesAndAnyAddress(t *testing.T) {
	t.Parallel()
	handler := addressed(place{port: 8080, public: true, names: []string{"scanner.internal"}}, answering("mcp"))
	cases := []struct {
		host, origin string
		status       int
	}{
		{"192.0.2.1:8080", "", 200},
		{"192.0.2.1:9000", "", 200}, // mapped to another port
		{"[2001:db8::1]", "", 200},
		{"localhost:9000", "", 200},
		{"Scanner.Internal:8080", "", 200},
		{"scanner.internal", "https://scanner.internal", 200},
		{"evil.example.com:8080", "", 403},
		{"scanner.internal.evil.example.com", "", 403},
		{"192.0.2.1:8080", "http://192.0.2.1:8080", 200},
		{"192.0.2.1:8080", "http://evil.example.com", 403},
		{"192.0.2.1:8080", "http://192.0.2.1:9000", 403},
		{"192.0.2.1:8080", "null", 403},
	}
	for _, c := range cases {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", http.NoBody)
		request.Host = c.host
		if c.origin != "" {
			request.Header.Set("Origin", c.origin)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.status {
			t.Errorf("Host %s, Origin %s = %d, want %d", c.host, c.origin, answer.Code, c.status)
		}
	}
}

func TestGuards_endAnAnswerThatIsNotRead(t *testing.T) {
	server := plain()
	server.limits.answer = short
	ended := make(chan struct{})
	server.options.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	run := start(t, server)
	if _, err := io.WriteString(dial(t, run), "POST /mcp HTTP/1.1\r\nHost: "+run.host+"\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("it is written on and on")
	}
}

// The time of one answer is none of the next, nor of the word to go on with a body.
func TestGuards_giveEachAnswerItsOwnTime(t *testing.T) {
	server := plain()
	server.limits.answer = short
	server.options.Pages = map[string]http.Handler{"GET /{$}": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	run := start(t, server)
	connection := dial(t, run)
	answers := bufio.NewReader(connection)
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: " + run.host + "\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: " + run.host + "\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"} {
		for range 2 {
			<-time.After(2 * short)
			if _, err := io.WriteString(connection, request); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(answers, nil)
			if err == nil && answer.StatusCode == http.StatusContinue {
				_, _ = io.WriteString(connection, "{}")
				answer, err = http.ReadResponse(answers, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%.9s = %d", request, answer.StatusCode)
			}
		}
	}
}
