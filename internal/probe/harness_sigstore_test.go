package probe_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	oci "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	vulns "github.com/in-toto/attestation/go/predicates/vulns/v02"
	intoto "github.com/in-toto/attestation/go/v1"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/countersign-dev/countersign/internal/registry"
)

// attested is a statement about the image, made by in-toto's module and signed by
// Sigstore's.
func (p *pushed) attested(t *testing.T, key *ecdsa.PrivateKey, predicateType string, predicate []byte) string {
	t.Helper()
	var members structpb.Struct
	must(t, protojson.Unmarshal(predicate, &members))
	made := &intoto.Statement{
		Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: &members,
		Subject: []*intoto.ResourceDescriptor{{
			Name: p.repository.Name(), Digest: map[string]string{"sha256": strings.TrimPrefix(p.digest(), "sha256:")},
		}},
	}
	must(t, made.Validate())
	document, err := protojson.Marshal(made)
	must(t, err)
	envelope, err := dsse.WrapSigner(signerOf(t, key), "application/vnd.in-toto+json").SignMessage(bytes.NewReader(document))
	must(t, err)
	return string(envelope)
}

func signerOf(t *testing.T, key *ecdsa.PrivateKey) sigstore.Signer {
	t.Helper()
	signer, err := sigstore.LoadECDSASigner(key, crypto.SHA256)
	must(t, err)
	return signer
}

// signed is a signature over the image's digest by Sigstore's module, in the
// layout of cosign.
func (p *pushed) signed(t *testing.T, key *ecdsa.PrivateKey) mutate.Addendum {
	t.Helper()
	document, err := json.Marshal(payload.Cosign{Image: p.repository.Digest(p.digest())})
	must(t, err)
	raw, err := signerOf(t, key).SignMessage(bytes.NewReader(document))
	must(t, err)
	return mutate.Addendum{
		Layer:       static.NewLayer(document, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(raw)},
	}
}

func TestHarness_readsWhatTheModulesOfSigstoreAndInTotoMake(t *testing.T) {
	t.Parallel()
	image, key := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL), ecdsaKey(t)
	image.spec.SignatureKey = publicPEM(t, key)
	image.spec.Scan.DatabaseMaxAge = 3 * day
	image.keep(t, ".sig", image.signed(t, key))
	ofTrivy := []byte(asJSON(vulnerabilities(2*day, day, jsonOf(trivy{packages: 3}.json()))))
	image.keep(t, ".att", attestation(image.attested(t, key, cosignVuln, ofTrivy)))
	checkHarness(t, image.probed(t))

	image.keep(t, ".sig", image.signed(t, ecdsaKey(t)))
	checkHarness(t, image.probed(t), registry.BadSignature)
	image.keep(t, ".sig", image.signed(t, key))

	newer := &vulns.Vulns{
		Scanner: &vulns.Scanner{
			Uri: "pkg:github/aquasecurity/trivy@v0.68.0", Version: new("v0.68.0"),
			Db:     &vulns.VulnDatabase{LastUpdate: timestamppb.New(ofHarness.Add(-day))},
			Result: []*vulns.Result{{Id: "CVE-2026-2", Severity: []*vulns.Result_Severity{{Method: "nvd", Score: "critical"}}}},
		},
		Metadata: &vulns.ScanMetadata{
			ScanStartedOn: timestamppb.New(ofHarness.Add(-day)), ScanFinishedOn: timestamppb.New(ofHarness.Add(-day)),
		},
	}
	predicate, err := protojson.Marshal(newer)
	must(t, err)
	image.attach(t, typeDSSE, image.attested(t, key, "https://in-toto.io/attestation/vulns/v0.2", predicate))
	image.spec.Scan.AcceptUnprovenCoverage = true
	checkHarness(t, image.probed(t), registry.BlockingFindings) // the newer report counts
	image.spec.Scan.Allow = []registry.Allowance{{ID: "CVE-2026-2", Until: ofHarness.Add(60 * day)}}
	checkHarness(t, image.probed(t))
}
