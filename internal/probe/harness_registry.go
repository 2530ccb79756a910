package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of what one probe takes from an OCI registry.
const (
	MaxManifest      = 4 << 20   // bytes of one manifest or index
	MaxRegistryBytes = 128 << 20 // bytes of all answers together
	MaxRedirects     = 3         // followed for one answer
)

// errAbsent says that the registry does not have what it was asked for.
var errAbsent = errors.New("the registry does not have it")

// imageRegistry is what a probe asks of the registry of one image. It is for one
// probe and one goroutine.
type imageRegistry struct {
	image  registry.ImageReference
	client *http.Client
	wire   *registryWire
}

// openRegistry greets the registry and proves who we are in the way that it
// demands. An error is a *mcpwire.Failure. Close it in the end.
func openRegistry(ctx context.Context, image registry.ImageReference, wanted registry.ImageCredentials, settings Settings) (*imageRegistry, error) {
	host, err := name.NewRegistry(image.Registry)
	if err != nil {
		return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: "the registry of the image cannot be understood: " + err.Error()}
	}
	proof, err := authenticator(ctx, host, wanted, settings)
	if err != nil {
		return nil, err
	}
	wire := &registryWire{carrier: settings.outlet.RoundTripper(), redactor: settings.outlet.Redactor, agent: clientName + "/" + settings.Version}
	wire.left.Store(MaxRegistryBytes)
	signed, err := transport.NewWithContext(ctx, host, proof, wire, []string{host.Repo(image.Repository).Scope(transport.PullScope)})
	if err != nil {
		wire.carrier.CloseIdleConnections()
		failure := unopened(ctx, err)
		if plain := wire.plain.Load(); plain != nil && failure.Cause == registry.TLS { // it was greeted in both ways
			failure = plain
		}
		return nil, failure
	}
	return &imageRegistry{image: image, wire: wire, client: &http.Client{Transport: signed, CheckRedirect: leave}}, nil
}

// leave lets a registry hand an answer over to another address, as those that
// keep blobs elsewhere do: without the credentials, which are for the registry
// alone, and by the rules of the network, which hold for every connection.
func leave(next *http.Request, before []*http.Request) error {
	if len(before) > MaxRedirects {
		return &mcpwire.Failure{Cause: registry.Redirect, Detail: fmt.Sprintf("the registry redirects more than %d times", MaxRedirects)}
	}
	next.Header.Del("Authorization")
	return nil
}

// unopened is why the registry could not be greeted.
func unopened(ctx context.Context, err error) *mcpwire.Failure {
	failure, failed := errors.AsType[*mcpwire.Failure](err)
	answer, answered := errors.AsType[*transport.Error](err)
	if failed && (failure.Cause != registry.TLS || !answered || answer.StatusCode == http.StatusBadRequest) {
		return failure // a server that speaks TLS answers what is in the clear with 400
	}
	if answered {
		detail := fmt.Sprintf("status %d while asking for access", answer.StatusCode)
		if len(answer.Errors) > 0 {
			detail += ": " + answer.Errors[0].String()
		}
		return &mcpwire.Failure{Cause: registry.StatusCause(answer.StatusCode), Detail: registry.Shorten(detail, registry.MaxDetail)}
	}
	if ctx.Err() != nil {
		return mcpwire.Explain(ctx, err)
	}
	reason, _, _ := strings.Cut(err.Error(), "\n") // what follows is the answer of a token service, tokens and all
	return &mcpwire.Failure{Cause: registry.Auth, Detail: registry.Shorten("what the registry demands cannot be met: "+strings.TrimSuffix(reason, ":"), registry.MaxDetail)}
}

func (r *imageRegistry) close() {
	r.client.CloseIdleConnections()
	r.wire.carrier.CloseIdleConnections()
}

// manifest asks for a manifest or an index by tag or digest. What has another
// digest than the one asked for is refused. Errors: errAbsent, *mcpwire.Failure.
func (r *imageRegistry) manifest(ctx context.Context, reference string) (manifest, error) {
	body, err := r.get(ctx, "manifests/"+reference, MaxManifest, manifestTypes)
	if err != nil {
		return manifest{}, err
	}
	got := manifest{digest: digestOf(body)}
	if registry.IsImageDigest(reference) && got.digest != reference {
		return manifest{}, &mcpwire.Failure{Cause: registry.MissingImage, Detail: "what the registry gives for " + reference + " has the digest " + got.digest}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return manifest{}, &mcpwire.Failure{Cause: registry.NotJSON, Detail: "the manifest " + reference + " is not a JSON object"}
	}
	return got, nil
}

// blob asks for a blob of at most limit bytes. Errors: errAbsent, *mcpwire.Failure.
func (r *imageRegistry) blob(ctx context.Context, digest string, limit int64) ([]byte, error) {
	if !registry.IsImageDigest(digest) {
		return nil, &mcpwire.Failure{Cause: registry.NotJSON, Detail: "a layer has no digest of the form sha256:..."}
	}
	body, err := r.get(ctx, "blobs/"+digest, limit, "*/*")
	if err == nil && digestOf(body) != digest {
		err = &mcpwire.Failure{Cause: registry.NotJSON, Detail: "what the registry gives for the blob " + digest + " has another digest"}
	}
	return body, err
}

