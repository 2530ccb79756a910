package mcpwire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// authority is an authorization server. What is nil behaves well.
type authority struct {
	metadata func(base string) map[string]any
	discover http.HandlerFunc
	token    http.HandlerFunc
}

const grantedToken = "granted.token-0123456789"

func (a authority) start(t *testing.T) *witness {
	t.Helper()
	return witnessing(t, func(w http.ResponseWriter, request *http.Request) {
		base := "http://" + request.Host
		switch {
		case request.URL.Path == "/token" && a.token != nil:
			a.token(w, request)
		case request.URL.Path == "/token":
			grants(w, request)
		case a.discover != nil:
			a.discover(w, request)
		case request.URL.Path != "/.well-known/oauth-authorization-server":
			http.NotFound(w, request)
		default:
			document := map[string]any{"issuer": base, "token_endpoint": base + "/token"}
			if a.metadata != nil {
				document = a.metadata(base)
			}
			_ = json.NewEncoder(w).Encode(document)
		}
	})
}

func grants(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":60}`, grantedToken)
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func withMetadata(edit func(base string, document map[string]any)) func(string) map[string]any {
	return func(base string) map[string]any {
		document := map[string]any{"issuer": base, "token_endpoint": base + "/token"}
		edit(base, document)
		return document
	}
}

// askingWithOAuth is an outlet to home whose token the issuer gives.
func askingWithOAuth(t *testing.T, home *witness, wanted registry.OAuth) mcpwire.Outlet {
	t.Helper()
	wanted.ClientID, wanted.ClientSecret = "us & them", registry.SecretAt("env:S")
	secrets := &vault{secrets: map[string]string{"env:S": canarySecret}}
	return outletTo(home.at(t, "/base/mcp/?key=1"), registry.Credentials{OAuth: &wanted}, secrets.resolve)
}

func TestOAuth_hasATokenFromThePinnedIssuer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		authority
		path   string // of the issuer
		byFile bool   // token_url is given
		post   bool
		asked  int
	}{
		"discovered":        {asked: 2},
		"given in the file": {byFile: true, asked: 1},
		"discovered by OpenID": {authority: authority{discover: func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Path != "/.well-known/openid-configuration" {
				http.NotFound(w, request)
				return
			}
			fmt.Fprintf(w, `{"issuer":"http://%[1]s","token_endpoint":"http://%[1]s/token"}`, request.Host)
		}}, asked: 3},
		"an issuer with a path": {authority: authority{discover: func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Path != "/tenant/.well-known/openid-configuration" {
				http.NotFound(w, request)
				return
			}
			fmt.Fprintf(w, `{"issuer":"http://%[1]s/tenant","token_endpoint":"http://%[1]s/token"}`, request.Host)
		}}, path: "/tenant", asked: 4},
		"only in the body": {authority: authority{metadata: withMetadata(func(_ string, document map[string]any) {
			document["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt", "client_secret_post"}
		})}, post: true, asked: 2},
		"in the body, as it turns out": {authority: authority{token: func(w http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Authorization") != "" {
				answers(401, `{"error":"invalid_client"}`)(w, request)
				return
			}
			grants(w, request)
		}}, byFile: true, post: true, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer, home := row.start(t), witnessing(t, fine)
			wanted := registry.OAuth{Issuer: issuer.URL + row.path, Scopes: []string{"a", "b"}}
			if row.byFile {
				wanted.TokenURL = issuer.URL + "/token"
			}
			outlet := askingWithOAuth(t, home, wanted)
			var gates sync.WaitGroup
			for range 3 {
				gates.Go(func() {
					if status, failure := get(t.Context(), outlet, home.at(t, "/")); status != 200 {
						t.Errorf("got %d, %v", status, failure)
					}
				})
			}
			gates.Wait()
			for _, raw := range home.requests() {
				if !strings.Contains(raw, "Authorization: Bearer "+grantedToken+"\r\n") {
					t.Errorf("the target got %s", raw)
				}
			}
			came := issuer.requests()
			if len(came) != row.asked {
				t.Errorf("the issuer was asked %d times, want %d", len(came), row.asked)
			}
			checkTokenRequest(t, came[len(came)-1], home, row.post)
		})
	}
}

