package config

import (
	"net/textproto"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

const referenceHint = "Put it into an environment variable or a file, and write env:NAME or file:PATH here."

func (c *checker) credentials(p path, written credentials) registry.Credentials {
	made := registry.Credentials{
		Bearer:     c.secret(p.child("bearer"), written.Bearer),
		ClientCert: c.secret(p.child("client_cert"), written.ClientCert),
		ClientKey:  c.secret(p.child("client_key"), written.ClientKey),
		OAuth:      c.oauth(p.child("oauth"), written.OAuth),
	}
	for _, key := range inOrder(c, p.child("headers"), written.Headers) {
		at := p.child("headers").child(key)
		canonical := textproto.CanonicalMIMEHeaderKey(key)
		switch _, twice := made.Headers[canonical]; {
		case !isToken(key):
			c.complainOfKey(at, "this is not the name of a header", "A name has letters, digits and dashes.")
		case reserved(canonical):
			c.complainOfKey(at, "the probe sets the header "+canonical+" itself", "Leave it out.")
		case twice:
			c.complainOfKey(at, "the header "+canonical+" stands here a second time", "Keep one.")
		}
		if made.Headers == nil {
			made.Headers = map[string]registry.Secret{}
		}
		made.Headers[canonical] = c.secret(at, written.Headers[key])
	}
	c.alternatives(p, made)
	return made
}

// alternatives refuses two ways to fill one header, and half a client certificate.
func (c *checker) alternatives(p path, made registry.Credentials) {
	var ways []string
	for _, key := range []string{"bearer", "oauth"} {
		if c.has(p.child(key)) {
			ways = append(ways, key)
		}
	}
	if _, ok := made.Headers["Authorization"]; ok {
		ways = append(ways, "the header Authorization")
	}
	if len(ways) > 1 {
		c.complainOfKey(p, strings.Join(ways, " and ")+" exclude each other", "Keep one.")
	}
	switch hasCert, hasKey := c.has(p.child("client_cert")), c.has(p.child("client_key")); {
	case hasCert && !hasKey:
		c.complainOfKey(p.child("client_cert"), "client_cert needs client_key", "Add client_key: file:PATH.")
	case hasKey && !hasCert:
		c.complainOfKey(p.child("client_key"), "client_key needs client_cert", "Add client_cert: file:PATH.")
	}
}

func (c *checker) oauth(p path, written *oauth) *registry.OAuth {
	if !c.has(p) || written == nil {
		if c.has(p) {
			c.complain(p, "there is nothing in oauth", "Add issuer, client_id and client_secret.")
		}
		return nil
	}
	c.required(p, "issuer", "client_id", "client_secret")
	return &registry.OAuth{
		Issuer:       c.safeAddress(p.child("issuer"), written.Issuer),
		TokenURL:     c.safeAddress(p.child("token_url"), written.TokenURL),
		ClientID:     c.text(p.child("client_id"), written.ClientID),
		ClientSecret: c.secret(p.child("client_secret"), written.ClientSecret),
		Scopes:       c.texts(p.child("scopes"), written.Scopes),
	}
}

// secret wants a reference, and never repeats what is none.
func (c *checker) secret(p path, text secretText) registry.Secret {
	if !c.has(p) || c.broken[p] {
		return registry.Secret{}
	}
	if !isReference(string(text)) {
		c.keepSecret(p, string(text))
		c.complain(p, "a secret stands here in the open", referenceHint)
		return registry.Secret{}
	}
	return c.reference(p, string(text))
}

// secretOrText is a reference, or else a text that stands for itself.
func (c *checker) secretOrText(p path, text string) registry.Secret {
	if isReference(text) {
		return c.reference(p, text)
	}
	if strings.ContainsRune(text, 0) {
		c.complain(p, "the value has a NUL character", "Remove it.")
	}
	return registry.SecretText(text)
}

// reference checks what a reference names; a path is made absolute.
func (c *checker) reference(p path, text string) registry.Secret {
	scheme, named, _ := strings.Cut(text, ":")
	switch {
	case named == "" || strings.TrimSpace(named) != named:
		c.complain(p, "the reference names nothing, or has space around the name", "Write env:NAME or file:PATH.")
		return registry.Secret{}
	case scheme == schemeFile:
		text = schemeFile + ":" + c.within(p, named)
	case strings.ContainsAny(named, "= \t"):
		c.complain(p, "this is not the name of a variable", "Write env:NAME.")
	}
	made := registry.SecretAt(text)
	c.references = append(c.references, reference{secret: made, path: p})
	return made
}

// keepSecret masks a value wherever it occurs in what is said about the file.
func (c *checker) keepSecret(p path, text string) {
	c.hidden = append(c.hidden, span{c.places[p].value, c.places[p].end})
	c.keep(text)
}

// isToken reports whether text is a token of RFC 9110.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// reserved reports whether the probe or HTTP itself sets a header.
func reserved(canonical string) bool {
	switch canonical {
	case "Accept", "Connection", "Content-Length", "Content-Type", "Host", "Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(canonical, "Mcp-")
}
