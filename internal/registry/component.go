package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxName is how many characters the name of a component has at most.
const MaxName = 64

// IsName reports whether a text has the form of a component's name, which is
// that of an agent's id: ^[a-z0-9][a-z0-9._-]{0,63}$.
func IsName(text string) bool {
	const first, further = "abcdefghijklmnopqrstuvwxyz0123456789", "._-"
	return text != "" && len(text) <= MaxName &&
		strings.Contains(first, text[:1]) && strings.Trim(text, first+further) == ""
}

// Component is a registered thing that a run depends on. Its name and, in one
// that a client's file declares, every text of it is untrusted.
type Component struct {
	Name string
	Spec Spec // what it is, by its kind

	Timeout         time.Duration // for each gate or request of a probe; 0 for the default of the kind
	Interval        time.Duration // from probe to probe; 0 for DefaultInterval
	TTL             time.Duration // how long a result counts; 0 for DefaultTTLIntervals intervals
	ProbingDeadline time.Duration // how long it may be probing; 0 for its time to live
	Rise, Fall      int           // passes or failures in a row that change the status; 0 for 1
}

// Kind is that of its Spec.
func (c *Component) Kind() Kind { return c.Spec.Kind() }

// Spec is what a component of one kind is beyond what all have. Its JSON is what
// a result is about, without secrets: see Component.Definition.
type Spec interface {
	Kind() Kind
	// Secrets returns every secret of it, in a stable order: what a transcript
	// must be cleaned of.
	Secrets() []Secret
	// Host names what its probes burden: components of one host share a limit.
	Host() string
}

// Definition is a digest of what a component is: "sha256:" and hexadecimal
// digits. When it changes, earlier results say nothing about the component.
// Intervals, thresholds and the texts of secrets are no part of it.
func (c *Component) Definition() (string, error) {
	document, err := json.Marshal(struct {
		Kind Kind `json:"kind"`
		Spec Spec `json:"spec"`
	}{c.Kind(), c.Spec})
	if err != nil {
		return "", fmt.Errorf("write the definition of %s as JSON: %w", c.Name, err)
	}
	sum := sha256.Sum256(document)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// The defaults of a component.
const (
	DefaultInterval     = 30 * time.Second
	DefaultTTLIntervals = 3
)

// Policy is how the results of the component become a status, with every default
// filled in.
func (c *Component) Policy() Policy {
	p := Policy{Rise: max(c.Rise, 1), Fall: max(c.Fall, 1), Interval: cmp.Or(c.Interval, DefaultInterval)}
	p.TTL = cmp.Or(c.TTL, DefaultTTLIntervals*p.Interval)
	p.ProbingDeadline = cmp.Or(c.ProbingDeadline, p.TTL)
	return p
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
