package gatestest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// bad is a server that misbehaves, and the first subtest that must say so in
// these words.
type bad struct {
	double double
	around func(*double, http.Handler) http.Handler
	fails  string
	words  string
}

func badServers() map[string]*bad {
	answering := func(path string, answer http.HandlerFunc) func(*double, http.Handler) http.Handler {
		return func(_ *double, next http.Handler) http.Handler {
			return instead(next, func(r *http.Request) bool { return r.URL.Path == path }, answer)
		}
	}
	return map[string]*bad{
		"healthz red":       {around: answering("/healthz", status(500)), fails: "healthz", words: "the gate healthz (GET /healthz) does not pass"},
		"healthz missing":   {around: answering("/healthz", http.NotFound), fails: "healthz", words: "status: The HTTP status is none of 2xx"},
		"test red":          {around: (*double).alwaysBroken, fails: "test", words: `tool:   "index": "no index"`},
		"test says ok":      {around: answering("/test", says("ok")), fails: "test", words: "not_json: "},
		"test says true":    {around: answering("/test", says(`{"ok":"true"}`)), fails: "test", words: "wrong_shape: "},
		"no tools":          {double: double{toolless: true}, around: asItIs, fails: "listTools", words: "zero_tools: "},
		"no endpoint":       {around: answering("/mcp", http.NotFound), fails: "listTools", words: "hint:   "},
		"few sessions":      {double: double{stateful: true}, around: fewSessions, fails: "serves_one_session_after_the_other", words: "after 4 sessions the gate listTools"},
		"one client":        {double: double{stateful: true}, around: oneClient, fails: "serves_two_clients_at_once", words: "beside another client the gate listTools"},
		"few at once":       {around: fewAtOnce, fails: "answers_fifty_requests_for_test_at_once", words: "had another answer than the one alone before"},
		"one at a time":     {around: oneAtATime, fails: "answers_fifty_requests_for_test_at_once", words: "no complete answer within 20s"},
		"method crash":      {around: crashing(methodIs("POST", "/healthz")), fails: "survives_other_methods", words: "POST /healthz: no complete answer"},
		"method 500":        {around: failing(methodIs("BREW", "/test")), fails: "survives_other_methods", words: "BREW /test: status 500"},
		"hang-up":           {around: diesOfHangUps, fails: "survives_clients_that_hang_up", words: "afterwards the gate healthz"},
		"accept":            {around: crashing(headerIs("Accept", "text/html")), fails: "survives_an_Accept_of_pages", words: "no complete answer"},
		"empty body":        {around: crashing(bodyIs("")), fails: "survives_an_empty_body", words: "no complete answer"},
		"malformed":         {around: crashing(bodyIs(`{"jsonrpc":"2.0","id":1,"method":`)), fails: "survives_malformed_JSON", words: "no complete answer"},
		"number":            {around: failing(bodyIs("42")), fails: "survives_a_number", words: "status 500; what a client does wrong"},
		"unknown method":    {around: killed(bodyHas(`"method":"countersign-no-such-name"`)), fails: "survives_an_unknown_method", words: "the server did not survive"},
		"unknown tool":      {around: failing(bodyHas(`"tools/call","params":{"name":"countersign-no-such-name"`)), fails: "survives_an_unknown_tool", words: "status 500"},
		"legacy":            {around: killed(bodyHas(`"initialize"`)), fails: "survives_the_legacy_era", words: "the server did not survive"},
		"modern":            {double: double{stateful: true}, around: killed(modernList), fails: "survives_the_modern_era", words: "the server did not survive"},
		"restarted":         {around: healthzDepends, fails: "keeps_healthz_green_while_test_is_red", words: "the process lives, but the gate healthz"},
		"never red":         {around: answering("/test", says(`{"ok":true}`)), fails: "keeps_healthz_green_while_test_is_red", words: "so it does not exercise it"},
		"red with a page":   {around: pageWhenBroken, fails: "keeps_healthz_green_while_test_is_red", words: "/test should answer 503 with a JSON object"},
		"never green":       {around: staysBroken, fails: "keeps_healthz_green_while_test_is_red", words: "after the repair the server still does not pass"},
		"tools that differ": {around: otherTools, fails: "serves_two_clients_at_once", words: "two clients saw different tools"},
	}
}

func asItIs(_ *double, next http.Handler) http.Handler { return next }

