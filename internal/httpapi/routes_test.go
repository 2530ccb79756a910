package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/gates"
)

func TestRoutes_areTheOnesOfTheContract(t *testing.T) {
	run := start(t, plain())
	cases := []struct {
		method, path string
		status       int
		body, allow  string
	}{
		{"GET", "/", 200, "page", ""},
		{"GET", "/assets/style.css", 200, "file", ""},
		{"POST", "/components/docs/probe", 200, "probed", ""},
		{"GET", "/components/docs/probe", 405, `"hint":"It takes POST."`, "POST"},
		{"POST", "/mcp", 200, "mcp", ""},
		{"POST", "/mcp/registry", 200, "registry", ""},
		{"GET", "/metrics", 200, "metrics", ""},
		{"GET", "/healthz", 200, `"status":"ok"`, ""},
		{"GET", "/health", 200, `"service":"countersign"`, ""},
		{"GET", "/test", 200, `"ok":true`, ""},
		{"HEAD", "/test", 200, "", ""},
		{"GET", "/nothing", 404, `"code":"E_NOT_FOUND"`, ""},
		{"POST", "/mcp/", 404, `"code":"E_NOT_FOUND"`, ""},
		{"POST", "/mcp/registry/", 404, `"code":"E_NOT_FOUND"`, ""},
		{"POST", "/metrics", 405, `"hint":"It takes GET, HEAD."`, "GET, HEAD"},
		{"POST", "/healthz", 405, `"hint":"It takes GET, HEAD."`, "GET, HEAD"},
		{"DELETE", "/", 405, `"code":"E_INVALID_ARGUMENT"`, "GET, HEAD"},
		{"BREW", "/test", 405, "this path does not take BREW", "GET, HEAD"},
	}
	for _, c := range cases {
		answer, body := run.do(t, c.method, c.path, nil, "")
		if answer.StatusCode != c.status || !strings.Contains(body, c.body) || answer.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s = %d, allow %q, %s; want %d, allow %q, %s",
				c.method, c.path, answer.StatusCode, answer.Header.Get("Allow"), body, c.status, c.allow, c.body)
		}
		if c.status >= 400 && answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s is %s, want a problem", c.method, c.path, answer.Header.Get("Content-Type"))
		}
	}
}

func TestRoutes_giveAProblemItsShapeAndNameWhatIsServed(t *testing.T) {
	bare := plain()
	bare.options.Registry, bare.options.Metrics, bare.options.Pages = nil, nil, nil
	for hint, server := range map[string]*Server{
		"MCP clients use /mcp (tasks) and /mcp/registry (components); there are also /healthz, /test and /metrics. See / for more.": plain(),
		"MCP clients use /mcp; there are also /healthz and /test.":                                                                  bare,
	} {
		_, body := start(t, server).do(t, http.MethodGet, "/nothing", nil, "")
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"type": "about:blank", "title": "Not Found", "status": float64(404), "detail": "nothing is served at this path",
			"code": "E_NOT_FOUND", "hint": hint,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problem (-want +got):\n%s", diff)
		}
	}
}

func TestRoutes_areNotThereForWhatIsNotServed(t *testing.T) {
	server := plain()
	server.options.Registry, server.options.Metrics, server.options.Pages = nil, nil, nil
	run := start(t, server)
	for _, path := range []string{"/mcp/registry", "/metrics", "/", "/assets/style.css"} {
		if answer, body := run.do(t, http.MethodGet, path, nil, ""); answer.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s = %d %s", path, answer.StatusCode, body)
		}
	}
}

func TestRoutes_failTestWhenADependencyFailsAndKeepHealthz(t *testing.T) {
	server := plain()
	server.options.Dependencies = []gates.Dependency{
		gates.Required("database", gates.Func(func(context.Context) error { return errors.New("disk full") })),
	}
	run := start(t, server)
	answer, body := run.do(t, http.MethodGet, "/test", nil, "")
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"detail":"required tools unusable: database"`) {
		t.Errorf("/test = %d %s", answer.StatusCode, body)
	}
	if answer, _ := run.do(t, http.MethodGet, "/healthz", nil, ""); answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz = %d", answer.StatusCode)
	}
}

func TestRoutes_failHealthzOnlyWhenTheServerSaysThatItIsDead(t *testing.T) {
	server := plain()
	server.options.Pages = nil
	var down atomic.Bool
	server.options.Alive = func() error {
		if down.Load() {
			return errors.New("exit status 3")
		}
		return nil
	}
	run := start(t, server)
	for _, path := range []string{"/healthz", "/health"} {
		if answer, body := run.do(t, http.MethodGet, path, nil, ""); answer.StatusCode != http.StatusOK || !strings.Contains(body, `"status":"ok"`) {
			t.Errorf("%s = %d %s", path, answer.StatusCode, body)
		}
	}
	down.Store(true)
	for _, path := range []string{"/healthz", "/health"} {
		want := `{"status":"down","service":"countersign","version":"1.2.3","detail":"exit status 3"}` + "\n"
		if answer, body := run.do(t, http.MethodGet, path, nil, ""); answer.StatusCode != http.StatusServiceUnavailable || body != want {
			t.Errorf("%s = %d %s", path, answer.StatusCode, body)
		}
	}
	for path, status := range map[string]int{"/test": 200, "/": 404} {
		if answer, _ := run.do(t, http.MethodGet, path, nil, ""); answer.StatusCode != status {
			t.Errorf("%s = %d, want %d", path, answer.StatusCode, status)
		}
	}
}