func (r *imageRegistry) get(ctx context.Context, path string, limit int64, accept string) ([]byte, error) {
	address := "https://" + r.image.Registry + "/v2/" + r.image.Repository + "/" + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: "the address of the image cannot be formed"}
	}
	request.Header.Set("Accept", accept)
	exchange, err := mcpwire.Do(ctx, r.client, request)
	if err != nil {
		if answer, ok := errors.AsType[*transport.Error](err); ok { // to the renewal of a token
			return nil, unopened(ctx, answer)
		}
		return nil, err
	}
	defer exchange.Close()
	if exchange.Response.StatusCode == http.StatusNotFound {
		return nil, errAbsent
	}
	if err := exchange.Refusal(); err != nil {
		return nil, err
	}
	body, err := exchange.ReadAll(ctx, limit)
	if errors.Is(err, mcpwire.ErrBroken) {
		return nil, &mcpwire.Failure{Cause: registry.Unreachable, Detail: err.Error()}
	}
	return body, err
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// authenticator has the credentials in the clear; the redactor is told them.
func authenticator(ctx context.Context, host name.Registry, wanted registry.ImageCredentials, settings Settings) (authn.Authenticator, error) {
	var made authn.AuthConfig
	for _, each := range []struct {
		what   string
		secret registry.Secret
		into   *string
	}{
		{"the bearer token", wanted.Bearer, &made.RegistryToken},
		{"the user", wanted.Username, &made.Username},
		{"the password", wanted.Password, &made.Password},
	} {
		text, err := each.secret.Reveal(settings.Resolve)
		if err != nil {
			return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: registry.Shorten(fmt.Sprintf("%s cannot be had: %v", each.what, err), registry.MaxDetail)}
		}
		*each.into = text
	}
	if wanted.Keychain {
		stored, err := fromKeychain(ctx, host)
		if err != nil {
			return nil, err
		}
		made = *stored
	}
	secrets := []string{made.RegistryToken, made.Password, made.IdentityToken, made.Auth}
	if wanted.Username.Reference() != "" { // a user who stands in the file is no secret
		secrets = append(secrets, made.Username)
	}
	for _, secret := range secrets {
		settings.outlet.Redactor.AddCredential(secret)
	}
	if made == (authn.AuthConfig{}) {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(made), nil
}

// fromKeychain is what docker login has stored for the registry; empty when that
// is nothing. A program that keeps it is waited for until ctx ends; one that then
// still hangs is left to itself.
func fromKeychain(ctx context.Context, host name.Registry) (*authn.AuthConfig, error) {
	type answer struct {
		stored *authn.AuthConfig
		err    error
	}
	came := make(chan answer, 1)
	go func() {
		found, err := authn.DefaultKeychain.Resolve(host)
		if err != nil {
			came <- answer{nil, err}
			return
		}
		stored, err := found.Authorization()
		came <- answer{stored, err}
	}()
	select {
	case got := <-came:
		if got.err != nil {
			return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: registry.Shorten("the Docker keychain cannot be read: "+got.err.Error(), registry.MaxDetail)}
		}
		return got.stored, nil
	case <-ctx.Done():
		return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: "the Docker keychain did not answer in time"}
	}
}

// registryWire is where all requests to a registry, its token service and what
// they redirect to pass: it tells the redactor what proves who we are, sends
// nothing in the clear to another machine, and counts the bytes that come back.
type registryWire struct {
	carrier  mcpwire.RoundTripper
	redactor *mcpwire.Redactor
	agent    string
	left     atomic.Int64
	plain    atomic.Pointer[mcpwire.Failure] // of the last request in the clear that had no answer
}

// RoundTrip implements http.RoundTripper. An error is a *mcpwire.Failure.
func (w *registryWire) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !isThisMachine(request.URL.Hostname()) {
		return nil, &mcpwire.Failure{Cause: registry.TLS, Detail: registry.Shorten("nothing is sent to "+request.URL.Hostname()+" in the clear; http is for this machine only", registry.MaxDetail)}
	}
	if _, credential, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		w.redactor.AddCredential(credential)
	}
	ctx := request.Context()
	if request.Method == http.MethodPost || request.URL.Query().Has("scope") { // as only the token service is asked
		ctx = mcpwire.ForTokens(ctx)
	}
	request = request.Clone(ctx)
	request.Header.Set("User-Agent", w.agent)
	response, err := w.carrier.RoundTrip(request)
	if failure, ok := errors.AsType[*mcpwire.Failure](err); ok && request.URL.Scheme != "https" {
		w.plain.Store(failure)
	}
	if err != nil {
		return nil, err
	}
	response.Body = &countedBody{response.Body, &w.left}
	return response, nil
}

// isThisMachine reports whether a host is a loopback address.
func isThisMachine(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

// countedBody is a body that draws on what a probe may still read.
type countedBody struct {
	io.ReadCloser

	left *atomic.Int64
}

// Read fails with a *mcpwire.Failure once the bytes are spent.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left.Add(int64(-n)) < 0 {
		return 0, &mcpwire.Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the answers are larger than %d bytes together", MaxRegistryBytes)}
	}
	return n, err
}