func (d *double) alwaysBroken(next http.Handler) http.Handler {
	d.broken.Store(true)
	return next
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// instead answers some requests in another way.
func instead(next http.Handler, when func(*http.Request) bool, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if when(r) {
			answer(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func crashing(when func(*http.Request) bool) func(*double, http.Handler) http.Handler {
	return func(_ *double, next http.Handler) http.Handler { return instead(next, when, hangsUp) }
}

func failing(when func(*http.Request) bool) func(*double, http.Handler) http.Handler {
	return func(_ *double, next http.Handler) http.Handler { return instead(next, when, status(500)) }
}

// killed makes a request the last one that is answered.
func killed(when func(*http.Request) bool) func(*double, http.Handler) http.Handler {
	return func(d *double, next http.Handler) http.Handler {
		return instead(next, when, func(w http.ResponseWriter, r *http.Request) {
			d.dead.Store(true)
			hangsUp(w, r)
		})
	}
}

func methodIs(method, path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && r.URL.Path == path }
}

func headerIs(name, value string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) == value }
}

func bodyIs(body string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.URL.Path == "/mcp" && bodyOf(r) == body
	}
}

func bodyHas(part string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == "/mcp" && strings.Contains(bodyOf(r), part) }
}

// bodyOf reads the body and puts it back.
func bodyOf(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

func modernList(r *http.Request) bool { return r.Header.Get("Mcp-Method") == "tools/list" }

// fewSessions refuses the fifth session, as a server does that keeps them all.
func fewSessions(_ *double, next http.Handler) http.Handler {
	var opened atomic.Int64
	tooMany := func(r *http.Request) bool {
		return bodyHas(`"initialize"`)(r) && opened.Add(1) > 5
	}
	return instead(next, tooMany, status(503))
}

// oneClient refuses a session while there is another.
func oneClient(_ *double, next http.Handler) http.Handler {
	var open atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bodyHas(`"initialize"`)(r) && !open.CompareAndSwap(0, 1) {
			w.WriteHeader(http.StatusConflict)
			return
		}
		next.ServeHTTP(w, r)
		if r.Method == http.MethodDelete {
			open.Store(0)
		}
	})
}

// otherTools hides its tool from one of two clients at the same time.
func otherTools(_ *double, next http.Handler) http.Handler {
	more := &double{}
	other := more.handler()
	var inFlight atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !bodyHas(`"tools/list"`)(r) {
			next.ServeHTTP(w, r)
			return
		}
		defer inFlight.Add(-1)
		second := inFlight.Add(1) > 1
		<-time.After(20 * time.Millisecond)
		if second {
			recorded := &renaming{ResponseWriter: w}
			other.ServeHTTP(recorded, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// renaming calls the tool otherwise.
type renaming struct{ http.ResponseWriter }

func (w *renaming) Write(p []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(`"echo"`), []byte(`"ohce"`)))
	return len(p), err
}

func (w *renaming) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func isTest(r *http.Request) bool { return r.URL.Path == "/test" && r.Method == http.MethodGet }

// fewAtOnce refuses to be asked for /test by more than a few at once.
func fewAtOnce(_ *double, next http.Handler) http.Handler {
	var asking atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isTest(r) {
			defer asking.Add(-1)
			if asking.Add(1) > 5 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			<-time.After(100 * time.Millisecond)
		}
		next.ServeHTTP(w, r)
	})
}

// oneAtATime lets everyone who asks for /test wait for everyone before.
func oneAtATime(_ *double, next http.Handler) http.Handler {
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isTest(r) {
			turn.Lock()
			defer turn.Unlock()
			<-time.After(500 * time.Millisecond)
		}
		next.ServeHTTP(w, r)
	})
}

// diesOfHangUps dies when a message breaks off.
func diesOfHangUps(d *double, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			d.dead.Store(true)
			hangsUp(w, r)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// healthzDepends answers /healthz by what the server needs.
func healthzDepends(d *double, next http.Handler) http.Handler {
	return instead(next, func(r *http.Request) bool { return r.URL.Path == "/healthz" && d.broken.Load() }, status(503))
}

// pageWhenBroken answers /test with a page.
func pageWhenBroken(d *double, next http.Handler) http.Handler {
	return instead(next, func(r *http.Request) bool { return isTest(r) && d.broken.Load() }, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<h1>Internal error</h1>", http.StatusInternalServerError)
	})
}

// staysBroken never sees that something was repaired.
func staysBroken(d *double, next http.Handler) http.Handler {
	var broken atomic.Bool
	return instead(next, func(r *http.Request) bool {
		if isTest(r) && d.broken.Load() {
			broken.Store(true)
		}
		return isTest(r) && broken.Load()
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"ok":false}`)
	})
}
