package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HarnessPart names a part of the proof of a harness, as its JSON key does.
type HarnessPart string

// The parts of a harness, as their JSON keys name them.
const (
	Resolved HarnessPart = "resolved" // the registry has the digest, and the tag points at it
	Signed   HarnessPart = "signed"   // a signature over the digest is that of the key
	Scanned  HarnessPart = "scanned"  // there is a usable report
	Subject  HarnessPart = "subject"  // it is about this digest
	Recent   HarnessPart = "recent"   // the scan and its database are young enough
	Covered  HarnessPart = "covered"  // the scanner has seen packages of a system that it knows
	Clean    HarnessPart = "clean"    // no finding blocks
)

// HarnessParts returns the parts in the order in which they are shown.
func HarnessParts() []HarnessPart {
	return []HarnessPart{Resolved, Signed, Scanned, Subject, Recent, Covered, Clean}
}

// MaxFindings is how many findings a result keeps of those that block, and as
// many of those that are allowed.
const MaxFindings = 50

// Finding is one thing that a report found. All of it is untrusted text.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Package  string   `json:"package,omitempty"`
	Version  string   `json:"version,omitempty"`
	Fixed    string   `json:"fixed,omitempty"` // the version in which it is
	Allowed  string   `json:"allowed,omitempty"`
}

// ScanReport is what counts of the report that was judged. What it says is
// untrusted text.
type ScanReport struct {
	Format     string           `json:"format"` // sarif, trivy or vuln
	Source     string           `json:"source"` // where it was found
	Scanner    string           `json:"scanner,omitempty"`
	ScannedAt  time.Time        `json:"scannedAt,omitzero"`  // as the report states
	DatabaseAt time.Time        `json:"databaseAt,omitzero"` // when the scanner's database was updated
	Packages   int              `json:"packages"`            // that the scanner saw
	System     string           `json:"system,omitempty"`
	Severities map[Severity]int `json:"severities,omitempty"` // how many findings of each there are
}

// HarnessResult is the evidence of one probe of a harness. It has no field that
// says "passed": Passed is computed from the parts, and the zero value has not
// passed.
type HarnessResult struct { //nolint:recvcheck // values are marshalled, and only a pointer can be unmarshalled into
	Target   string
	Image    string    // as it is configured
	Digest   string    // the pinned one
	ProbedAt time.Time // when the probe began; kept in UTC to the millisecond

	Resolved GateResult
	Signed   *GateResult // nil when no key is configured
	Scanned  GateResult
	Subject  GateResult
	Recent   GateResult
	Covered  GateResult
	Clean    GateResult

	Report           *ScanReport // nil when none was judged
	UnprovenAccepted bool        // the report proves no coverage, and that was accepted
	Blocking         int         // findings at or above the severity that nothing allows
	Findings         []Finding   // those, at most MaxFindings, the worst first
	Allowed          []Finding   // those that an allowance permits, at most MaxFindings
	Warnings         []string
}

// Passed reports whether every part held, on a report about a pinned digest that
// has seen packages (or need not show it) and has no finding that blocks.
func (r *HarnessResult) Passed() bool {
	for _, part := range HarnessParts() {
		if got := r.Part(part); got != nil && !got.OK {
			return false
		}
	}
	return IsImageDigest(r.Digest) && r.Report != nil && (r.Report.Packages > 0 || r.UnprovenAccepted) &&
		r.Blocking == 0 && len(r.Findings) == 0
}

// Part returns the result of one part: nil for Signed when no signature is
// wanted, and for what is no part.
func (r *HarnessResult) Part(part HarnessPart) *GateResult {
	switch part {
	case Resolved:
		return &r.Resolved
	case Signed:
		return r.Signed
	case Scanned:
		return &r.Scanned
	case Subject:
		return &r.Subject
	case Recent:
		return &r.Recent
	case Covered:
		return &r.Covered
	case Clean:
		return &r.Clean
	}
	return nil
}

