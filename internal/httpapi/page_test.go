package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// chromium is what a browser sends when it opens an address.
const chromium = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"

func TestPages_areProbedOnlyFromThisServer(t *testing.T) {
	run := start(t, plain())
	form := func(header http.Header) http.Header {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		return header
	}
	cases := map[string]struct {
		header http.Header
		status int
	}{
		"own page":                           {http.Header{"Origin": {run.url}, "Sec-Fetch-Site": {"same-origin"}}, 200},
		"no browser":                         {http.Header{}, 200},
		"foreign page":                       {http.Header{"Origin": {"https://evil.example.com"}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		"foreign page that hides":            {http.Header{"Origin": {"null"}}, 403},
		"foreign page without an origin":     {http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"page of another port":               {http.Header{"Origin": {"http://127.0.0.1:1"}, "Sec-Fetch-Site": {"same-site"}}, 403},
		"old browser":                        {http.Header{"Origin": {"http://evil.example.com"}}, 403},
		"old browser at a name that rebound": {http.Header{"Host": {"evil.example.com"}}, 403},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answer, body := run.do(t, http.MethodPost, "/components/docs/probe", form(c.header), "")
			if answer.StatusCode != c.status {
				t.Errorf("= %d %s, want %d", answer.StatusCode, body, c.status)
			}
		})
	}
}

func TestPages_haveOneForWhatIsMissing(t *testing.T) {
	server := plain()
	server.options.Missing = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>not here")
	})
	run := start(t, server)
	cases := []struct {
		method, path, accept string
		status               int
		isPage               bool
	}{
		{"GET", "/nothing", chromium, 404, true},
		{"GET", "/nosuch/page", chromium + ",application/signed-exchange;v=b3;q=0.7", 404, true},
		{"GET", "/nothing", "text/html;q=0.9,*/*;q=0.8", 404, true},
		{"GET", "/nothing", "", 404, false},
		{"GET", "/nothing", "*/*", 404, false},
		{"GET", "/nothing", "application/json", 404, false},
		{"GET", "/nothing", "application/json, text/html;q=0.9", 404, false},
		{"GET", "/nothing", "text/html;q=0", 404, false},
		{"GET", "/nothing", "text/html;q=x", 404, false},
		{"POST", "/nothing", chromium, 404, true},
		{"GET", "/api/v1/nothing", chromium, 404, false},
		{"DELETE", "/", chromium, 405, false},
	}
	for _, c := range cases {
		answer, body := run.do(t, c.method, c.path, http.Header{"Accept": {c.accept}}, "")
		isPage, wanted := strings.Contains(body, "<p>"), policy
		if c.isPage {
			wanted = pagePolicy
		}
		if answer.StatusCode != c.status || isPage != c.isPage || answer.Header.Get("Content-Security-Policy") != wanted {
			t.Errorf("%s %s for %q = %d %s, %s", c.method, c.path, c.accept, answer.StatusCode, body, answer.Header)
		}
	}
}

func TestPages_thatAreManyLeaveRoomForProbes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := plain()
	server.options.Log = discarding()
	server.options.Pages["GET /{$}"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	handler := handlerOf(t, server)
	ask := func(method, path string) int {
		request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		request.Host = "127.0.0.1"
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	answers := make(chan int, maxPages)
	for range maxPages {
		go func() { answers <- ask(http.MethodGet, "/") }()
		<-entered
	}
	for path, want := range map[string]int{"/assets/style.css": 503, "/healthz": 200} {
		if status := ask(http.MethodGet, path); status != want {
			t.Errorf("%s beside %d pages = %d, want %d", path, maxPages, status, want)
		}
	}
	if status := ask(http.MethodPost, "/components/docs/probe"); status != http.StatusOK {
		t.Errorf("a probe beside %d pages = %d", maxPages, status)
	}
	close(release)
	for range maxPages {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a page within the bound = %d", status)
		}
	}
}

// What is refused says the same in its status as in its body.
func TestPages_thatAreMissingAreRefusedWhenTheyAreTooMany(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := plain()
	server.options.Log = discarding()
	server.options.Missing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	handler := handlerOf(t, server)
	ask := func() *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/nothing", http.NoBody)
		request.Host, request.Header = "127.0.0.1", http.Header{"Accept": {chromium}}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer
	}
	answers := make(chan struct{}, maxPages)
	for range maxPages {
		go func() { ask(); answers <- struct{}{} }()
		<-entered
	}
	answer := ask()
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "1" || !strings.Contains(answer.Body.String(), `"status":503`) {
		t.Errorf("beside %d pages = %d, Retry-After %q: %s", maxPages, answer.Code, answer.Header().Get("Retry-After"), answer.Body)
	}
	close(release)
	for range maxPages {
		<-answers
	}
}

func TestPages_thatAreTooManyAreRefusedWithAPage(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	waits := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	server := plain()
	server.options.Log = discarding()
	server.options.Pages["GET /{$}"], server.options.Pages["POST /components/{name}/probe"], server.options.Missing = waits, waits, waits
	server.options.Busy = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("<p>busy</p>"))
	})
	handler := handlerOf(t, server)
	ask := func(method, path, accept string) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		request.Host, request.Header = "127.0.0.1", http.Header{"Accept": {accept}}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer
	}
	answered, asked := make(chan struct{}), 0
	for address, most := range map[[2]string]int{
		{http.MethodGet, "/"}: maxPages, {http.MethodGet, "/nothing"}: maxPages, {http.MethodPost, "/components/docs/probe"}: maxPageProbes,
	} {
		for range most {
			asked++
			go func() { ask(address[0], address[1], chromium); answered <- struct{}{} }()
			<-entered
		}
		for accept, isPage := range map[string]bool{chromium: true, "*/*": false, "application/json": false} {
			if !isPage && address[1] == "/nothing" {
				continue // To a program it is missing, whatever there is to do.
			}
			answer := ask(address[0], address[1], accept)
			body, guarded := answer.Body.String(), answer.Header().Get("Content-Security-Policy") == pagePolicy
			if answer.Code != http.StatusServiceUnavailable || (body == "<p>busy</p>") != isPage || guarded != isPage || !isPage && !strings.Contains(body, `"code":"E_UNAVAILABLE"`) {
				t.Errorf("%s %s for %s = %d, %s\n%s", address[0], address[1], accept, answer.Code, answer.Header(), body)
			}
		}
	}
	close(release)
	for range asked {
		<-answered
	}
}
