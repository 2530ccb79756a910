package probe_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	oci "github.com/google/go-containerregistry/pkg/registry"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The secrets of these tests, which may be found nowhere.
const (
	registryPassword = "canary-password-7f3a"
	registryToken    = "canary-token-91bc2d44"
	staticToken      = "canary-static-5e6f7a8b"
)

// guardedRegistry is a registry that is open until it is locked, and then demands
// credentials in one way.
type guardedRegistry struct {
	locked atomic.Bool
	scheme string // basic, token or static
	echo   bool   // answers with what it was sent
}

func (g *guardedRegistry) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		sent := request.Header.Get("Authorization")
		pair := "Basic " + base64.StdEncoding.EncodeToString([]byte("ci:"+registryPassword))
		switch {
		case !g.locked.Load():
			next.ServeHTTP(w, request)
		case g.echo && sent != "":
			w.WriteHeader(http.StatusForbidden)
			_, password, _ := request.BasicAuth()
			_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%q}]}`, "not with "+sent+" or "+password)
		case request.URL.Path == "/token":
			if sent != pair || request.URL.Query().Get("scope") != "repository:tools/scanner:pull" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = fmt.Fprintf(w, `{"token":%q}`, registryToken)
		case g.scheme == "basic" && sent == pair, g.scheme == "token" && sent == "Bearer "+registryToken, g.scheme == "static" && sent == "Bearer "+staticToken:
			next.ServeHTTP(w, request)
		default:
			challenge := `Basic realm="tests"`
			if g.scheme != "basic" {
				challenge = fmt.Sprintf(`Bearer realm="http://%s/token",service="tests"`, request.Host)
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

// lockedImage is an image that passes, in a registry that has been locked.
func lockedImage(t *testing.T, guard *guardedRegistry) *pushed {
	t.Helper()
	image := push(t, ociRegistry(t, guard.wrap, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
	guard.locked.Store(true)
	return image
}

func userAndPassword(password string) registry.ImageCredentials {
	return registry.ImageCredentials{Username: registry.SecretText("ci"), Password: registry.SecretText(password)}
}

func TestHarness_provesItselfInTheWayThatTheRegistryDemands(t *testing.T) {
	t.Parallel()
	for scheme, right := range map[string]registry.ImageCredentials{
		"basic": userAndPassword(registryPassword), "token": userAndPassword(registryPassword),
		"static": {Bearer: registry.SecretText(staticToken)},
	} {
		image := lockedImage(t, &guardedRegistry{scheme: scheme})
		for what, wrong := range map[string]registry.ImageCredentials{
			"nothing": {}, "a wrong password": userAndPassword("canary-wrong"), "a wrong token": {Bearer: registry.SecretText("canary-wrong")},
		} {
			image.spec.Credentials = wrong
			got := image.probed(t)
			if checkHarness(t, got, registry.Auth); t.Failed() {
				t.Fatalf("%s with %s", scheme, what)
			}
		}
		image.spec.Credentials = right
		checkHarness(t, image.probed(t))
	}
}

func TestHarness_needsItsSecrets(t *testing.T) {
	t.Parallel()
	image := lockedImage(t, &guardedRegistry{scheme: "basic"})
	image.spec.Credentials = registry.ImageCredentials{Username: registry.SecretText("ci"), Password: registry.SecretAt("env:NONE")}
	checkHarness(t, image.probed(t), registry.NotConfigured)
}

func TestHarness_usesTheDockerKeychain(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("HOME", folder)
	t.Setenv("DOCKER_CONFIG", folder)
	image := lockedImage(t, &guardedRegistry{scheme: "token"})
	image.spec.Credentials.Keychain = true
	checkHarness(t, image.probed(t), registry.Auth) // nothing is stored
	stored := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, image.repository.RegistryStr(), base64.StdEncoding.EncodeToString([]byte("ci:"+registryPassword)))
	must(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(stored), 0o600))
	checkHarness(t, image.probed(t))
}

// TestHarness_showsNoSecret has a registry give back what it was sent.
func TestHarness_showsNoSecret(t *testing.T) {
	t.Parallel()
	for scheme, credentials := range map[string]registry.ImageCredentials{
		"basic": userAndPassword(registryPassword), "token": userAndPassword(registryPassword), "static": {Bearer: registry.SecretText(staticToken)},
	} {
		image := lockedImage(t, &guardedRegistry{scheme: scheme, echo: true})
		image.spec.Credentials = credentials
		got := image.probed(t, func(s *probe.Settings) { s.Transcripts = true })
		document := asJSON(got) + got.Error() + fmt.Sprintf("%+v", got.Summary())
		checkHarness(t, got, registry.Forbidden)
		if got.Resolved.Transcript == nil {
			t.Errorf("%s: there is no transcript", scheme)
		}
		for _, secret := range []string{registryPassword, registryToken, staticToken, base64.StdEncoding.EncodeToString([]byte("ci:" + registryPassword))} {
			if strings.Contains(document, secret) {
				t.Errorf("%s: the result shows %s:\n%s", scheme, secret, document)
			}
		}
	}
}

// TestHarness_showsNoTokenThatItDoesNotKnow has a token service give a token where
// nobody looks for one, and others beside the one that is used.
func TestHarness_showsNoTokenThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for answer, cause := range map[string]registry.Cause{
		`{"accessToken":"` + registryToken + `"}`:                                 registry.Auth,
		`{"token":"` + staticToken + `","refresh_token":"` + registryToken + `"}`: registry.Forbidden,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			switch {
			case request.URL.Path == "/token":
				_, _ = w.Write([]byte(answer))
			case request.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token"`, request.Host))
				w.WriteHeader(http.StatusUnauthorized)
			default:
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		t.Cleanup(server.Close)
		image := pushed{spec: registry.Harness{Image: strings.TrimPrefix(server.URL, "http://") + "/tools/scanner@sha256:" + strings.Repeat("1", 64)}}
		image.spec.Credentials = registry.ImageCredentials{
			Username: registry.SecretAt("env:CANARY_USER"), Password: registry.SecretText(registryPassword),
		}
		got := image.probed(t, func(s *probe.Settings) { s.Transcripts, s.Resolve = true, resolving })
		checkHarness(t, got, cause)
		if document := asJSON(got); strings.Contains(document, registryToken) || got.Resolved.Transcript == nil {
			t.Errorf("%s: the result shows a token, or no transcript:\n%s", answer, document)
		}
	}
}

