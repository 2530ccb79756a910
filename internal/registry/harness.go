package registry

import (
	"slices"
	"strings"
	"time"
)

// KindHarness is a container image. It serves nothing: it is proven by what its
// registry and the reports about it say.
const KindHarness Kind = "harness"

// The causes that only harnesses have.
const (
	MissingImage      Cause = "missing_image"
	MovedTag          Cause = "moved_tag"
	BadSignature      Cause = "bad_signature"
	NoReport          Cause = "no_report"
	WrongSubject      Cause = "wrong_subject"
	StaleScan         Cause = "stale_scan"
	StaleDatabase     Cause = "stale_database"
	UnsupportedSystem Cause = "unsupported_system"
	NoPackages        Cause = "no_packages"
	BlockingFindings  Cause = "findings"
)

// ofHarnesses is their row of the table.
func ofHarnesses() kindOf {
	decode := func(document []byte) (Result, error) {
		var result HarnessResult
		if err := result.UnmarshalJSON(document); err != nil {
			return nil, err
		}
		return &result, nil
	}
	return kindOf{kind: KindHarness, decode: decode, causes: []CauseEntry{
		{MissingImage, "The registry does not have the image of this digest.", "Push the image again, or pin the digest of one that is there."},
		{MovedTag, "The tag does not point at the pinned digest.", "Look at what was pushed to the tag, then pin its digest or move the tag back."},
		{BadSignature, "No signature over the digest is that of the configured key.", "Sign the image with the key's private half, or correct signature.key."},
		{NoReport, "There is no usable report of a scan of the image.", "Scan the image, and attach the report to its digest or name its file in scan.reports."},
		{WrongSubject, "The report is about another image, or does not say about which.", "Scan this digest; a report in a file must state the digest itself."},
		{StaleScan, "The scan is older than permitted, or does not say how old it is.", "Scan the image again."},
		{StaleDatabase, "The scanner's database was older than permitted, or its age is not stated.", "Update the database and scan again; only a vulnerability attestation states its age."},
		{UnsupportedSystem, "The scanner cannot judge the operating system of the image: it is unsupported or past its end of life.", "Build the image on a supported release."},
		{NoPackages, "The scan does not show that it saw any package, so that it found nothing means nothing.", "Have the scanner list packages (trivy --list-all-pkgs), or set scan.accept_unproven_coverage."},
		{BlockingFindings, "The report has findings at or above the configured severity.", "Update what they name and build again, or permit one until a date in scan.allow."},
	}}
}

// Harness is a component of the kind harness.
type Harness struct {
	Image       string // as ParseImage reads it
	Credentials ImageCredentials
	Scan        Scan
	// SignatureKey is a public key in PEM: ECDSA, Ed25519 or RSA. The zero value
	// wants no signature. It is no secret, and yet read anew for each probe.
	SignatureKey Secret
}

// ImageCredentials are what an image's registry demands: at most one of
// Bearer, Username with Password, and Keychain.
type ImageCredentials struct {
	Bearer   Secret // sent to the registry as "Authorization: Bearer ..."
	Username Secret // set if and only if Password is
	Password Secret
	Keychain bool // what docker login has stored for the user
}

// Scan says what report about the image is sufficient.
type Scan struct {
	MaxAge         time.Duration // of the scan; 0 for any
	DatabaseMaxAge time.Duration // of the scanner's database; 0 for any
	FailOn         Severity      // findings at or above it block; empty for DefaultFailOn
	Allow          []Allowance
	Reports        []string // files with reports, beside those that the registry has
	// AcceptUnprovenCoverage lets a report pass that does not say what it has seen,
	// which is then degraded.
	AcceptUnprovenCoverage bool
}

// DefaultFailOn is the severity from which findings block where nothing is said.
const DefaultFailOn = SeverityHigh

// Allowance permits one finding for a while.
type Allowance struct {
	ID    string    // of the vulnerability, such as CVE-2026-0001; compared without regard to case
	Until time.Time // the moment at which it ends
}

// Severity is how bad a finding is.
type Severity string

// The severities. Unknown is the least: a report that states none that can be
// read has it.
const (
	SeverityUnknown    Severity = "unknown"
	SeverityNegligible Severity = "negligible"
	SeverityLow        Severity = "low"
	SeverityMedium     Severity = "medium"
	SeverityHigh       Severity = "high"
	SeverityCritical   Severity = "critical"
)

// Severities returns all of them, the least first.
func Severities() []Severity {
	return []Severity{SeverityUnknown, SeverityNegligible, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical}
}

// ParseSeverity reads a severity in any case; what is none is unknown.
func ParseSeverity(text string) Severity {
	read := Severity(strings.ToLower(strings.TrimSpace(text)))
	switch {
	case slices.Contains(Severities(), read):
		return read
	case read == "moderate":
		return SeverityMedium
	case read == "important":
		return SeverityHigh
	}
	return SeverityUnknown
}

// SeverityOfScore is the severity of a CVSS score (version 3.1, section 5).
func SeverityOfScore(score float64) Severity {
	switch {
	case score >= 9:
		return SeverityCritical
	case score >= 7:
		return SeverityHigh
	case score >= 4:
		return SeverityMedium
	case score > 0:
		return SeverityLow
	}
	return SeverityUnknown
}

// AtLeast reports whether a severity is as bad as another one, or worse.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities(), s) >= slices.Index(Severities(), other)
}

// Kind implements Spec.
func (h *Harness) Kind() Kind { return KindHarness }

// Secrets implements Spec. The public key is none.
func (h *Harness) Secrets() []Secret {
	var secrets []Secret
	for _, each := range []Secret{h.Credentials.Bearer, h.Credentials.Username, h.Credentials.Password} {
		if !each.IsZero() {
			secrets = append(secrets, each)
		}
	}
	return secrets
}

// Host implements Spec: the registry.
func (h *Harness) Host() string {
	image, err := ParseImage(h.Image)
	if err != nil {
		return h.Image
	}
	return image.Registry
}