func checkTokenRequest(t *testing.T, raw string, home *witness, post bool) {
	t.Helper()
	header, body, _ := strings.Cut(raw, "\r\n\r\n")
	form := must(url.ParseQuery(body))(t)
	pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape("us & them") + ":" + url.QueryEscape(canarySecret)))
	basic := strings.Contains(header, "Authorization: Basic "+pair)
	if basic == post || (form.Get("client_secret") == canarySecret) != post {
		t.Errorf("the client proved itself in another way than wanted:\n%s", raw)
	}
	if form.Get("grant_type") != "client_credentials" || form.Get("scope") != "a b" || form.Get("resource") != home.URL+"/base/mcp" {
		t.Errorf("the token request is %v", form)
	}
}

func TestOAuth_sendsTheSecretToNobodyElse(t *testing.T) {
	t.Parallel()
	stranger := witnessing(t, grants)
	for name, row := range map[string]struct {
		authority
		cause  registry.Cause
		detail string
		sent   bool // the issuer's own token endpoint was asked
	}{
		"metadata of another issuer": {authority{metadata: withMetadata(func(_ string, document map[string]any) {
			document["issuer"], document["token_endpoint"] = stranger.URL, stranger.URL+"/token"
		})}, registry.Auth, "is the one that was pinned", false},
		"metadata without an issuer": {authority{metadata: withMetadata(func(_ string, document map[string]any) {
			delete(document, "issuer")
		})}, registry.Auth, "is the one that was pinned", false},
		"an issuer that differs in its last character": {authority{metadata: withMetadata(func(base string, document map[string]any) {
			document["issuer"] = base + "/"
		})}, registry.Auth, "is the one that was pinned", false},
		"names in another case": {authority{metadata: withMetadata(func(base string, document map[string]any) {
			delete(document, "issuer")
			document["Issuer"] = base
		})}, registry.Auth, "is the one that was pinned", false},
		"a token endpoint in the clear": {authority{metadata: withMetadata(func(_ string, document map[string]any) {
			document["token_endpoint"] = "http://issuer.invalid/token"
		})}, registry.Auth, "is not https, so no secret was sent", false},
		"a token endpoint of another scheme": {authority{metadata: withMetadata(func(_ string, document map[string]any) {
			document["token_endpoint"] = "file:///etc/passwd"
		})}, registry.Auth, "is not https, so no secret was sent", false},
		"a token endpoint with a user": {authority{metadata: withMetadata(func(base string, document map[string]any) {
			document["token_endpoint"] = strings.Replace(base, "http://", "http://issuer@", 1)
		})}, registry.Auth, "is not https, so no secret was sent", false},
		"no way that we have": {authority{metadata: withMetadata(func(_ string, document map[string]any) {
			document["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
		})}, registry.Auth, "only private_key_jwt", false},
		"metadata that redirect":  {authority{discover: leadsTo(stranger)}, registry.Redirect, "Location: " + stranger.URL, false},
		"metadata in no JSON":     {authority{discover: answers(200, "<html>")}, registry.NotJSON, "no JSON object", false},
		"metadata without an end": {authority{discover: endless}, registry.TooLarge, "larger than 262144 bytes", false},
		"no metadata":             {authority{discover: answers(404, "")}, registry.Auth, "status 404; give token_url", false},
		"metadata out of order":   {authority{discover: answers(503, "")}, registry.HTTPStatus, "status 503", false},

		"a token endpoint that redirects": {authority{token: leadsTo(stranger)}, registry.Redirect, "Location: " + stranger.URL, true},
		"a token in no JSON":              {authority{token: answers(200, "ok")}, registry.NotJSON, "without a JSON object", true},
		"an answer without an end":        {authority{token: endless}, registry.TooLarge, "larger than 65536 bytes", true},
		"no token":                        {authority{token: answers(200, `{}`)}, registry.Auth, "holds no access_token", true},
		"a token of lines":                {authority{token: answers(200, `{"access_token":"a\r\nX: b"}`)}, registry.Auth, "characters that no header", true},
		"a token of another type":         {authority{token: answers(200, `{"access_token":"a","token_type":"DPoP"}`)}, registry.Auth, "of the type DPoP", true},
		"a refusal": {
			authority{token: answers(400, `{"error":"invalid_scope","error_description":"no such"}`)},
			registry.Auth, "status 400: invalid_scope, no such", true,
		},
		"a client that is unknown": {authority{token: answers(401, `{"error":"invalid_client"}`)}, registry.Auth, "status 401: invalid_client", true},
		"too many requests":        {authority{token: answers(429, ``)}, registry.RateLimited, "status 429", true},
		"a broken server":          {authority{token: answers(500, `{"error":"server_error"}`)}, registry.HTTPStatus, "status 500: server_error", true},
		"silence":                  {authority{token: silent}, registry.Timeout, "the token endpoint: the time ran out", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer, home := row.start(t), witnessing(t, fine)
			outlet := askingWithOAuth(t, home, registry.OAuth{Issuer: issuer.URL})
			limit := time.Minute
			if row.cause == registry.Timeout {
				limit = time.Second
			}
			_, failure := get(within(t, limit), outlet, home.at(t, "/"))
			if failure == nil || failure.Cause != row.cause || !strings.Contains(failure.Detail, row.detail) {
				t.Errorf("got %v, want %s with %q", failure, row.cause, row.detail)
			}
			sent := strings.Contains(strings.Join(issuer.requests(), ""), "POST /token")
			if sent != row.sent || len(home.requests()) > 0 {
				t.Errorf("the token endpoint was asked: %v; the target was asked %d times", sent, len(home.requests()))
			}
		})
	}
	t.Cleanup(func() {
		if came := stranger.requests(); len(came) > 0 {
			t.Errorf("the stranger got %q", came)
		}
	})
}

