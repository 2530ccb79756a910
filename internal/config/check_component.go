package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

func (c *checker) component(name string, written component) registry.Component {
	p := path("components").child(name)
	unread := c.broken[p]
	c.named(p, name)
	if unread || written.own == nil {
		return registry.Component{}
	}
	shared := written.shared
	made := registry.Component{
		Name:            name,
		Spec:            written.own.spec(c, p),
		Timeout:         c.duration(p.child("timeout"), shared.Timeout, 1, registry.MaxTimeout),
		Interval:        c.duration(p.child("interval"), shared.Interval, minInterval, maxInterval),
		TTL:             c.duration(p.child("ttl"), shared.TTL, minInterval, maxTTL),
		ProbingDeadline: c.duration(p.child("probing_deadline"), shared.ProbingDeadline, minInterval, maxTTL),
		Rise:            c.number(p.child("rise"), shared.Rise, maxInARow),
		Fall:            c.number(p.child("fall"), shared.Fall, maxInARow),
	}
	if every := made.Policy().Interval; made.TTL > 0 && made.TTL < every && !c.broken[p.child("ttl")] && !c.broken[p.child("interval")] {
		c.complain(p.child("ttl"), fmt.Sprintf("a result would not count until the next probe, %v later", every),
			"Write a time that is longer than the interval, such as three intervals.")
	}
	return made
}

// address is an absolute http or https URL without credentials.
func (c *checker) address(p path, text string) string {
	if !c.has(p) || c.text(p, text) == "" {
		return ""
	}
	const hint = "Write it in full, such as http://127.0.0.1:8080."
	parsed, err := url.Parse(text)
	if err != nil && strings.ContainsAny(text, "@?") || err == nil && strings.Contains(text, "@") && (parsed.User != nil || parsed.Opaque != "") {
		c.keepSecret(p, text)
	}
	switch {
	case err != nil:
		c.complain(p, "this is not a URL", hint)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		c.complain(p, "this is not an address that begins with http:// or https://", hint)
	case parsed.User != nil:
		c.complain(p, "the address holds credentials", "Leave out what stands before the @, and name it in credentials as env:NAME or file:PATH.")
	case parsed.Hostname() == "":
		c.complain(p, "the address names no host", hint)
	case parsed.Fragment != "":
		c.complain(p, "the address has a fragment, which is never sent", "Leave out the # and what follows.")
	default:
		return text
	}
	return ""
}

// safeAddress is an address to which a secret may be sent: nobody on the way can
// read it.
func (c *checker) safeAddress(p path, text string) string {
	text = c.address(p, text)
	if text != "" && !confidential(text) {
		c.complain(p, "a secret would be sent there in the clear", "Use https; http is for addresses of this machine only.")
	}
	return text
}

// confidential reports whether what is sent to a URL cannot be read on the way.
func confidential(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil {
		return false
	}
	return parsed.Scheme == "https" || loopback(parsed.Hostname())
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	literal, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && literal.Unmap().IsLoopback()
}

// database is the database of serve.
func (c *checker) database(text secretText) registry.Secret {
	const p = path("db")
	if c.text(p, string(text)) == "" {
		return registry.Secret{}
	}
	if isReference(string(text)) {
		return c.secret(p, text)
	}
	if strings.HasPrefix(string(text), "postgres://") || strings.HasPrefix(string(text), "postgresql://") {
		parsed, err := url.Parse(string(text))
		hasPassword := err != nil
		if err == nil {
			_, inUser := parsed.User.Password()
			hasPassword = inUser || slices.ContainsFunc([]string{"password", "sslpassword"}, parsed.Query().Has)
		}
		if hasPassword {
			c.keepSecret(p, string(text))
			c.complain(p, "the URL holds a password, or cannot be read", "Put the whole URL elsewhere and name it: db: env:NAME or db: file:PATH.")
		}
		return registry.SecretText(string(text))
	}
	return registry.SecretText(filepath.Clean(c.within(p, string(text))))
}
