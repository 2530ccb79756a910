package registry

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Kind says what a component is, and so how it is proven.
type Kind string

// MCPServer is proven by the three gates.
const MCPServer Kind = "mcp_server"

// Protocol is the profile of a server that offers nothing but MCP: g1 asks
// whether it is alive, and g2 is its canary.
const Protocol Profile = "protocol"

// MaxName is how many characters the name of a component has at most.
const MaxName = 64

// IsName reports whether a text has the form of a component's name, which is
// that of an agent's id: ^[a-z0-9][a-z0-9._-]{0,63}$.
func IsName(text string) bool {
	const first, further = "abcdefghijklmnopqrstuvwxyz0123456789", "._-"
	return text != "" && len(text) <= MaxName &&
		strings.Contains(first, text[:1]) && strings.Trim(text, first+further) == ""
}

// Component is a registered thing that a run depends on. Exactly one of URL and
// Command is set. Its name and, in a component that a client's file declares,
// every text of it is untrusted.
type Component struct {
	Name string
	Kind Kind

	// URL is the base address of the gates in the profile three-gates, and the MCP
	// endpoint itself in the profile protocol. It holds no user and no password;
	// the query of an endpoint may hold a key and is not to be shown.
	URL string
	// MCPURL is the MCP endpoint in the profile three-gates; empty for URL/mcp.
	MCPURL string

	Command []string          // the program and its arguments, started without a shell
	Env     map[string]Secret // added to the environment of the program
	Dir     string            // its working directory, absolute; empty for that of Countersign

	Profile      Profile
	Timeout      time.Duration // for each gate; 0 when the file states none
	Interval     time.Duration // from probe to probe; 0 when the file states none
	Credentials  Credentials
	RequireTools []string // tools that g3 must find, apart from finding any
	ExpectServer string   // the name that the server must give itself; empty for any
	Canary       *Canary  // nil when none is declared
	Private      []Secret // what else of it may be secret, such as a key in the query of its address
}

// Secrets returns every secret of the component, in a stable order: what a
// transcript must be cleaned of.
func (c *Component) Secrets() []Secret {
	var secrets []Secret
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		secrets = append(secrets, c.Env[name])
	}
	return append(append(secrets, c.Credentials.Secrets()...), c.Private...)
}

// Credentials are what a component demands of those who call it. At most one of
// Bearer and OAuth is set; neither stands beside a header Authorization. They
// are sent to the origin of the component's address only.
type Credentials struct {
	Bearer  Secret            // sent as "Authorization: Bearer ..."
	Headers map[string]Secret // by canonical name
	OAuth   *OAuth            // nil when there is none

	ClientCert Secret // a PEM certificate chain for TLS; set if and only if ClientKey is
	ClientKey  Secret // its PEM private key
}

// IsZero reports whether the component demands nothing.
func (c Credentials) IsZero() bool {
	return c.Bearer.IsZero() && len(c.Headers) == 0 && c.OAuth == nil && c.ClientCert.IsZero()
}

// Secrets returns every secret among the credentials, in a stable order.
func (c Credentials) Secrets() []Secret {
	var secrets []Secret
	add := func(secret Secret) {
		if !secret.IsZero() {
			secrets = append(secrets, secret)
		}
	}
	add(c.Bearer)
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		add(c.Headers[name])
	}
	if c.OAuth != nil {
		add(c.OAuth.ClientSecret)
	}
	add(c.ClientKey)
	return secrets
}

// OAuth is the client credentials grant (RFC 6749, section 4.4). The issuer is
// pinned: a target that names another one receives nothing of the secret.
type OAuth struct {
	Issuer       string // https, or http on loopback
	TokenURL     string // empty when the issuer's metadata (RFC 8414) tells it
	ClientID     string
	ClientSecret Secret
	Scopes       []string
}