func leadsTo(where *witness) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, where.URL, http.StatusTemporaryRedirect)
	}
}

func endless(w http.ResponseWriter, request *http.Request) {
	chunk := []byte(strings.Repeat(" ", 32<<10))
	for request.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func silent(_ http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	<-request.Context().Done()
}

// TestOAuth_isNotLedByTheTarget meets a target that names another issuer in all
// the ways of RFC 9728.
func TestOAuth_isNotLedByTheTarget(t *testing.T) {
	t.Parallel()
	stranger, issuer := witnessing(t, grants), authority{}.start(t)
	home := witnessing(t, func(w http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.URL.Path, "/.well-known/") {
			fmt.Fprintf(w, `{"resource":"http://%s","authorization_servers":[%q]}`, request.Host, stranger.URL)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer resource_metadata="http://%s/.well-known/oauth-protected-resource", authorization_uri=%q`, request.Host, stranger.URL))
		w.WriteHeader(http.StatusUnauthorized)
	})
	outlet := askingWithOAuth(t, home, registry.OAuth{Issuer: issuer.URL})
	if status, failure := get(within(t, time.Minute), outlet, home.at(t, "/mcp")); status != 401 {
		t.Errorf("got %d, %v", status, failure)
	}
	if came := stranger.requests(); len(came) > 0 {
		t.Errorf("the other issuer was asked: %q", came)
	}
	for _, raw := range home.requests() {
		if left := leftOf(canarySecret, raw); left != "" || strings.Contains(raw, "Basic ") {
			t.Errorf("the target got %q of the secret in %s", left, raw)
		}
	}
}

func TestOAuth_isNotTriedAgainByTheOtherGates(t *testing.T) {
	t.Parallel()
	issuer := authority{token: answers(400, `{"error":"invalid_grant"}`)}.start(t)
	home := witnessing(t, fine)
	outlet := askingWithOAuth(t, home, registry.OAuth{Issuer: issuer.URL, TokenURL: issuer.URL + "/token"})
	for range 3 {
		if _, failure := get(within(t, time.Minute), outlet, home.at(t, "/")); failure == nil || failure.Cause != registry.Auth {
			t.Errorf("got %v, want auth", failure)
		}
	}
	if n := len(issuer.requests()); n != 1 {
		t.Errorf("the token endpoint was asked %d times, want once", n)
	}
}

// TestOAuth_keepsTokensOutOfTranscripts has an issuer give away a token where none
// belongs. Only what it says when it refuses is kept.
func TestOAuth_keepsTokensOutOfTranscripts(t *testing.T) {
	t.Parallel()
	for status, kept := range map[int]bool{200: false, 400: true} {
		issuer := authority{token: answers(status, `{"error":"x","accessToken":"a-token-that-nobody-knows"}`)}.start(t)
		home := witnessing(t, fine)
		outlet := askingWithOAuth(t, home, registry.OAuth{Issuer: issuer.URL, TokenURL: issuer.URL + "/token"})
		outlet.Recorder = &mcpwire.Recorder{}
		if _, failure := get(within(t, time.Minute), outlet, home.at(t, "/")); failure == nil {
			t.Error("there is a token")
		}
		seen := outlet.Recorder.Transcript(outlet.Redactor)
		if seen == nil || len(seen.Exchanges) == 0 {
			t.Fatal("nothing was recorded")
		}
		answer := seen.Exchanges[0].Response
		if strings.Contains(answer.Body, "a-token") != kept || answer.BodyBytes == 0 {
			t.Errorf("of an answer of the status %d this is kept: %q of %d bytes", status, answer.Body, answer.BodyBytes)
		}
	}
}