// NotJudged reports whether a part does not hold only because one before it did not:
// it failed in the same words, in no time of its own. That says nothing about what it
// is about.
func (r *HarnessResult) NotJudged(part HarnessPart) bool {
	got := r.Part(part)
	if got == nil || got.OK || got.LatencyMs > 0 {
		return false
	}
	for _, before := range HarnessParts() {
		if before == part {
			return false
		}
		if other := r.Part(before); other != nil && !other.OK && other.failure() == got.failure() {
			return true
		}
	}
	return false
}

// Error joins the failures of the parts; empty when all of them held. One that
// failed in the words of another before it was not judged because of that, and is
// left out.
func (r *HarnessResult) Error() string {
	var failures []string
	told := map[string]bool{}
	for _, part := range HarnessParts() {
		got := r.Part(part)
		if got == nil || got.OK || told[got.failure()] {
			continue
		}
		told[got.failure()] = true
		failures = append(failures, string(part)+got.failure())
	}
	return strings.Join(failures, "; ")
}

// Summary implements Result.
func (r *HarnessResult) Summary() Summary {
	summary := Summary{ProbedAt: r.ProbedAt, Causes: []Cause{}, Proof: r.proof(), ImageDigest: r.Digest}
	for _, part := range HarnessParts() {
		got := r.Part(part)
		if got == nil {
			continue
		}
		summary.Latency += got.Took()
		summary.Parts = append(summary.Parts, partTime(string(part), got))
		if !got.OK && got.Cause != "" && !slices.Contains(summary.Causes, got.Cause) {
			summary.Causes = append(summary.Causes, got.Cause)
		}
	}
	summary.Outcome = outcomeOf(r.Passed(), summary.Causes)
	switch {
	case summary.Outcome != OutcomePassed:
		summary.Reason = Shorten(r.Error(), MaxDetail)
	case r.UnprovenAccepted:
		summary.Degraded = true
		summary.Reason = "covered: the report does not show which packages it has seen, which is accepted"
	}
	return summary
}

// proof is what Passed is computed from, and which parts were not judged. Without a
// report nothing shows what it covers.
func (r *HarnessResult) proof() json.RawMessage {
	signed := "null"
	if r.Signed != nil {
		signed = fmt.Sprint(r.Signed.OK)
	}
	packages := 0
	if r.Report != nil {
		packages = r.Report.Packages
	}
	made := fmt.Appendf(nil, `{"pinned":%t,"resolved":%t,"signed":%s,"scanned":%t,"subject":%t,"recent":%t,"covered":%t,"clean":%t,`+
		`"packages":%d,"unprovenAccepted":%t,"blocking":%d`,
		IsImageDigest(r.Digest), r.Resolved.OK, signed, r.Scanned.OK, r.Subject.OK, r.Recent.OK, r.Covered.OK,
		r.Clean.OK, packages, r.UnprovenAccepted && r.Report != nil, max(r.Blocking, len(r.Findings)))
	var unjudged []string
	for _, part := range HarnessParts() {
		if r.NotJudged(part) {
			unjudged = append(unjudged, strconv.Quote(string(part)))
		}
	}
	if len(unjudged) > 0 {
		made = fmt.Appendf(made, `,%q:[%s]`, ProofNotJudged, strings.Join(unjudged, ","))
	}
	return append(made, '}')
}

// ProofNotJudged is the member of a proof that names the parts that were not judged;
// absent when there are none.
const ProofNotJudged = "notJudged"

