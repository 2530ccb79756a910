package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestHarnessTable_isWorthReading(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	digest := "sha256:" + strings.Repeat("a1", 32)
	held := func(detail string) registry.GateResult { return registry.Pass(0, detail) }
	signed := registry.Pass(3*time.Millisecond, "signed by the configured key")
	passed := registry.HarnessResult{
		Target: "scanner-image", Image: "registry.example/scanner@" + digest, Digest: digest, ProbedAt: at(),
		Resolved: registry.Pass(12*time.Millisecond, "the registry has the digest"), Signed: &signed,
		Scanned: registry.Pass(40*time.Millisecond, "Trivy JSON of 2026-11-29 12:00 UTC (referrer sha256:bb), the newest of 2"),
		Subject: held("the report states the digest"), Recent: held("the scan is 24 hours old"), Covered: held("120 packages on debian 12.8"),
		Clean: held("4 findings, none at or above high but 1 allowed"),
		Report: &registry.ScanReport{
			Format: "trivy", Source: "referrer sha256:bb", Scanner: "trivy 0.68.0", ScannedAt: at().Add(-24 * time.Hour), Packages: 120,
			Severities: map[registry.Severity]int{registry.SeverityLow: 3, registry.SeverityHigh: 1},
		},
		Allowed:  []registry.Finding{{ID: "CVE-2026-1", Severity: registry.SeverityHigh, Package: "openssl", Version: "3.0.1", Allowed: "2026-12-05T00:00:00Z"}},
		Warnings: []string{"CVE-2026-1 is allowed for 4 days more"},
	}
	bad := passed
	bad.Signed, bad.Allowed, bad.Warnings = nil, nil, nil
	bad.Clean = registry.Fail(0, registry.BlockingFindings, "12 at or above high: CVE-\x1b[2J (critical)")
	bad.Blocking = 12
	for i := range bad.Blocking {
		bad.Findings = append(bad.Findings, registry.Finding{ID: fmt.Sprintf("CVE-%d\x1b[2J\u202e", i), Severity: registry.SeverityCritical, Package: "a\nb", Fixed: "2"})
	}
	gone := registry.HarnessResult{Target: "scanner-image", Image: passed.Image, Digest: digest, ProbedAt: at()}
	none := registry.Fail(0, registry.MissingImage, "the registry does not have it")
	gone.Resolved, gone.Scanned, gone.Subject, gone.Recent, gone.Covered, gone.Clean = none, none, none, none, none, none
	for _, result := range []*registry.HarnessResult{&passed, &bad, &gone} {
		found := &registry.Examination{Reading: registry.Reading{Name: "scanner-image", Kind: registry.KindHarness}}
		fmt.Fprintf(&s.transcript, "%s\n", examinationText(found, result, nil, "", painter{}))
	}
	s.golden(t, "harness.txt")
	if obeyed(s.transcript.String()) {
		t.Error("the table lets control characters through")
	}
}
