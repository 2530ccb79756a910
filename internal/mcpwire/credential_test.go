package mcpwire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// witness is a server that keeps every request as it came over the wire.
type witness struct {
	*httptest.Server

	mu   sync.Mutex
	came []string
}

// witnessing starts a server that keeps every request.
func witnessing(t *testing.T, answer http.HandlerFunc) *witness {
	t.Helper()
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		raw, err := httputil.DumpRequest(request, true)
		if err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		w.came = append(w.came, string(raw))
		w.mu.Unlock()
		answer(out, request)
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.came
}

func (w *witness) at(t *testing.T, path string) *url.URL {
	t.Helper()
	return must(url.Parse(w.URL + path))(t)
}

func fine(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// vault resolves references, and counts how often it was asked.
type vault struct {
	secrets map[string]string
	asked   int
}

func (v *vault) resolve(reference string) (string, error) {
	v.asked++
	if text, ok := v.secrets[reference]; ok {
		return text, nil
	}
	return "", fmt.Errorf("there is nothing at %s", reference)
}

// outletTo is an outlet with credentials for the origin of the address.
func outletTo(address *url.URL, wanted registry.Credentials, resolve func(string) (string, error)) mcpwire.Outlet {
	hide := &mcpwire.Redactor{}
	return mcpwire.Outlet{Redactor: hide, Credentials: mcpwire.Resolution{
		Wanted: wanted, Address: address, Resource: address, Resolve: resolve, Redactor: hide,
	}.Credentials()}
}

// get asks for an address and returns the status, or the failure.
func get(ctx context.Context, outlet mcpwire.Outlet, address *url.URL) (int, *mcpwire.Failure) {
	client := outlet.Client()
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return 0, &mcpwire.Failure{Detail: err.Error()}
	}
	exchange, err := mcpwire.Do(ctx, client, request)
	if failure, ok := errors.AsType[*mcpwire.Failure](err); ok {
		return 0, failure
	}
	defer exchange.Close()
	_, _ = exchange.ReadAll(ctx, 1<<20)
	return exchange.Response.StatusCode, nil
}

func TestCredentials_areSentToTheirOriginAndToNoOther(t *testing.T) {
	t.Parallel()
	other := witnessing(t, fine)
	home := witnessing(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, other.URL, http.StatusTemporaryRedirect)
	})
	secrets := &vault{secrets: map[string]string{"env:A": canarySecret, "env:B": "another-secret-of-ours"}}
	outlet := outletTo(home.at(t, "/mcp"), registry.Credentials{
		Bearer: registry.SecretAt("env:A"), Headers: map[string]registry.Secret{"X-Api-Key": registry.SecretAt("env:B")},
	}, secrets.resolve)
	ctx := within(t, time.Minute)
	for _, address := range []*url.URL{home.at(t, "/mcp"), home.at(t, "/elsewhere?x=1"), other.at(t, "/mcp")} {
		if _, failure := get(ctx, outlet, address); failure != nil {
			t.Fatal(failure)
		}
	}
	sameHost := *home.at(t, "/")
	sameHost.Host = strings.Replace(sameHost.Host, "127.0.0.1", "127.0.0.2", 1)
	_, _ = get(ctx, outlet, &sameHost) // whether anybody listens there does not matter
	for i, raw := range home.requests() {
		carries := strings.Contains(raw, "Authorization: Bearer "+canarySecret) && strings.Contains(raw, "X-Api-Key: another-secret-of-ours")
		if carries != (i < 2) {
			t.Errorf("request %d carries credentials: %v\n%s", i, carries, raw)
		}
	}
	if len(other.requests()) != 1 || strings.Contains(other.requests()[0], canarySecret) || strings.Contains(other.requests()[0], "X-Api-Key") {
		t.Errorf("the other origin got %q", other.requests())
	}
}

func TestCredentials_takeAnOriginAsRFC6454Does(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	named := must(url.Parse(strings.Replace(home.URL, "127.0.0.1", "LocalHost.", 1)))(t)
	outlet := outletTo(named, registry.Credentials{Bearer: registry.SecretText("token-token")}, nil)
	for host, want := range map[string]bool{"localhost": true, "LOCALHOST": true, "127.0.0.1": false} {
		address := must(url.Parse(strings.Replace(home.URL, "127.0.0.1", host, 1)))(t)
		if _, failure := get(within(t, time.Minute), outlet, address); failure != nil {
			t.Fatal(failure)
		}
		came := home.requests()
		if got := strings.Contains(came[len(came)-1], "token-token"); got != want {
			t.Errorf("%s got the token: %v, want %v", host, got, want)
		}
	}
}

func TestCredentials_areReadAnewForEachProbe(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	secrets := &vault{secrets: map[string]string{"env:A": "the first secret"}}
	for _, secret := range []string{"the first secret", "the second secret"} {
		secrets.secrets["env:A"] = secret
		outlet := outletTo(home.at(t, "/"), registry.Credentials{Bearer: registry.SecretAt("env:A")}, secrets.resolve)
		_, _ = get(within(t, time.Minute), outlet, home.at(t, "/"))
		came := home.requests()
		if !strings.Contains(came[len(came)-1], "Bearer "+secret) {
			t.Errorf("the server got %q, want %q", came[len(came)-1], secret)
		}
	}
	if secrets.asked != 2 {
		t.Errorf("the secret was read %d times, want 2", secrets.asked)
	}
}

func TestCredentials_thatCannotBeHadAreOurFailure(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	secrets := &vault{secrets: map[string]string{"env:BROKEN": "two\r\nlines of " + canarySecret, "env:KEY": canarySecret}}
	at := registry.SecretAt
	for name, row := range map[string]struct {
		wanted registry.Credentials
		want   string
	}{
		"a bearer token": {registry.Credentials{Bearer: at("env:GONE")}, "the bearer token: there is nothing at env:GONE"},
		"a header": {
			registry.Credentials{Headers: map[string]registry.Secret{"X-Key": at("file:/gone")}},
			"the header X-Key: there is nothing at file:/gone",
		},
		"a header that would end early": {
			registry.Credentials{Bearer: at("env:BROKEN")}, "env:BROKEN (BROKEN) holds characters that no header may have",
		},
		"a client secret": {
			registry.Credentials{OAuth: &registry.OAuth{Issuer: home.URL, ClientID: "us", ClientSecret: at("env:GONE")}},
			"the client secret: there is nothing at env:GONE",
		},
		"a certificate": {
			registry.Credentials{ClientCert: at("file:/cert"), ClientKey: at("env:KEY")},
			"the client certificate: there is nothing at file:/cert",
		},
		"a certificate that is none": {
			registry.Credentials{ClientCert: at("env:KEY"), ClientKey: at("env:KEY")},
			"the client certificate at env:KEY and its key at env:KEY do not serve: " +
				"tls: failed to find any PEM data in certificate input",
		},
	} {
		_, failure := get(within(t, time.Minute), outletTo(home.at(t, "/"), row.wanted, secrets.resolve), home.at(t, "/"))
		if failure == nil || failure.Cause != registry.NotConfigured || failure.Detail != row.want {
			t.Errorf("%s: got %v, want not_configured: %s", name, failure, row.want)
		}
	}
	if diff := cmp.Diff([]string(nil), home.requests()); diff != "" {
		t.Errorf("a request left all the same: %s", diff)
	}
}
