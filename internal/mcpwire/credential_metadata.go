package mcpwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// issuerMetadata is what is used of the metadata of an issuer (RFC 8414).
type issuerMetadata struct {
	TokenEndpoint string
	Methods       []string // in which a client proves itself; empty when it is not said
}

// discover asks the pinned issuer, and nobody else, for its token endpoint. No
// secret is sent.
func (s *tokenSource) discover(ctx context.Context, outlet Outlet) (issuerMetadata, error) {
	issuer, err := safe(s.issuer, s.issuer)
	if err != nil {
		return issuerMetadata{}, err
	}
	err = errors.New("there is none")
	for _, place := range wellKnown(issuer) {
		who := "the metadata at " + place
		request, made := http.NewRequestWithContext(ctx, http.MethodGet, place, http.NoBody)
		if made != nil {
			return issuerMetadata{}, asked(who, made)
		}
		status, body, failed := fetch(ctx, outlet, request, MaxMetadata)
		if failed != nil {
			return issuerMetadata{}, asked(who, failed)
		}
		switch {
		case registry.StatusCause(status) == "":
			found, wrong := s.readMetadata(body)
			if wrong != nil {
				return found, asked(who, wrong)
			}
			return found, nil
		case status >= 500 || status == http.StatusTooManyRequests:
			return issuerMetadata{}, asked(who, &Failure{Cause: registry.StatusCause(status), Detail: fmt.Sprintf("status %d", status)})
		}
		err = &Failure{Cause: registry.Auth, Detail: fmt.Sprintf("status %d; give token_url, if the issuer has no metadata", status)}
	}
	return issuerMetadata{}, asked("the metadata of the issuer", err)
}

// wellKnown lists where an issuer's metadata may be, in the order of the MCP
// specification (authorization, section Authorization Server Metadata Discovery).
func wellKnown(issuer *url.URL) []string {
	at := func(path string) string {
		place := url.URL{Scheme: issuer.Scheme, Host: issuer.Host}
		return place.String() + path
	}
	const oauth, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	if path == "" {
		return []string{at(oauth), at(openID)}
	}
	return []string{at(oauth + path), at(openID + path), at(path + openID)}
}

// readMetadata takes only what the pinned issuer says of itself (RFC 8414,
// section 3.3): other metadata could lead the secret elsewhere.
func (s *tokenSource) readMetadata(body []byte) (issuerMetadata, error) {
	members, isObject := objectOf(body)
	if !isObject {
		return issuerMetadata{}, &Failure{Cause: registry.NotJSON, Detail: "it is no JSON object"}
	}
	var issuer string
	var found issuerMetadata
	_ = json.Unmarshal(members["issuer"], &issuer)
	_ = json.Unmarshal(members["token_endpoint"], &found.TokenEndpoint)
	_ = json.Unmarshal(members["token_endpoint_auth_methods_supported"], &found.Methods)
	switch {
	case issuer != s.issuer:
		return found, &Failure{Cause: registry.Auth, Detail: fmt.Sprintf(
			"it names the issuer %q, but %q is the one that was pinned; no secret was sent", registry.Shorten(issuer, maxExcerpt), s.issuer)}
	case found.TokenEndpoint == "":
		return found, &Failure{Cause: registry.Auth, Detail: "it names no token_endpoint"}
	}
	return found, nil
}

// safe refuses an address at which a secret would travel in the clear. Plain
// HTTP is for loopback, and only where the address in the file that led there is
// one of these itself.
func safe(endpoint, inFile string) (*url.URL, error) {
	pinned, err := url.Parse(inFile)
	address, unread := url.Parse(endpoint)
	usable := err == nil && unread == nil && address.Host != "" && address.User == nil
	if usable && (address.Scheme == "https" || isLocal(address) && isLocal(pinned)) {
		return address, nil
	}
	shown := "of the token endpoint"
	if usable {
		shown = registry.Shorten(address.String(), maxExcerpt)
	}
	return nil, &Failure{Cause: registry.Auth, Detail: "the address " + shown + " is not https, so no secret was sent there"}
}

// isLocal reports whether an address is plain HTTP that stays on this machine.
func isLocal(address *url.URL) bool {
	if address.Scheme != "http" {
		return false
	}
	if strings.EqualFold(address.Hostname(), "localhost") {
		return true
	}
	host, err := netip.ParseAddr(address.Hostname())
	return err == nil && host.Unmap().IsLoopback()
}
