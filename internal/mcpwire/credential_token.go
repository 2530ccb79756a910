package mcpwire

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// forTokens is the key of contexts of ForTokens.
type forTokens struct{}

// ForTokens returns a context for a request that is answered with tokens. Some of
// them may stand where nobody looks for them, so no transcript keeps the body of
// an answer with success.
func ForTokens(ctx context.Context) context.Context {
	return context.WithValue(ctx, forTokens{}, true)
}

func isForTokens(ctx context.Context) bool { return ctx.Value(forTokens{}) != nil }

// exchange makes the token request (RFC 6749, section 4.4.2).
func (s *tokenSource) exchange(ctx context.Context, outlet Outlet, address *url.URL, method string) (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(s.scopes) > 0 {
		form.Set("scope", strings.Join(s.scopes, " "))
	}
	if s.resource != "" {
		form.Set("resource", s.resource)
	}
	if method == secretPost {
		form.Set("client_id", s.id)
		form.Set("client_secret", s.secret)
	} else {
		pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(s.id) + ":" + url.QueryEscape(s.secret)))
		outlet.Redactor.AddCredential(pair)
		outlet.Credentials = &Credentials{origin: originOf(address), carried: carried{headers: []credentialHeader{{
			name: "Authorization", value: "Basic " + pair, shown: "Basic ",
			variable: registry.Variable{Name: "BASIC", Means: "client_id:client_secret in base64"},
		}}}}
	}
	const who = "the token endpoint"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", asked(who, err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body, err := fetch(ForTokens(ctx), outlet, request, MaxTokenAnswer)
	if err != nil {
		return "", asked(who, err)
	}
	token, err := readToken(status, body)
	if err != nil {
		return "", asked(who, err)
	}
	return token, nil
}

// asked says who was asked in a failure that is not about the target itself.
func asked(who string, err error) *Failure {
	failure := &Failure{Cause: registry.Unreachable, Detail: err.Error(), err: err}
	if known, ok := errors.AsType[*Failure](err); ok {
		copied := *known
		failure = &copied
	}
	failure.Detail = registry.Shorten(who+": "+failure.Detail, registry.MaxDetail)
	return failure
}

// fetch makes one request of an authorization server, which gets one complete
// answer to give: no redirect is followed. An error is a *Failure, or ErrBroken.
func fetch(ctx context.Context, outlet Outlet, request *http.Request, limit int64) (status int, body []byte, err error) {
	client := outlet.Client()
	defer client.CloseIdleConnections()
	request.Header.Set("Accept", "application/json")
	exchange, err := Do(ctx, client, request)
	if err != nil {
		return 0, nil, err
	}
	defer exchange.Close()
	status = exchange.Response.StatusCode
	if registry.StatusCause(status) == registry.Redirect {
		return 0, nil, &Failure{Cause: registry.Redirect, Detail: exchange.StatusDetail()}
	}
	body, err = exchange.ReadAll(ctx, limit)
	return status, body, err
}

// unknownClient is the error code of a client that was not authenticated.
const unknownClient = "invalid_client"

// isUnknownClient reports whether a token endpoint did not take the client's
// word, which it may do because of the way in which it was given.
func isUnknownClient(err error) bool {
	failure, ok := errors.AsType[*Failure](err)
	return ok && errors.Is(failure.err, errUnknownClient)
}

var errUnknownClient = errors.New(unknownClient)

// readToken reads a token response (RFC 6749, sections 5.1 and 5.2).
func readToken(status int, body []byte) (string, error) {
	members, isObject := objectOf(body)
	if registry.StatusCause(status) != "" {
		return "", refusedToken(status, members)
	}
	if !isObject {
		return "", &Failure{Cause: registry.NotJSON, Detail: fmt.Sprintf("status %d without a JSON object", status)}
	}
	var token, kind string
	_ = json.Unmarshal(members["access_token"], &token)
	_ = json.Unmarshal(members["token_type"], &kind)
	switch {
	case token == "":
		return "", &Failure{Cause: registry.Auth, Detail: "the answer holds no access_token"}
	case len(token) > MaxToken:
		return "", &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the token is larger than %d bytes", MaxToken)}
	case !isVisibleASCII(token):
		return "", &Failure{Cause: registry.Auth, Detail: "the access_token holds characters that no header may have"}
	case kind != "" && !strings.EqualFold(kind, "bearer"):
		return "", &Failure{Cause: registry.Auth, Detail: "the token is of the type " + registry.Shorten(kind, maxExcerpt) + " and not Bearer"}
	}
	return token, nil
}

// refusedToken is the failure of an answer that is none of 2xx.
func refusedToken(status int, members map[string]json.RawMessage) *Failure {
	failure := &Failure{Cause: registry.StatusCause(status), Detail: fmt.Sprintf("status %d", status), status: status}
	var code, more string
	_ = json.Unmarshal(members["error"], &code)
	_ = json.Unmarshal(members["error_description"], &more)
	if code == "" {
		return failure
	}
	if failure.Cause == registry.HTTPStatus && status < 500 {
		failure.Cause = registry.Auth
	}
	if code == unknownClient {
		failure.err = errUnknownClient
	}
	failure.Detail += ": " + registry.Shorten(code, maxExcerpt)
	if more != "" {
		failure.Detail += ", " + registry.Shorten(more, maxExcerpt)
	}
	return failure
}

// objectOf reads one JSON object, its names matched case-sensitively.
func objectOf(body []byte) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &members)
	return members, err == nil && members != nil
}
