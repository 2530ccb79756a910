package probe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// demanding lets only those through who carry the token, and counts the others.
func demanding(token string, turnedAway *atomic.Int64, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != "Bearer "+token {
			turnedAway.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		then(w, request)
	}
}

func locked(t *testing.T, token string, turnedAway *atomic.Int64) *httptest.Server {
	t.Helper()
	return double{
		healthz: demanding(token, turnedAway, says(200, `{}`)),
		test:    demanding(token, turnedAway, says(200, `{"ok":true}`)),
		mcp:     demanding(token, turnedAway, script{}.serve),
	}.start(t)
}

// resolving gives every reference its own name, in another spelling.
func resolving(reference string) (string, error) {
	return "secret-of-" + strings.TrimPrefix(reference, "env:"), nil
}

func with(t *testing.T, base, endpoint string, credentials registry.Credentials) probe.MCPServer {
	t.Helper()
	server, err := probe.ParseMCPServer(base, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	server.Credentials = credentials
	return server
}

func TestCredentials_openAllThreeGates(t *testing.T) {
	t.Parallel()
	var turnedAway atomic.Int64
	url := locked(t, "secret-of-TOKEN", &turnedAway).URL
	settings := settings(generous)
	settings.Resolve = resolving
	server := with(t, url, "", registry.Credentials{Bearer: registry.SecretAt("env:TOKEN")})
	checkGates(t, server.Probe(t.Context(), settings), "", "", "")
	if turnedAway.Load() != 0 {
		t.Errorf("%d requests had no token", turnedAway.Load())
	}
	server.Credentials = registry.Credentials{}
	checkGates(t, server.Probe(t.Context(), settings), registry.Auth, registry.Auth, registry.Auth)
	settings.Resolve = nil
	server.Credentials = registry.Credentials{Bearer: registry.SecretAt("env:TOKEN")}
	got := server.Probe(t.Context(), settings)
	checkGates(t, got, registry.NotConfigured, registry.NotConfigured, registry.NotConfigured)
	if !strings.Contains(got.Healthz.Detail, "env:TOKEN") {
		t.Errorf("the detail %q does not name the reference", got.Healthz.Detail)
	}
}

func TestCredentials_haveOneTokenForAllGates(t *testing.T) {
	t.Parallel()
	var granted, turnedAway atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if body, _ := io.ReadAll(request.Body); !strings.Contains(string(body), "resource=http%3A%2F%2F") || !strings.Contains(string(body), "%2Fmcp") {
			t.Errorf("the token is not asked for the endpoint: %s", body)
		}
		granted.Add(1)
		_, _ = io.WriteString(w, `{"access_token":"granted-token-of-the-test","token_type":"Bearer"}`)
	}))
	t.Cleanup(issuer.Close)
	settings := settings(generous)
	settings.Resolve = resolving
	server := with(t, locked(t, "granted-token-of-the-test", &turnedAway).URL, "", registry.Credentials{OAuth: &registry.OAuth{
		Issuer: issuer.URL, TokenURL: issuer.URL, ClientID: "us", ClientSecret: registry.SecretAt("env:SECRET"),
	}})
	for probes := range int64(2) {
		checkGates(t, server.Probe(t.Context(), settings), "", "", "")
		if granted.Load() != probes+1 {
			t.Errorf("%d tokens were had by %d probes", granted.Load(), probes+1)
		}
	}
}

func TestCredentials_areNotForAnEndpointElsewhere(t *testing.T) {
	t.Parallel()
	var carried atomic.Int64
	elsewhere := double{mcp: func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != "" {
			carried.Add(1)
		}
		script{}.serve(w, request)
	}}.start(t)
	var turnedAway atomic.Int64
	settings := settings(generous)
	settings.Resolve = resolving
	server := with(t, locked(t, "secret-of-TOKEN", &turnedAway).URL, elsewhere.URL+"/mcp", registry.Credentials{Bearer: registry.SecretAt("env:TOKEN")})
	checkGates(t, server.Probe(t.Context(), settings), "", "", "")
	if carried.Load() != 0 {
		t.Errorf("%d requests took the token to another origin", carried.Load())
	}
}

func TestTranscripts_areThoseOfGatesThatFailed(t *testing.T) {
	t.Parallel()
	url := double{test: says(503, `{"ok":false}`), mcp: script{"tools/list": result(`{"tools":[]}`)}.serve}.start(t).URL
	settings := settings(generous)
	server := with(t, url, "", registry.Credentials{})
	if got := server.Probe(t.Context(), settings); got.Test.Transcript != nil || got.ListTools.Transcript != nil {
		t.Error("transcripts are kept although nobody asked for them")
	}
	settings.Transcripts = true
	got := server.Probe(t.Context(), settings)
	if got.Healthz.Transcript != nil {
		t.Error("a gate that holds has a transcript")
	}
	if seen := got.Test.Transcript; seen == nil || len(seen.Exchanges) != 1 || seen.Exchanges[0].Response.Body != `{"ok":false}` {
		t.Errorf("test: got %+v", seen)
	}
	if seen := got.ListTools.Transcript; seen == nil || len(seen.Exchanges) != 4 || !strings.Contains(seen.Curl, `"method":"tools/list"`) {
		t.Errorf("listTools: got %+v", seen)
	}
	written, err := json.Marshal(got)
	var read registry.ProbeResult
	if err != nil || json.Unmarshal(written, &read) != nil || read.Error() != got.Error() {
		t.Errorf("with transcripts the result reads %v, %v", read, err)
	}
}

func TestNetwork_isForAllThreeGates(t *testing.T) {
	t.Parallel()
	url := double{}.start(t).URL
	server := with(t, url, "", registry.Credentials{})
	settings := settings(generous)
	settings.Network = registry.Network{Allow: []registry.NetworkRule{{Host: "example.org"}}}
	got := server.Probe(t.Context(), settings)
	checkGates(t, got, registry.Denied, registry.Denied, registry.Denied)
	if want := fmt.Sprintf("the address %s may not be dialled", strings.TrimPrefix(url, "http://")); got.Test.Detail != want {
		t.Errorf("got %q, want %q", got.Test.Detail, want)
	}
}
