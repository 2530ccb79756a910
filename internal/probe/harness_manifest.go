package probe

import (
	"strings"
)

// manifestTypes are what a registry may answer with for a manifest.
const manifestTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

// imageIndex is the media type of a list of referrers.
const imageIndex = "application/vnd.oci.image.index.v1+json"

// descriptor names one blob or manifest (OCI image specification, descriptor).
type descriptor struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations"`
}

// manifest is what is read of an OCI manifest or index.
type manifest struct {
	ArtifactType string       `json:"artifactType"`
	Config       descriptor   `json:"config"`
	Layers       []descriptor `json:"layers"`
	Manifests    []descriptor `json:"manifests"`
	Subject      *descriptor  `json:"subject"`

	digest string // of its bytes
}

// what is all that says of what kind something is, in lower case.
func (d descriptor) what() string {
	return strings.ToLower(d.MediaType + " " + d.ArtifactType + " " + d.Annotations["predicateType"] + " " +
		d.Annotations["dev.sigstore.bundle.predicateType"])
}

// isOther reports whether it says that it is something other than a report of a
// scan: a signature, a bill of materials, a record of a build.
func (d descriptor) isOther() bool {
	return containsAny(d.what(), "simplesigning", "cosign.artifact.sig", "spdx", "cyclonedx", "sbom", "provenance", "slsa", "notary", "cosign/sign")
}

// isReport reports whether it says that it is a report of a scan.
func (d descriptor) isReport() bool { return containsAny(d.what(), "sarif", "trivy", "/vuln") }

// mayBeReport reports whether its content has to be looked at.
func (d descriptor) mayBeReport() bool {
	return d.isReport() || !d.isOther() && containsAny(d.what(), "json")
}

func containsAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
