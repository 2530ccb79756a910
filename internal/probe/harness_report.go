package probe

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// The formats of reports.
const (
	formatSARIF = "sarif"
	formatTrivy = "trivy"
	formatVuln  = "vuln" // a vulnerability attestation of cosign or of in-toto
)

// maxReported bounds a text that is kept of a report, in bytes.
const maxReported = 200

// scanReport is what counts of one report.
type scanReport struct {
	format, source, scanner string

	scannedAt, databaseAt time.Time // zero when it does not say
	digests               []string  // of the images that it says it is about
	attached              bool      // its manifest's subject is the image
	failed                string    // why the scan itself did not succeed, as it says

	statesCoverage bool // the format says what was seen
	packages       int
	system         string
	unsupported    string // why the system cannot be judged
	findings       []registry.Finding
}

var (
	errNotJSON       = errors.New("it is not a JSON object")
	errOtherDocument = errors.New("it is in no known form of a report: SARIF 2.1.0, Trivy JSON, or a vulnerability attestation")
)

// document is the top of every form: each is known by members of its own.
type document struct {
	// SARIF.
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`

	// Trivy.
	SchemaVersion int `json:"SchemaVersion"`
	trivyReport

	// A DSSE envelope, which a Sigstore bundle wraps once more.
	PayloadType string    `json:"payloadType"`
	Payload     *string   `json:"payload"`
	Envelope    *document `json:"dsseEnvelope"`

	// An in-toto statement.
	PredicateType string          `json:"predicateType"`
	Subject       []statedSubject `json:"subject"`
	Predicate     *vulnPredicate  `json:"predicate"`
}

type statedSubject struct {
	Digest map[string]string `json:"digest"`
}

// readReport reads a report in any known form. Errors: errNotJSON,
// errOtherDocument, or what is wrong with a report.
func readReport(body []byte) (scanReport, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var read document
	if err := json.Unmarshal(body, &read); err != nil {
		if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
			return scanReport{}, errNotJSON
		}
		return scanReport{}, fmt.Errorf("%w: %s", errOtherDocument, registry.Shorten(err.Error(), maxReported))
	}
	return read.report()
}

func (d *document) report() (scanReport, error) {
	switch {
	case d.Envelope != nil && d.Envelope.Payload != nil:
		return d.Envelope.enclosed()
	case d.Payload != nil:
		return d.enclosed()
	case d.Predicate != nil:
		return d.attested()
	case d.Runs != nil:
		if d.Version != "2.1.0" {
			return scanReport{}, fmt.Errorf("it is SARIF of the version %q, and 2.1.0 is read", registry.Shorten(d.Version, maxReported))
		}
		return readSARIF(d.Runs), nil
	case d.SchemaVersion > 0:
		return d.trivyReport.report(), nil
	}
	return scanReport{}, errOtherDocument
}

// enclosed reads what a DSSE envelope holds. Its signatures are not looked at:
// signature.key is about the image.
func (d *document) enclosed() (scanReport, error) {
	payload, err := base64.StdEncoding.DecodeString(*d.Payload)
	if err != nil {
		payload, err = base64.URLEncoding.DecodeString(*d.Payload)
	}
	if err != nil {
		return scanReport{}, errors.New("the payload of its envelope is not base64")
	}
	var statement document
	if err := json.Unmarshal(payload, &statement); err != nil || statement.Predicate == nil {
		return scanReport{}, errOtherDocument
	}
	return statement.attested()
}

// The types of the predicates that are read.
const (
	cosignVuln = "cosign.sigstore.dev/attestation/vuln/v1"
	inTotoVuln = "in-toto.io/attestation/vulns" // v0.1 and v0.2
)

// attested reads an in-toto statement about vulnerabilities.
func (d *document) attested() (scanReport, error) {
	if !strings.Contains(d.PredicateType, cosignVuln) && !strings.Contains(d.PredicateType, inTotoVuln) {
		return scanReport{}, errOtherDocument
	}
	report, err := d.Predicate.report()
	if err != nil {
		return scanReport{}, err
	}
	report.digests, report.attached = nil, false // the statement itself says what it is about
	for _, subject := range d.Subject {
		if hex := subject.Digest["sha256"]; hex != "" {
			report.digests = append(report.digests, "sha256:"+strings.ToLower(hex))
		}
	}
	return report, nil
}

// vulnPredicate is the predicate of a vulnerability attestation: of cosign, whose
// result is the scanner's own report, or of in-toto, whose result is a list.
type vulnPredicate struct {
	Scanner  vulnScanner   `json:"scanner"`
	Scanners []vulnScanner `json:"scanners"` // of its first drafts
	Metadata struct {
		Finished stamp `json:"scanFinishedOn"`
		Started  stamp `json:"scanStartedOn"`
	} `json:"metadata"`
}

type vulnScanner struct {
	URI     string `json:"uri"`
	Version string `json:"version"`
	DB      struct {
		LastUpdate stamp `json:"lastUpdate"`
	} `json:"db"`
	Result json.RawMessage `json:"result"`
}

func (p *vulnPredicate) report() (scanReport, error) {
	scanner := p.Scanner
	if len(p.Scanners) > 0 && scanner.Result == nil {
		if len(p.Scanners) > 1 {
			return scanReport{}, errors.New("it holds the results of more than one scanner, and those of one are read")
		}
		scanner = p.Scanners[0]
	}
	report := scanReport{}
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(scanner.Result), []byte("[")):
		var listed []vulnResult
		if err := json.Unmarshal(scanner.Result, &listed); err != nil {
			return scanReport{}, errors.New("the result of its scanner is not a list of vulnerabilities")
		}
		for _, each := range listed {
			report.findings = append(report.findings, each.finding())
		}
	case bytes.HasPrefix(bytes.TrimSpace(scanner.Result), []byte("{")):
		var own document
		if err := json.Unmarshal(scanner.Result, &own); err != nil || own.SchemaVersion == 0 && own.Results == nil {
			return scanReport{}, errors.New("the result of its scanner is not the report of Trivy, and no other is read")
		}
		report = own.trivyReport.report()
	default:
		return scanReport{}, errors.New("it holds no result of a scanner")
	}
	report.format = formatVuln
	report.scanner = registry.Shorten(strings.TrimSpace(scanner.URI+" "+scanner.Version), maxReported)
	report.scannedAt = cmp.Or(p.Metadata.Finished.Time, p.Metadata.Started.Time)
	report.databaseAt = scanner.DB.LastUpdate.Time
	return report, nil
}

// vulnResult is one vulnerability as in-toto lists it.
type vulnResult struct {
	ID            string         `json:"id"`
	Severity      []vulnSeverity `json:"severity"`
	Vulnerability *vulnResult    `json:"vulnerability"` // as its text, unlike its example, has it
}

type vulnSeverity struct {
	Method string `json:"method"`
	Score  string `json:"score"`
}

// finding has the worst severity that any method gives.
func (v *vulnResult) finding() registry.Finding {
	if v.Vulnerability != nil {
		return v.Vulnerability.finding()
	}
	worst := registry.SeverityUnknown
	for _, each := range v.Severity {
		stated := registry.ParseSeverity(each.Score)
		if score, err := strconv.ParseFloat(strings.TrimSpace(each.Score), 64); err == nil {
			stated = registry.SeverityOfScore(score)
		}
		if stated.AtLeast(worst) {
			worst = stated
		}
	}
	return registry.Finding{ID: registry.Shorten(v.ID, maxReported), Severity: worst}
}

// stamp is a time as reports state it; zero when it is none that can be read.
type stamp struct{ time.Time }

// UnmarshalJSON reads RFC 3339, or seconds since the Unix epoch.
func (s *stamp) UnmarshalJSON(raw []byte) error {
	var seconds int64
	var text string
	if json.Unmarshal(raw, &seconds) == nil && seconds > 0 {
		s.Time = time.Unix(seconds, 0).UTC()
	} else if json.Unmarshal(raw, &text) == nil {
		if read, err := time.Parse(time.RFC3339Nano, text); err == nil && read.Year() > 1 {
			s.Time = read.UTC().Truncate(time.Second)
		}
	}
	return nil
}
