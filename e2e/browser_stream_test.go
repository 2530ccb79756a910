//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/httpapi"
)

// relay stands between browsers and a real server, and can delay what they are
// sent, break their streams of events, and tell them events of its own.
type relay struct {
	address, server string
	before          func(w http.ResponseWriter, r *http.Request) (answered bool) // called before a request goes on
	pass            func(block string) (goesOn bool)                             // called for each block of a stream; the stream breaks after the first that does not go on
	own             chan string                                                  // events that are told instead of those of the server; nil for none

	mu    sync.Mutex
	again map[string]int // how often a page was read again, by its path
}

// newRelay starts a relay that hides ticks, so that a page shows nothing by a tick.
func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	r := &relay{
		server: server, again: map[string]int{},
		before: func(http.ResponseWriter, *http.Request) bool { return false }, pass: func(string) bool { return true },
	}
	behind, err := url.Parse(server)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(behind)
		if p.In.Header.Get("Origin") == r.address {
			p.Out.Header.Set("Origin", server)
		}
	}}
	r.address = listenAs(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.note(request)
		switch {
		case r.before(w, request):
		case request.URL.Path == httpapi.PathEvents:
			r.stream(w, request)
		default:
			proxy.ServeHTTP(w, request)
		}
	}))
	return r
}

func (r *relay) note(request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.Header.Get("Countersign-Again") != "" {
		r.again[request.URL.Path]++
	}
}

// readAgain is how often a page was read again.
func (r *relay) readAgain(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.again[path]
}

// stream passes a stream on, block by block.
func (r *relay) stream(w http.ResponseWriter, request *http.Request) {
	tell := func(block string) {
		_, _ = fmt.Fprint(w, block)
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.own != nil {
		tell("id: 0-1\nevent: ready\ndata: {}\n\n")
		for {
			select {
			case event := <-r.own:
				tell(event)
			case <-request.Context().Done():
				return
			}
		}
	}
	asked, err := http.NewRequestWithContext(request.Context(), http.MethodGet, r.server+request.URL.RequestURI(), http.NoBody)
	if err != nil {
		return
	}
	asked.Header.Set("Last-Event-ID", request.Header.Get("Last-Event-ID"))
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	var block bytes.Buffer
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		fmt.Fprintln(&block, lines.Text())
		if lines.Text() != "" {
			continue
		}
		said := block.String()
		block.Reset()
		if !strings.Contains(said, "event: tick") {
			tell(said)
		}
		if !r.pass(said) {
			panic(http.ErrAbortHandler)
		}
	}
}

// post sends a request to the API of the server behind, and fails the test unless it
// is done.
func (r *relay) post(t *testing.T, path, body string) string {
	t.Helper()
	answer, err := http.Post(r.server+"/api/v1"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(answer.Body); err != nil || answer.StatusCode >= http.StatusBadRequest {
		t.Errorf("%s answers %s: %s, %v", path, answer.Status, said.String(), err)
	}
	return said.String()
}

// create makes a task, and returns its id.
func (r *relay) create(t *testing.T, title string) string {
	t.Helper()
	said := r.post(t, "/tasks", `{"title":"`+title+`","acceptance_criteria":["it holds"],"created_by":"lead"}`)
	_, rest, _ := strings.Cut(said, `"task_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// claim claims a task, and returns when those who listen were told.
func (r *relay) claim(t *testing.T, id string) {
	t.Helper()
	listening, err := http.Get(r.server + "/api/v1/events?task_id=" + id)
	if err != nil {
		t.Error(err)
		return
	}
	defer listening.Body.Close()
	r.post(t, "/tasks/"+id+"/claim", `{"agent_id":"builder","evidence":"it is done"}`)
	for lines := bufio.NewScanner(listening.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"claimed"`) {
			return
		}
	}
	t.Error("nobody is told of the claim")
}

// TestStream_losesNothing has a real browser begin late, and lose its connection.
func TestStream_losesNothing(t *testing.T) { //nolint:tparallel // its parts share the events of one server
	t.Parallel()
	address, b := startServe(t, sqlite(t)), newBrowser(t)
	for name, watch := range map[string]func(*testing.T, *relay, *tab){
		"before a page listens": beginLate, "before the first event": breakEarly, "by every event that says so": readAgain,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, address)
			watch(t, r, b.tab(t, r.address))
		})
	}
}

// beginLate has a task claimed when the page was made, and its script has yet to come.
func beginLate(t *testing.T, r *relay, p *tab) {
	id := r.create(t, "Begin late")
	r.before = func(_ http.ResponseWriter, request *http.Request) bool {
		if request.URL.Path == "/assets/live.js" {
			r.claim(t, id)
		}
		return false
	}
	p.open(t, "/tasks/"+id)
	p.eventually(t, "what happened before the page listened is not shown", `document.querySelector('#status').textContent.includes('claimed')`)
	if read := r.readAgain("/tasks/" + id); read != 1 {
		t.Errorf("the page was read again %d times, want once", read)
	}
	p.isFine(t, "a page whose script comes late")
}

// breakEarly has the stream of a browser end before anything happened, and something
// happen before it comes again.
func breakEarly(t *testing.T, r *relay, p *tab) {
	p.open(t, "/connect") // it has no stream of its own
	var streams int
	r.before = func(_ http.ResponseWriter, request *http.Request) bool {
		if request.URL.Path == httpapi.PathEvents {
			if streams++; streams == 2 {
				r.create(t, "While nobody listened")
			}
		}
		return false
	}
	r.pass = func(block string) bool { return streams > 1 || !strings.Contains(block, "event: ready") }
	evaluate[bool](t, p, `(() => {
		window.told = [];
		window.source = new EventSource('/api/v1/events?kind=task');
		window.source.addEventListener('task', (event) => window.told.push(event.data));
		return true;
	})()`)
	p.eventually(t, "what happened while the stream was broken is not told", `window.told.length > 0`)
	if told := evaluate[[]string](t, p, `(window.source.close(), window.told)`); len(told) != 1 || !strings.Contains(told[0], "pending") {
		t.Errorf("the browser was told %v", told)
	}
}

// readAgain tells a page of time that passed, of events that are missing, and of one
// that concerns it.
func readAgain(t *testing.T, r *relay, p *tab) {
	r.own = make(chan string)
	p.open(t, "/tasks?status=pending")
	for i, event := range []string{
		"event: tick\ndata: {}\n\n", "id: 0-2\nevent: reset\ndata: {}\n\n", "event: tick\ndata: {}\n\n",
		"id: 0-3\nevent: task\ndata: {\"task_id\":\"0197b3b0-0000-7000-8000-000000000000\",\"status\":\"pending\",\"at\":\"2026-11-30T12:00:00Z\"}\n\n",
	} {
		id := r.create(t, fmt.Sprintf("Appear %d", i))
		shows := fmt.Sprintf(`document.querySelector('main').innerHTML.includes('%s')`, id)
		if evaluate[bool](t, p, shows) {
			t.Fatalf("the page shows the task before %q", event)
		}
		select {
		case r.own <- event:
		case <-time.After(pageTolerance):
			t.Fatalf("the page does not listen: %v", p.heard())
		}
		p.eventually(t, fmt.Sprintf("the page is not read again by %q", event), shows)
	}
	p.isFine(t, "a page that is read again")
}
