package mcpwire

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Credentials are what the requests of one probe carry, in the clear. They are
// sent to one origin (RFC 6454: scheme, host and port) and to no other, so that
// no redirect, stream or page can have them. All gates of a probe share them.
type Credentials struct {
	origin      string
	carried     carried
	certificate *tls.Certificate // presented on request; nil for none
	token       *tokenSource     // nil without OAuth
	failure     *Failure         // why they cannot be had; then no request leaves
}

// credentialHeader is a header and what stands for it in a transcript.
type credentialHeader struct {
	name, value string
	shown       string            // what of the value may be shown: the scheme
	variable    registry.Variable // what stands for the rest
}

// carried are the credentials of one request.
type carried struct {
	headers []credentialHeader
	files   []credentialFile
}

// credentialFile is a file that holds what TLS needs, as curl is to be told.
type credentialFile struct {
	flag     string
	path     string            // empty when it is in no file
	variable registry.Variable // stands for the path of one that is to be made
}

// Resolution says whose credentials are to be read, and how.
type Resolution struct {
	Wanted   registry.Credentials
	Address  *url.URL // they are sent to its origin
	Resource *url.URL // the MCP endpoint, which a token is asked for (RFC 8707)
	Resolve  func(reference string) (string, error)
	Redactor *Redactor // is told every secret that is read
}

// Credentials reads the secrets for one probe. It never fails: when one cannot
// be had, no request leaves, and each has failed with the cause not_configured
// and the reference.
func (r Resolution) Credentials() *Credentials {
	made := &Credentials{origin: originOf(r.Address)}
	for _, read := range []func(*Credentials) error{r.readHeaders, r.readOAuth, r.readCertificate} {
		if err := read(made); err != nil {
			made.failure = &Failure{
				Cause: registry.NotConfigured, Detail: registry.Shorten(r.Redactor.Clean(err.Error()), registry.MaxDetail),
			}
			break
		}
	}
	return made
}

// reveal reads one secret; what is to be found in it is said by use.
func (r Resolution) reveal(use string, secret registry.Secret) (string, error) {
	text, err := secret.Reveal(r.Resolve)
	if err != nil {
		if coded, ok := fault.Of(err); ok {
			return "", fmt.Errorf("%s: %s", use, coded.Message)
		}
		return "", fmt.Errorf("%s: %w", use, err)
	}
	r.Redactor.AddCredential(text)
	return text, nil
}

func (r Resolution) readHeaders(made *Credentials) error {
	if !r.Wanted.Bearer.IsZero() {
		token, err := r.reveal("the bearer token", r.Wanted.Bearer)
		if err != nil {
			return err
		}
		stands := variableOf(r.Wanted.Bearer, "BEARER", "the bearer token")
		if err := made.add("Authorization", bearer, token, stands); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Wanted.Headers)) {
		secret := r.Wanted.Headers[name]
		value, err := r.reveal("the header "+name, secret)
		if err != nil {
			return err
		}
		scheme := ""
		if before, after, ok := strings.Cut(value, " "); ok && secret.Reference() == "" && isScheme(before) {
			scheme, value = before+" ", after
			r.Redactor.AddCredential(value)
		}
		if err := made.add(name, scheme, value, variableOf(secret, name, "the header "+name)); err != nil {
			return err
		}
	}
	return nil
}

const bearer = "Bearer "

// isScheme reports whether a word can be an authentication scheme (RFC 9110,
// section 11.1), such as Bearer.
func isScheme(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	})
}

// add takes in a header that HTTP permits.
func (c *Credentials) add(name, scheme, secret string, stands registry.Variable) error {
	if strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("%s (%s) holds characters that no header may have", stands.Means, stands.Name)
	}
	c.carried.headers = append(c.carried.headers, credentialHeader{
		name: http.CanonicalHeaderKey(name), value: scheme + secret, shown: scheme, variable: stands,
	})
	return nil
}

// variableOf names the variable that stands for a secret: that of its reference,
// or else one made from the words.
func variableOf(secret registry.Secret, otherwise, means string) registry.Variable {
	name, fromEnvironment := strings.CutPrefix(secret.Reference(), "env:")
	if !fromEnvironment {
		name = otherwise
	}
	if secret.Reference() != "" {
		means = secret.Reference()
	}
	return registry.Variable{Name: shellName(name), Means: means}
}

func (r Resolution) readCertificate(made *Credentials) error {
	if r.Wanted.ClientCert.IsZero() {
		return nil
	}
	// A certificate is shown to whoever asks, so it is not hidden.
	chain, err := r.Wanted.ClientCert.Reveal(r.Resolve)
	if err != nil {
		return fmt.Errorf("the client certificate: %w", err)
	}
	key, err := r.reveal("the key of the client certificate", r.Wanted.ClientKey)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		return fmt.Errorf("the client certificate at %v and its key at %v do not serve: %w", r.Wanted.ClientCert, r.Wanted.ClientKey, err)
	}
	made.certificate = &pair
	made.carried.files = []credentialFile{
		fileOf("--cert", r.Wanted.ClientCert, "CLIENT_CERT"), fileOf("--key", r.Wanted.ClientKey, "CLIENT_KEY"),
	}
	return nil
}

func fileOf(flag string, secret registry.Secret, name string) credentialFile {
	path, _ := strings.CutPrefix(secret.Reference(), "file:")
	if path == secret.Reference() {
		path = ""
	}
	return credentialFile{flag, path, registry.Variable{Name: name, Means: "a file with what is at " + secret.String()}}
}

// originOf writes scheme, host and port so that equal origins are equal.
func originOf(address *url.URL) string {
	scheme, port := strings.ToLower(address.Scheme), address.Port()
	switch {
	case port != "":
	case scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return scheme + "://" + net.JoinHostPort(strings.TrimSuffix(strings.ToLower(address.Hostname()), "."), port)
}

// belong reports whether an address may have the credentials.
func (c *Credentials) belong(address *url.URL) bool { return c != nil && originOf(address) == c.origin }

// sign returns the request with what the origin demands. An error is a *Failure.
func (c *Credentials) sign(request *http.Request, outlet Outlet) (*http.Request, carried, error) {
	switch {
	case c == nil:
		return request, carried{}, nil
	case c.failure != nil:
		return nil, carried{}, c.failure
	case !c.belong(request.URL):
		return request, carried{}, nil
	}
	with := c.carried
	if c.token != nil {
		token, err := c.token.have(request.Context(), outlet)
		if err != nil {
			return nil, carried{}, err
		}
		with.headers = append(slices.Clone(with.headers), token)
	}
	signed := request.Clone(request.Context())
	for _, header := range with.headers {
		signed.Header.Set(header.name, header.value)
	}
	return signed, with, nil
}
