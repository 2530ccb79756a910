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

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of the signatures that one probe looks at.
const (
	MaxSignatures = 32       // more are left aside
	MaxPayload    = 64 << 10 // bytes of what one signs
)

// Where cosign keeps a signature, by its specification of signatures.
const (
	simpleSigning       = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureTag        = ".sig"
)

// signed looks for a signature over the digest of the image that is that of a
// public key in PEM. One is enough. What is not finds nothing.
func (r *imageRegistry) signed(ctx context.Context, key registry.Secret, settings Settings) finding {
	public, err := publicKey(key, settings)
	if err != nil {
		return finding{registry.NotConfigured, registry.Shorten(err.Error(), registry.MaxDetail)}
	}
	list, err := r.manifest(ctx, attachedTag(r.image, signatureTag))
	switch {
	case errors.Is(err, errAbsent):
		return finding{registry.BadSignature, "the registry has no signature of the image"}
	case err != nil:
		return found(err)
	}
	looked, last := 0, errors.New("the manifest of its signatures has none")
	for _, layer := range list.Layers {
		if layer.MediaType != simpleSigning || layer.Annotations[signatureAnnotation] == "" {
			continue
		}
		if looked++; looked > MaxSignatures {
			break
		}
		payload, err := r.blob(ctx, layer.Digest, MaxPayload)
		if failure, ok := errors.AsType[*mcpwire.Failure](err); ok {
			return finding{failure.Cause, failure.Detail}
		}
		if err == nil {
			err = verify(public, payload, layer.Annotations[signatureAnnotation], r.image.Digest)
		}
		if err == nil {
			return finding{detail: "signed by the configured key"}
		}
		last = err
	}
	detail := last.Error()
	if looked > 1 {
		detail = fmt.Sprintf("none of %d signatures holds; the last: %s", looked, detail)
	}
	return finding{registry.BadSignature, registry.Shorten(detail, registry.MaxDetail)}
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

// verify holds a signature against the payload, and the payload against the
// digest of the image.
func verify(public crypto.PublicKey, payload []byte, signature, digest string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return errors.New("the signature is not base64")
	}
	if !verifies(public, payload, raw) {
		return errors.New("the signature is not that of the configured key")
	}
	var signed struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(payload, &signed); err != nil || signed.Critical.Type != "cosign container image signature" {
		return errors.New("what the key has signed is no signature of an image")
	}
	if signed.Critical.Image.Digest != digest {
		return errors.New("the configured key has signed another image: " + registry.Shorten(signed.Critical.Image.Digest, maxReported))
	}
	return nil
}

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