// handsOver is a registry that hands its blobs over to another address.
func handsOver(t *testing.T, guard *guardedRegistry) (*pushed, *url.URL, *atomic.Value) {
	t.Helper()
	var inner http.Handler
	seen := &atomic.Value{}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		seen.Store(request.Header.Get("Authorization"))
		inner.ServeHTTP(w, request)
	}))
	t.Cleanup(other.Close)
	image := push(t, ociRegistry(t, func(next http.Handler) http.Handler {
		inner = next
		return guard.wrap(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if guard.locked.Load() && strings.Contains(request.URL.Path, "/blobs/") {
				http.Redirect(w, request, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+request.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			next.ServeHTTP(w, request)
		}))
	}, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
	guard.locked.Store(true)
	address, err := url.Parse(other.URL)
	must(t, err)
	return image, address, seen
}

func TestHarness_followsARedirectOfABlobWithoutTheCredentials(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"basic", "token"} {
		image, _, seen := handsOver(t, &guardedRegistry{scheme: scheme})
		image.spec.Credentials = userAndPassword(registryPassword)
		checkHarness(t, image.probed(t))
		if sent := seen.Load(); sent != "" {
			t.Errorf("%s: the other address was sent %q", scheme, sent)
		}
	}
}

func TestHarness_isNotLedToAForbiddenAddress(t *testing.T) {
	t.Parallel()
	image, address, seen := handsOver(t, &guardedRegistry{scheme: "basic"})
	image.spec.Credentials = userAndPassword(registryPassword)
	port := netip.MustParseAddrPort(address.Host).Port()
	got := image.probed(t, func(s *probe.Settings) {
		s.Transcripts = true
		s.Network.Deny = []registry.NetworkRule{
			{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Port: port}, {Prefix: netip.MustParsePrefix("::1/128"), Port: port},
		}
	})
	checkHarness(t, got, registry.Denied)
	if got.Scanned.Transcript == nil || got.Resolved.Transcript != nil {
		t.Error("the part that failed, and no other, has a transcript")
	}
	if seen.Load() != nil {
		t.Error("the forbidden address was reached")
	}
}

