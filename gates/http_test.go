package gates_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

// upstream is a server that a kit's server calls.
func upstream(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL + "/page?key=s3cr3t"
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// checked asks /test about one dependency, with a short limit.
func checked(t *testing.T, kind gates.Kind, limit time.Duration) tool {
	t.Helper()
	mux := http.NewServeMux()
	gates.Mount(mux, gates.Options{Timeout: limit, Dependencies: []gates.Dependency{gates.Required("upstream", kind)}})
	_, body := askTest(t, mux)
	return body.Tools["upstream"]
}

func TestHTTP_passesOnlyTheAnswerThatIsWanted(t *testing.T) {
	version := regexp.MustCompile(`"version":"([^"]*)"`)
	cases := map[string]struct {
		answer          http.HandlerFunc
		kind            gates.HTTP
		detail, version string
		passes          bool
	}{
		"200":                    {says(200, "hello"), gates.HTTP{}, "status 200", "", true},
		"204":                    {says(204, ""), gates.HTTP{}, "status 204", "", true},
		"the wanted 401":         {says(401, ""), gates.HTTP{Status: 401}, "status 401", "", true},
		"a match":                {says(200, `{"version":"8.1"}`), gates.HTTP{Match: version}, "status 200", "8.1", true},
		"a long body":            {says(200, `"version":"2"`+strings.Repeat("x", 1<<20)), gates.HTTP{Match: version}, "status 200", "2", true},
		"a match too far behind": {says(200, strings.Repeat("x", 1<<20)+`"version":"2"`), gates.HTTP{Match: version}, "status 200, but the body does not match", "", false},
		"no match":               {says(200, "token=hidden"), gates.HTTP{Match: version}, "status 200, but the body does not match", "", false},
		"500":                    {says(500, "token=hidden"), gates.HTTP{}, "status 500, want 200 to 299", "", false},
		"404":                    {http.NotFound, gates.HTTP{}, "status 404, want 200 to 299", "", false},
		"200, not the wanted":    {says(200, ""), gates.HTTP{Status: 204}, "status 200, want 204", "", false},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hidden", http.StatusFound) },
			gates.HTTP{},
			"status 302, want 200 to 299", "", false,
		},
		"another protocol": {
			func(w http.ResponseWriter, r *http.Request) { // and nothing ever comes
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "x")
				says(http.StatusSwitchingProtocols, "")(w, r)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			gates.HTTP{},
			"status 101, want 200 to 299", "", false,
		},
		"half a body": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "half")
			},
			gates.HTTP{},
			"status 200, but the body breaks off: unexpected EOF", "", false,
		},
		"a connection that drops": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			gates.HTTP{},
			"EOF", "", false,
		},
		"a header without end": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
			},
			gates.HTTP{},
			"server response headers exceeded", "", false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.kind.URL = upstream(t, c.answer)
			told := checked(t, c.kind, patience)
			if !told.Present || told.Executable != c.passes || told.Version != c.version || !strings.Contains(told.Detail, c.detail) {
				t.Errorf("%+v, want passes %v, version %q, %q", told, c.passes, c.version, c.detail)
			}
			if strings.Contains(told.Detail, "hidden") || strings.Contains(told.Detail, "s3cr3t") {
				t.Errorf("the detail shows a secret: %s", told.Detail)
			}
		})
	}
}

func TestHTTP_failsWithoutAnAnswer(t *testing.T) {
	plain := upstream(t, says(200, ""))
	encrypted := httptest.NewUnstartedServer(says(200, ""))
	encrypted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	encrypted.StartTLS()
	defer encrypted.Close()
	cases := map[string]struct{ url, detail string }{
		"refused":              {"http://" + closedPort(t) + "/?key=s3cr3t", "refused"},
		"no name":              {"http://no-such-host.invalid/?key=s3cr3t", "no-such-host.invalid"},
		"no TLS":               {"https" + strings.TrimPrefix(plain, "http"), "HTTP response to HTTPS client"},
		"unknown authority":    {encrypted.URL + "/?key=s3cr3t", "certificate"},
		"another protocol":     {"ftp://127.0.0.1/?key=s3cr3t", `unsupported protocol scheme "ftp"`},
		"no address":           {"127.0.0.1/?key=s3cr3t", "unsupported protocol scheme"},
		"what is no URL":       {"http://[::1/?key=s3cr3t", "the URL cannot be read"},
		"what is no URL twice": {"http://x\x7f/?key=s3cr3t", "the URL cannot be read"},
	}
	for name, c := range cases {
		told := checked(t, gates.HTTP{URL: c.url}, patience)
		if !told.Present || told.Executable || !strings.Contains(told.Detail, c.detail) || strings.Contains(told.Detail, "s3cr3t") {
			t.Errorf("%s: %+v, want %q", name, told, c.detail)
		}
	}
}

func TestHTTP_endsInTime(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	}
	for name, answer := range map[string]http.HandlerFunc{"hangs": hang, "drips": drip} {
		if told := checked(t, gates.HTTP{URL: upstream(t, answer)}, 300*time.Millisecond); told.Executable || told.Detail != "no complete answer in time" {
			t.Errorf("%s: %+v", name, told)
		}
	}
}

func TestHTTP_usesAConnectionOfItsOwnAndNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://"+closedPort(t))
	t.Setenv("NO_PROXY", "")
	var connections atomic.Int64
	var header http.Header
	var host string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header, host = r.Header, r.Host }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	kind := gates.HTTP{URL: server.URL, Header: http.Header{"authorization": {"Bearer s3cr3t-s3cr3t"}, "Host": {"inner.example"}}}
	for range 3 {
		if told := checked(t, kind, patience); !told.Executable {
			t.Errorf("%+v", told)
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections for 3 checks", n)
	}
	if header.Get("Authorization") != "Bearer s3cr3t-s3cr3t" || host != "inner.example" {
		t.Errorf("sent host %q and header %v", host, header)
	}
}
