package mcpwire

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of how a token is had, apart from the deadline of the gate.
const (
	MaxTokenAnswer = 64 << 10  // bytes of an answer of the token endpoint
	MaxMetadata    = 256 << 10 // bytes of the metadata of an issuer
	MaxToken       = 16 << 10  // bytes of an access token
	TokenTimeout   = 10 * time.Second
)

// The ways in which a client proves itself to a token endpoint (RFC 8414).
const (
	secretBasic = "client_secret_basic"
	secretPost  = "client_secret_post"
)

// tokenSource asks the pinned issuer for a token by the client credentials
// grant (RFC 6749, section 4.4), once for all gates of a probe. Nothing that the
// target says decides where the secret goes.
type tokenSource struct {
	issuer, tokenURL string // tokenURL is empty when the issuer's metadata tells it
	id, secret       string
	scopes           []string
	resource         string

	turn chan struct{} // holds one: whoever has it may touch what follows
	got  *credentialHeader
	err  error // stays, so that a refused secret is not tried once for each gate
}

func (r Resolution) readOAuth(made *Credentials) error {
	wanted := r.Wanted.OAuth
	if wanted == nil {
		return nil
	}
	secret, err := r.reveal("the client secret", wanted.ClientSecret)
	if err != nil {
		return err
	}
	r.Redactor.AddCredential(url.QueryEscape(wanted.ClientID) + ":" + url.QueryEscape(secret))
	made.token = &tokenSource{
		issuer: wanted.Issuer, tokenURL: wanted.TokenURL, id: wanted.ClientID, secret: secret, scopes: wanted.Scopes,
		resource: resourceOf(r.Resource), turn: make(chan struct{}, 1),
	}
	return nil
}

// resourceOf is the canonical address of an MCP server (MCP authorization,
// section Resource Parameter Implementation).
func resourceOf(endpoint *url.URL) string {
	if endpoint == nil {
		return ""
	}
	canonical := url.URL{
		Scheme: strings.ToLower(endpoint.Scheme), Host: strings.ToLower(endpoint.Host),
		Path: endpoint.Path, RawPath: endpoint.RawPath,
	}
	return strings.TrimSuffix(canonical.String(), "/")
}

// have returns the header with the token. An error is a *Failure.
func (s *tokenSource) have(ctx context.Context, outlet Outlet) (credentialHeader, error) {
	ctx, cancel := context.WithTimeout(bare{ctx}, TokenTimeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return credentialHeader{}, &Failure{Cause: registry.Timeout, Detail: "the time ran out while waiting for a token"}
	}
	if s.got == nil && s.err == nil {
		token, err := s.ask(ctx, outlet) //nolint:contextcheck // bare inherits all but the values
		switch {
		case err == nil:
			outlet.Redactor.AddCredential(token)
			s.got = &credentialHeader{
				name: "Authorization", value: bearer + token, shown: bearer,
				variable: registry.Variable{Name: "ACCESS_TOKEN", Means: "a token of " + s.issuer},
			}
		case ctx.Err() != nil:
			return credentialHeader{}, err
		default:
			s.err = err
		}
	}
	if s.err != nil {
		return credentialHeader{}, s.err
	}
	return *s.got, nil
}

// bare is a context without values, so that what follows a request does not
// take the requests for its token for its own.
type bare struct{ context.Context } //nolint:containedctx // it is a context itself

// Value is nil for every key.
func (bare) Value(any) any { return nil }

// ask has a token. It tries client_secret_basic first, and client_secret_post
// where the issuer says so, or says nothing and takes the former for a client
// that it does not know.
func (s *tokenSource) ask(ctx context.Context, outlet Outlet) (string, error) {
	outlet.Credentials = nil
	endpoint, inFile, methods := s.tokenURL, s.tokenURL, []string(nil)
	if endpoint == "" {
		found, err := s.discover(ctx, outlet)
		if err != nil {
			return "", err
		}
		endpoint, inFile, methods = found.TokenEndpoint, s.issuer, found.Methods
	}
	address, err := safe(endpoint, inFile)
	if err != nil {
		return "", err
	}
	known := len(methods) > 0
	if !known {
		methods = []string{secretBasic, secretPost}
	}
	err = &Failure{Cause: registry.Auth, Detail: registry.Shorten(
		"the issuer takes neither "+secretBasic+" nor "+secretPost+", only "+strings.Join(methods, ", "), registry.MaxDetail)}
	for _, method := range []string{secretBasic, secretPost} {
		if !slices.Contains(methods, method) {
			continue
		}
		var token string
		if token, err = s.exchange(ctx, outlet, address, method); err == nil || known || !isUnknownClient(err) {
			return token, err
		}
	}
	return "", err
}