func TestHarness_hasTheCausesOfTheTransport(t *testing.T) {
	t.Parallel()
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Path != "/v2/" {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		url     string
		cause   registry.Cause
	}{
		"nothing listens":   {url: closed.URL, cause: registry.Refused},
		"an unknown issuer": {url: secure.URL, cause: registry.TLS},
		"it hangs":          {handler: func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }, cause: registry.Timeout},
		"too many requests": {handler: answers(http.StatusTooManyRequests, ""), cause: registry.RateLimited},
		"it is broken":      {handler: answers(http.StatusInternalServerError, ""), cause: registry.HTTPStatus},
		"it forbids":        {handler: answers(http.StatusForbidden, "go away"), cause: registry.Forbidden},
		"another manifest":  {handler: answers(http.StatusOK, `{}`), cause: registry.MissingImage},
		"an endless one":    {handler: answers(http.StatusOK, strings.Repeat(" ", probe.MaxManifest+1)), cause: registry.TooLarge},
		"redirects for ever": {handler: func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Path != "/v2/" {
				http.Redirect(w, request, request.URL.Path+"x", http.StatusFound)
			}
		}, cause: registry.Redirect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.handler != nil {
				server := httptest.NewServer(row.handler)
				t.Cleanup(server.Close)
				row.url = server.URL
			}
			_, host, _ := strings.Cut(row.url, "://")
			image := pushed{spec: registry.Harness{Image: host + "/tools/scanner@sha256:" + strings.Repeat("1", 64)}}
			got := image.probed(t, func(s *probe.Settings) {
				if row.cause == registry.Timeout {
					s.Timeout = 500 * time.Millisecond
				}
			})
			checkHarness(t, got, row.cause)
		})
	}
}

func TestHarness_isUndecidedWhereItMayNotDial(t *testing.T) {
	t.Parallel()
	image := pushed{spec: registry.Harness{Image: "127.0.0.1:1/tools/scanner@sha256:" + strings.Repeat("1", 64)}}
	got := image.probed(t, func(s *probe.Settings) {
		s.Network.Deny = []registry.NetworkRule{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}
	})
	checkHarness(t, got, registry.Denied)
	if got.Summary().Outcome != registry.OutcomeUndecided {
		t.Errorf("the outcome is %s", got.Summary().Outcome)
	}
}

func TestHarness_sendsNothingInTheClearToAnotherMachine(t *testing.T) {
	t.Parallel()
	image := pushed{spec: registry.Harness{Image: "192.0.2.1/tools/scanner@sha256:" + strings.Repeat("1", 64)}}
	got := image.probed(t, func(s *probe.Settings) {
		s.Network.Deny = []registry.NetworkRule{{Prefix: netip.MustParsePrefix("192.0.2.0/24")}}
	})
	checkHarness(t, got, registry.Denied)
}

func TestRecorded_leavesOutWhatIsTooLargeOfAHarness(t *testing.T) {
	t.Parallel()
	failed := registry.Fail(0, registry.Forbidden, "")
	failed.Transcript = &registry.Transcript{Stderr: strings.Repeat("x", probe.MaxDocument)}
	document, _, err := probe.Recorded(&registry.HarnessResult{Resolved: failed, Scanned: failed, ProbedAt: ofHarness})
	if err != nil || !strings.Contains(string(document), "left out of the record") {
		t.Errorf("%d bytes, %v", len(document), err)
	}
}
