//go:build unix

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
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
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

// gatedServer is a server of the official SDK with the three gates, whose tools can
// be changed while it runs.
func gatedServer(t *testing.T) (*mcp.Server, string) {
	t.Helper()
	server := tinyServer()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	gates.Mount(mux, gates.Options{Service: "tiny", Version: "1.0.0", Dependencies: []gates.Dependency{
		gates.Required("feed", gates.Func(func(context.Context) error { return nil })),
	}})
	return server, listenAs(t, mux)
}

func listenAs(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

var askedSum = regexp.MustCompile(`What is ([0-9]+) \+ ([0-9]+)\?`)

// sumIn is the right answer to what a chat is asked.
func sumIn(body string) int {
	found := askedSum.FindStringSubmatch(body)
	if found == nil {
		return 0
	}
	left, _ := strconv.Atoi(found[1])
	right, _ := strconv.Atoi(found[2])
	return left + right
}

// chatServer is a model that adds, with the API of OpenAI. It answers as the model
// whose name is stored.
func chatServer(t *testing.T, model *atomic.Value) string {
	t.Helper()
	return listenAs(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if request.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, request)
			return
		}
		fmt.Fprintf(w, `{"model":%q,"choices":[{"message":{"content":"%d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":24,"completion_tokens":2,"total_tokens":26}}`,
			model.Load(), sumIn(string(body)))
	}))
}

// scannedImage is an image in a registry in this process, with what is attached to
// it.
type scannedImage struct {
	repository name.Repository
	image      v1.Image
	about      *v1.Descriptor
}

// scanImage pushes an image to the tag v1. The registry may be wrapped.
func scanImage(t *testing.T, wrap func(http.Handler) http.Handler) *scannedImage {
	t.Helper()
	handler := oci.New(oci.WithReferrersSupport(true), oci.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	if wrap != nil {
		handler = wrap(handler)
	}
	repository, err := name.NewRepository(strings.TrimPrefix(listenAs(t, handler), "http://") + "/tools/scanner")
	must(t, err)
	image, err := random.Image(64, 1)
	must(t, err)
	about, err := partial.Descriptor(image)
	must(t, err)
	made := &scannedImage{repository, image, about}
	made.tag(t, image)
	return made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scannedImage) reference() string {
	return s.repository.Name() + ":v1@" + s.about.Digest.String()
}

// tag moves the tag v1 to an image.
func (s *scannedImage) tag(t *testing.T, image v1.Image) {
	t.Helper()
	must(t, remote.Write(s.repository.Tag("v1"), image))
}

// report attaches a report of Trivy as of a time, with findings such as
// "CVE-2026-7 HIGH".
func (s *scannedImage) report(t *testing.T, at time.Time, found ...string) {
	t.Helper()
	vulnerabilities := []map[string]string{}
	for _, each := range found {
		id, severity, _ := strings.Cut(each, " ")
		vulnerabilities = append(vulnerabilities, map[string]string{"VulnerabilityID": id, "PkgName": "openssl", "Severity": severity})
	}
	document, err := json.Marshal(map[string]any{
		"SchemaVersion": 2, "CreatedAt": at.UTC().Format(time.RFC3339Nano), "ArtifactName": s.reference(),
		"Metadata": map[string]any{"OS": map[string]any{"Family": "debian", "Name": "12"}},
		"Results": []any{map[string]any{
			"Class": "os-pkgs", "Packages": []any{map[string]string{"Name": "openssl"}}, "Vulnerabilities": vulnerabilities,
		}},
	})
	must(t, err)
	const trivy = "application/vnd.aquasec.trivy.report+json"
	layered := layers(t, mutate.Addendum{Layer: static.NewLayer(document, trivy)})
	attached, ok := mutate.Subject(mutate.ConfigMediaType(layered, trivy), *s.about).(v1.Image)
	if !ok {
		t.Fatal("what is attached is no image")
	}
	digest, err := attached.Digest()
	must(t, err)
	must(t, remote.Write(s.repository.Digest(digest.String()), attached))
}

// sign signs the digest as cosign does, and returns the public key in PEM.
func (s *scannedImage) sign(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`,
		s.about.Digest.String())
	sum := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	must(t, err)
	must(t, remote.Write(s.repository.Tag(strings.Replace(s.about.Digest.String(), ":", "-", 1)+".sig"), layers(t, mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	})))
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

func layers(t *testing.T, layers ...mutate.Addendum) v1.Image {
	t.Helper()
	made, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	must(t, err)
	return made
}
