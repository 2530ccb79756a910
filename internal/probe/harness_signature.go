package probe

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of the signatures that one probe looks at.
const (
	MaxSignatures = 32       // more are left aside
	MaxPayload    = 64 << 10 // bytes of what one signs
)

// How cosign lays out a signature: up to version 2 in layers at a tag, by its
// specification of signatures, and from version 3 in a Sigstore bundle that refers
// to the image.
const (
	simpleSigning       = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureTag        = ".sig"
	signedClaim         = "cosign container image signature"

	bundleType      = "application/vnd.dev.sigstore.bundle"
	signedPredicate = "https://sigstore.dev/cosign/sign/v1"
	inTotoPayload   = "application/vnd.in-toto+json"
)

// signatures looks for a signature over the digest of an image that is that of a
// public key. One is enough.
type signatures struct {
	registry *imageRegistry
	public   crypto.PublicKey
	looked   int
	last     error // why the last one does not hold
}

// errSigned ends the search: one holds.
var errSigned = errors.New("signed by the configured key")

// signed says whether the image is signed by a key in PEM.
func (r *imageRegistry) signed(ctx context.Context, key registry.Secret, settings Settings) finding {
	public, err := publicKey(key, settings)
	if err != nil {
		return finding{registry.NotConfigured, registry.Shorten(err.Error(), registry.MaxDetail)}
	}
	s := signatures{registry: r, public: public, last: errors.New("the registry has no signature of the image")}
	for _, look := range []func(context.Context) error{s.atTag, s.amongReferrers} {
		if err := look(ctx); errors.Is(err, errSigned) {
			return finding{detail: err.Error()}
		} else if err != nil {
			return found(err)
		}
	}
	detail := s.last.Error()
	if s.looked > 1 {
		detail = fmt.Sprintf("none of %d signatures holds; the last: %s", s.looked, detail)
	}
	return finding{registry.BadSignature, registry.Shorten(detail, registry.MaxDetail)}
}

// atTag looks at the layers of the tag of signatures. Errors: errSigned, *mcpwire.Failure.
func (s *signatures) atTag(ctx context.Context) error {
	list, err := s.registry.manifest(ctx, attachedTag(s.registry.image, signatureTag))
	if errors.Is(err, errAbsent) {
		return nil
	}
	for _, layer := range list.Layers {
		signature := layer.Annotations[signatureAnnotation]
		if layer.MediaType != simpleSigning || signature == "" {
			continue
		}
		if err := s.look(ctx, layer, func(payload []byte) error {
			return verifyClaim(s.public, payload, signature, s.registry.image.Digest)
		}); err != nil {
			return err
		}
	}
	return err
}

// amongReferrers looks at bundles that refer to the image. Errors: errSigned,
// *mcpwire.Failure.
func (s *signatures) amongReferrers(ctx context.Context) error {
	referrers, err := s.registry.referrers(ctx)
	if err != nil {
		return err
	}
	for _, referrer := range referrers {
		if !strings.Contains(referrer.what(), bundleType) || !referrer.mayBe(signedPredicate) {
			continue
		}
		read, err := s.registry.manifest(ctx, referrer.Digest)
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
		for _, layer := range read.Layers {
			if err := s.look(ctx, layer, func(bundle []byte) error {
				return verifyBundle(s.public, bundle, s.registry.image.Digest)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayBe reports whether something has a predicate, or does not say which.
func (d descriptor) mayBe(predicate string) bool {
	stated := d.Annotations["dev.sigstore.bundle.predicateType"]
	return stated == "" || stated == predicate
}

// look verifies one. What is missing or does not hold is remembered.
func (s *signatures) look(ctx context.Context, layer descriptor, verifies func([]byte) error) error {
	if s.looked++; s.looked > MaxSignatures {
		return nil
	}
	body, err := s.registry.blob(ctx, layer.Digest, MaxPayload)
	if err == nil {
		err = verifies(body)
	} else if !errors.Is(err, errAbsent) {
		return err
	}
	if err == nil {
		return errSigned
	}
	s.last = err
	return nil
}

// publicKey reads the key anew for each probe.
func publicKey(key registry.Secret, settings Settings) (crypto.PublicKey, error) {
	text, err := key.Reveal(settings.Resolve)
	if err != nil {
		return nil, fmt.Errorf("the public key cannot be had: %w", err)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("signature.key is no public key in PEM, which begins with -----BEGIN PUBLIC KEY-----")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("signature.key cannot be read: %w", err)
	}
	return public, nil
}

// verifyClaim holds a signature against the claim that it is over, and the claim
// against the digest of the image.
func verifyClaim(public crypto.PublicKey, payload []byte, signature, digest string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return errors.New("the signature is not base64")
	}
	if !verifies(public, payload, raw) {
		return errNotOurs
	}
	var signed struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(payload, &signed); err != nil || signed.Critical.Type != signedClaim {
		return errNoImage
	}
	if signed.Critical.Image.Digest != digest {
		return errors.New("the configured key has signed another image: " + registry.Shorten(signed.Critical.Image.Digest, maxReported))
	}
	return nil
}

// verifyBundle holds the envelope of a bundle against the key (DSSE, protocol.md:
// what is signed is its type and payload), and its statement against the digest.
func verifyBundle(public crypto.PublicKey, bundle []byte, digest string) error {
	var read struct {
		Envelope struct {
			PayloadType string `json:"payloadType"`
			Payload     []byte `json:"payload"`
			Signatures  []struct {
				Signature []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	if err := json.Unmarshal(bundle, &read); err != nil || read.Envelope.PayloadType != inTotoPayload {
		return errors.New("the bundle holds no envelope with a statement")
	}
	envelope := read.Envelope
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload)
	if len(envelope.Signatures) != 1 || !verifies(public, signed, envelope.Signatures[0].Signature) {
		return errNotOurs
	}
	var statement document
	if err := json.Unmarshal(envelope.Payload, &statement); err != nil || statement.PredicateType != signedPredicate {
		return errNoImage
	}
	for _, subject := range statement.Subject {
		if "sha256:"+subject.Digest["sha256"] == digest {
			return nil
		}
	}
	return errors.New("the configured key has signed another image")
}

var (
	errNotOurs = errors.New("the signature is not that of the configured key")
	errNoImage = errors.New("what the key has signed is no signature of an image")
)

// verifies tries the scheme that the key is for: ECDSA over the digest that fits
// its curve or SHA-256, Ed25519, or RSA over SHA-256 with either padding.
func verifies(public crypto.PublicKey, payload, signature []byte) bool {
	sum := sha256.Sum256(payload)
	switch key := public.(type) {
	case *ecdsa.PublicKey:
		longer := sha512.Sum384(payload)
		longest := sha512.Sum512(payload)
		return ecdsa.VerifyASN1(key, sum[:], signature) ||
			key.Curve.Params().BitSize == 384 && ecdsa.VerifyASN1(key, longer[:], signature) ||
			key.Curve.Params().BitSize == 521 && ecdsa.VerifyASN1(key, longest[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(key, payload, signature)
	case *rsa.PublicKey:
		return key.Size() >= 256 && (rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil ||
			rsa.VerifyPSS(key, crypto.SHA256, sum[:], signature, nil) == nil)
	}
	return false
}
