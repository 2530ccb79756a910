package probe_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// unreachable is an address behind which no server is to be had, and the cause
// of all gates.
type unreachable struct {
	url   string
	cause registry.Cause
}

func unreachables(t *testing.T) map[string]unreachable {
	t.Helper()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	plain := double{}.start(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	return map[string]unreachable{
		"a name that no resolver takes":  {"http://" + strings.Repeat("a", 64) + ".invalid", registry.DNS},
		"nobody listens":                 {gone.URL, registry.Refused},
		"an unknown certificate":         {secure.URL, registry.TLS},
		"TLS spoken to a plain server":   {strings.Replace(plain.URL, "http:", "https:", 1), registry.TLS},
		"plain HTTP spoken to TLS":       {strings.Replace(secure.URL, "https:", "http:", 1), registry.HTTPStatus},
		"a greeting of another protocol": {greets(t, "SSH-2.0-OpenSSH_9.2\r\n"), registry.Unreachable},
		"a server that hangs up":         {greets(t, ""), registry.Unreachable},
		"a status that is no number":     {greets(t, "HTTP/1.1 OK\r\n\r\n"), registry.Unreachable},
		"another protocol, and silence":  {switches(t), registry.HTTPStatus},
	}
}

func TestNetwork_hasACauseForEachWayOfNotGettingThrough(t *testing.T) {
	t.Parallel()
	for name, row := range unreachables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkGates(t, probed(t, row.url, generous), row.cause, row.cause, row.cause)
		})
	}
}

func TestNetwork_saysWhoHungUp(t *testing.T) {
	t.Parallel()
	url := greets(t, "")
	want := "the connection was closed by " + strings.TrimPrefix(url, "http://") + " before an answer came"
	if got := probed(t, url, generous).ListTools.Detail; got != want {
		t.Errorf("the detail is %q, want %q", got, want)
	}
}

// switches changes the protocol of each connection though nobody asked for it, and
// says nothing in it until the test ends.
func switches(t *testing.T) (url string) {
	t.Helper()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "x")
		w.WriteHeader(http.StatusSwitchingProtocols)
		_ = http.NewResponseController(w).Flush() // a client that has gone asks for nothing
		<-end
	}))
	t.Cleanup(func() {
		close(end)
		server.Close()
	})
	return server.URL
}

// greets listens, says one thing to whoever comes, and hangs up.
func greets(t *testing.T, greeting string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			visitor, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = visitor.Write([]byte(greeting))
			_, _ = visitor.Read(make([]byte, 4096))
			_ = visitor.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestNetwork_goesThroughNoProxyOfTheEnvironment is not parallel, because it
// sets the environment.
func TestNetwork_goesThroughNoProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	got := probed(t, "http://"+strings.Repeat("a", 64)+".invalid", generous)
	checkGates(t, got, registry.DNS, registry.DNS, registry.DNS)
	if asked.Load() != 0 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
}