// harnessDocument is the document of a harness result.
type harnessDocument struct {
	Target           string      `json:"target"`
	Image            string      `json:"image"`
	Digest           string      `json:"digest,omitempty"`
	Resolved         GateResult  `json:"resolved"`
	Signed           *GateResult `json:"signed,omitempty"`
	Scanned          GateResult  `json:"scanned"`
	Subject          GateResult  `json:"subject"`
	Recent           GateResult  `json:"recent"`
	Covered          GateResult  `json:"covered"`
	Clean            GateResult  `json:"clean"`
	Passed           bool        `json:"passed"`
	ProbedAt         string      `json:"probedAt"`
	Error            string      `json:"error,omitempty"`
	Report           *ScanReport `json:"report,omitempty"`
	UnprovenAccepted bool        `json:"unprovenAccepted,omitempty"`
	Blocking         int         `json:"blocking"`
	Findings         []Finding   `json:"findings,omitempty"`
	Allowed          []Finding   `json:"allowed,omitempty"`
	Warnings         []string    `json:"warnings,omitempty"`
}

// MarshalJSON writes the document of the contract.
func (r HarnessResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(harnessDocument{
		r.Target, r.Image, r.Digest, r.Resolved, r.Signed, r.Scanned, r.Subject, r.Recent, r.Covered, r.Clean, r.Passed(),
		Timestamp(r.ProbedAt), r.Error(), r.Report, r.UnprovenAccepted, r.Blocking, r.Findings, r.Allowed, r.Warnings,
	})
}

// UnmarshalJSON reads a document that MarshalJSON wrote, and no other: it refuses
// one whose passed or error differs from what its parts say, that names an
// unknown cause or severity, whose numbers contradict its findings, that has a
// key twice, one that is unknown or one that is written otherwise.
func (r *HarnessResult) UnmarshalJSON(raw []byte) error {
	var read harnessDocument
	if err := json.Unmarshal(raw, &read); err != nil {
		return fmt.Errorf("decode a harness result: %w", err)
	}
	at, err := time.Parse(time.RFC3339, read.ProbedAt)
	if err != nil {
		return fmt.Errorf("decode a harness result: probedAt: %w", err)
	}
	made := HarnessResult{
		Target: read.Target, Image: read.Image, Digest: read.Digest, ProbedAt: at.UTC().Truncate(time.Millisecond),
		Resolved: read.Resolved, Signed: read.Signed, Scanned: read.Scanned, Subject: read.Subject,
		Recent: read.Recent, Covered: read.Covered, Clean: read.Clean,
		Report: read.Report, UnprovenAccepted: read.UnprovenAccepted, Blocking: read.Blocking,
		Findings: read.Findings, Allowed: read.Allowed, Warnings: read.Warnings,
	}
	if read.Passed != made.Passed() {
		return fmt.Errorf("decode a harness result: passed is %v, which its parts do not support", read.Passed)
	}
	if err := made.check(); err != nil {
		return fmt.Errorf("decode a harness result: %w", err)
	}
	if err := writtenAs(made, raw); err != nil {
		return fmt.Errorf("decode a harness result: %w", err)
	}
	*r = made
	return nil
}

// check refuses what no probe writes.
func (r *HarnessResult) check() error {
	for _, part := range HarnessParts() {
		got := r.Part(part)
		if got == nil {
			continue
		}
		_, known := got.Cause.Entry()
		switch {
		case got.Cause != "" && (got.OK || !known):
			return fmt.Errorf("%s: cause %q does not belong here", part, got.Cause)
		case got.LatencyMs < 0:
			return fmt.Errorf("%s: latencyMs is below 0", part)
		case got.OK && got.Transcript != nil:
			return fmt.Errorf("%s: there is a transcript, and the part held", part)
		}
	}
	if r.Blocking < len(r.Findings) || len(r.Findings) < min(r.Blocking, MaxFindings) ||
		len(r.Findings) > MaxFindings || len(r.Allowed) > MaxFindings {
		return fmt.Errorf("blocking is %d beside %d findings", r.Blocking, len(r.Findings))
	}
	if r.Report != nil && r.Report.Packages < 0 {
		return errors.New("packages is below 0")
	}
	for _, finding := range slices.Concat(r.Findings, r.Allowed) {
		if !slices.Contains(Severities(), finding.Severity) {
			return fmt.Errorf("the severity %q is unknown", Shorten(string(finding.Severity), MaxName))
		}
	}
	return nil
}
