package gatestest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates/gatestest"
)

// envBad names the bad server that TestRun_passesAGoodServer tests instead, in a
// process of its own that is expected to fail.
const envBad = "GATESTEST_BAD_SERVER"

func TestRun_passesAGoodServer(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(envBad); name != "" {
		runBad(t, name)
		return
	}
	for name, good := range map[string]*double{
		"stateless": {cacheFor: 50 * time.Millisecond},
		"stateful":  {stateful: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gatestest.Run(t, good.start(t, func(next http.Handler) http.Handler { return next }), gatestest.RequireTools("echo"), gatestest.Breakable(good.breaking, good.repair))
			if good.broken.Load() {
				t.Error("what was broken was not repaired")
			}
		})
	}
}

func runBad(t *testing.T, name string) {
	server := badServers()[name]
	server.double.cacheFor = 20 * time.Millisecond
	url := server.double.start(t, func(next http.Handler) http.Handler { return server.around(&server.double, next) })
	gatestest.Run(t, url, gatestest.Timeout(20*time.Second), gatestest.Settle(5*time.Second),
		gatestest.Breakable(server.double.breaking, server.double.repair))
}

var failed = regexp.MustCompile(`--- FAIL: TestRun_passesAGoodServer/(\S+)`)

func TestRun_failsABadServer(t *testing.T) {
	t.Parallel()
	for name, server := range badServers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := rerun(t, envBad+"="+name)
			if err == nil {
				t.Fatalf("it passed:\n%s", output)
			}
			match := failed.FindStringSubmatch(output)
			if match == nil || match[1] != server.fails || !strings.Contains(output, server.words) {
				t.Errorf("the first subtest that failed is %q, want %q, with the words %q:\n%s", match, server.fails, server.words, output)
			}
		})
	}
}

// rerun runs TestRun_passesAGoodServer in a process of its own.
func rerun(t *testing.T, env ...string) (string, error) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "-test.run=^TestRun_passesAGoodServer$")
	command.Env = append(os.Environ(), env...)
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestRun_takesAnotherEndpoint(t *testing.T) {
	t.Parallel()
	good := &double{}
	url := good.start(t, func(next http.Handler) http.Handler {
		moved := http.NewServeMux()
		moved.Handle("/tools/", http.StripPrefix("/tools", next))
		moved.Handle("/", instead(next, func(r *http.Request) bool { return r.URL.Path == "/mcp" }, http.NotFound))
		return moved
	})
	gatestest.Run(t, url+"/", gatestest.Endpoint(url+"/tools/mcp"))
}

// ExampleRun shows a test as it stands among the tests of a server.
func ExampleRun() {
	newHandler := func() http.Handler { return new(double).handler() } // Yours.

	_ = func(t *testing.T) { // func TestGates(t *testing.T)
		server := httptest.NewServer(newHandler())
		defer server.Close()
		gatestest.Run(t, server.URL, gatestest.RequireTools("echo"))
	}
}
