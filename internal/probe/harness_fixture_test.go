package probe_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	oci "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ofHarness is when the probes of the tests of harnesses take place.
var ofHarness = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// pushed is an image in a registry of the tests.
type pushed struct {
	repository name.Repository
	image      *v1.Descriptor
	spec       registry.Harness
}

// ociRegistry starts the registry of go-containerregistry behind what wraps it.
func ociRegistry(t *testing.T, wrap func(http.Handler) http.Handler, options ...oci.Option) *httptest.Server {
	t.Helper()
	handler := oci.New(append(options, oci.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))...)
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// push puts an image of one layer into a registry, and returns it as a component
// pins it: with what a scan must show by default.
func push(t *testing.T, host string) *pushed {
	t.Helper()
	repository, err := name.NewRepository(strings.TrimPrefix(host, "http://") + "/tools/scanner")
	must(t, err)
	image, err := random.Image(64, 1)
	must(t, err)
	must(t, remote.Write(repository.Tag("v1"), image))
	about, err := partial.Descriptor(image)
	must(t, err)
	return &pushed{repository: repository, image: about, spec: registry.Harness{
		Image: repository.Name() + "@" + about.Digest.String(),
		Scan:  registry.Scan{MaxAge: 7 * 24 * time.Hour},
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *pushed) digest() string { return p.image.Digest.String() }

// attach attaches a document to the image as an OCI referrer.
func (p *pushed) attach(t *testing.T, mediaType, document string) {
	t.Helper()
	made := layered(t, mutate.Addendum{Layer: static.NewLayer([]byte(document), types.MediaType(mediaType))})
	made = mutate.ConfigMediaType(made, types.MediaType(mediaType))
	about, ok := mutate.Subject(made, *p.image).(v1.Image)
	if !ok {
		t.Fatal("no image")
	}
	digest, err := about.Digest()
	must(t, err)
	must(t, remote.Write(p.repository.Digest(digest.String()), about))
}

// keep puts layers under the tag that is made of the image's digest, as cosign does.
func (p *pushed) keep(t *testing.T, suffix string, layers ...mutate.Addendum) {
	t.Helper()
	tag := p.repository.Tag(strings.Replace(p.digest(), ":", "-", 1) + suffix)
	must(t, remote.Write(tag, layered(t, layers...)))
}

func layered(t *testing.T, layers ...mutate.Addendum) v1.Image {
	t.Helper()
	made, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	must(t, err)
	return made
}

// probed examines the image.
func (p *pushed) probed(t *testing.T, adjust ...func(*probe.Settings)) *registry.HarnessResult {
	t.Helper()
	with := settings(generous)
	with.Now = func() time.Time { return ofHarness }
	for _, each := range adjust {
		each(&with)
	}
	got, ok := probe.Examine(t.Context(), &registry.Component{Name: "scanner-image", Spec: &p.spec}, with).(*registry.HarnessResult)
	if !ok {
		t.Fatal("the result is of another kind")
	}
	document, _, err := probe.Recorded(got)
	must(t, err)
	read, err := registry.DecodeResult(registry.KindHarness, document)
	if err != nil || read.Passed() != got.Passed() {
		t.Fatalf("the document of the result is read as another one: %v\n%s", err, document)
	}
	return got
}

// checkHarness wants a result to pass, or to have failed for these causes.
func checkHarness(t *testing.T, got *registry.HarnessResult, causes ...registry.Cause) {
	t.Helper()
	summary := got.Summary()
	if fmt.Sprint(summary.Causes) != fmt.Sprint(append([]registry.Cause{}, causes...)) || got.Passed() != (len(causes) == 0) {
		t.Errorf("passed is %v for %v (%s), want the causes %v", got.Passed(), summary.Causes, got.Error(), causes)
	}
}

// trivy is a report of Trivy. Its defaults pass.
type trivy struct {
	age      time.Duration
	digest   string
	packages int
	eosl     bool
	noSystem bool     // the scanner has no result for it
	found    []string // "ID SEVERITY"
}

func (r trivy) json() string {
	packages := make([]map[string]string, r.packages)
	for i := range packages {
		packages[i] = map[string]string{"Name": fmt.Sprint("p", i)}
	}
	vulnerabilities := []map[string]string{}
	for _, each := range r.found {
		id, severity, _ := strings.Cut(each, " ")
		vulnerabilities = append(vulnerabilities, map[string]string{
			"VulnerabilityID": id, "Severity": severity, "PkgName": "openssl", "InstalledVersion": "3.0.1", "FixedVersion": "3.0.9",
		})
	}
	class := "os-pkgs"
	if r.noSystem {
		class = "lang-pkgs"
	}
	var digests []string
	if r.digest != "" {
		digests = []string{"registry.example/tools/scanner@" + r.digest}
	}
	return asJSON(map[string]any{
		"SchemaVersion": 2, "CreatedAt": ofHarness.Add(-r.age).Format(time.RFC3339Nano), "ArtifactName": "scanner",
		"Metadata": map[string]any{
			"OS": map[string]any{"Family": "debian", "Name": "12.8", "EOSL": r.eosl}, "RepoDigests": digests,
		},
		"Results": []any{map[string]any{"Class": class, "Type": "debian", "Packages": packages, "Vulnerabilities": vulnerabilities}},
	})
}

func asJSON(value any) string {
	document, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(document)
}

// statement is an in-toto statement about an image, in an envelope as cosign
// stores one.
func statement(digest, predicateType string, predicate any) string {
	_, hex, _ := strings.Cut(digest, ":")
	payload := asJSON(map[string]any{
		"_type":         "https://in-toto.io/Statement/v0.1",
		"subject":       []any{map[string]any{"name": "scanner", "digest": map[string]string{"sha256": hex}}},
		"predicateType": predicateType, "predicate": predicate,
	})
	return asJSON(map[string]any{
		"payloadType": "application/vnd.in-toto+json", "payload": base64.StdEncoding.EncodeToString([]byte(payload)),
		"signatures": []any{map[string]string{"keyid": "", "sig": "c2ln"}},
	})
}

// vulnerabilities is the predicate of cosign, or with a list of findings that of
// in-toto.
func vulnerabilities(scan, database time.Duration, result any) map[string]any {
	return map[string]any{
		"scanner": map[string]any{
			"uri": "pkg:github/aquasecurity/trivy@v0.68.0", "version": "v0.68.0",
			"db":     map[string]string{"lastUpdate": ofHarness.Add(-database).Format(time.RFC3339)},
			"result": result,
		},
		"metadata": map[string]string{
			"scanStartedOn":  ofHarness.Add(-scan - time.Minute).Format(time.RFC3339),
			"scanFinishedOn": ofHarness.Add(-scan).Format(time.RFC3339),
		},
	}
}

func attestation(document string) mutate.Addendum {
	return mutate.Addendum{
		Layer:       static.NewLayer([]byte(document), "application/vnd.dsse.envelope.v1+json"),
		Annotations: map[string]string{"predicateType": "https://cosign.sigstore.dev/attestation/vuln/v1", "dev.cosignproject.cosign/signature": ""},
	}
}

// signature is one over a digest, laid out as cosign does.
func signature(t *testing.T, key crypto.Signer, digest string) mutate.Addendum {
	t.Helper()
	payload := []byte(fmt.Sprintf(`{"critical":{"identity":{"docker-reference":"tools/scanner"},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest))
	message, options := payload, crypto.SignerOpts(crypto.Hash(0))
	if _, isEd := key.(ed25519.PrivateKey); !isEd {
		sum := sha256.Sum256(payload)
		message, options = sum[:], crypto.SHA256
	}
	raw, err := key.Sign(rand.Reader, message, options)
	must(t, err)
	return mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(raw)},
	}
}

// bundle is a signature over a digest as cosign has it from version 3.
func bundle(t *testing.T, key crypto.Signer, digest, predicateType string) string {
	t.Helper()
	const payloadType = "application/vnd.in-toto+json"
	payload := asJSON(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": predicateType, "predicate": struct{}{},
		"subject": []any{map[string]any{"digest": map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}},
	})
	sum := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	raw, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	must(t, err)
	return asJSON(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]string{"hint": "x"}},
		"dsseEnvelope": map[string]any{
			"payloadType": payloadType, "payload": []byte(payload), "signatures": []any{map[string]any{"sig": raw}},
		},
	})
}

func ecdsaKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

// publicPEM is the public half of a key, as signature.key names it.
func publicPEM(t *testing.T, key crypto.Signer) registry.Secret {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	var out bytes.Buffer
	must(t, pem.Encode(&out, &pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return registry.SecretText(out.String())
}

// jsonOf is a document as a part of another.
func jsonOf(document string) json.RawMessage { return json.RawMessage(document) }
