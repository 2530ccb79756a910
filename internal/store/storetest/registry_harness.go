package storetest

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// harnessResults stores a pass of a harness in each way in which one may pass, and
// a failure.
func harnessResults(t *testing.T, location string) {
	db := open(t, location)
	held := registry.Pass(0, "")
	passed := registry.HarnessResult{
		Target: "image", Digest: "sha256:" + strings.Repeat("a", 64), ProbedAt: day(),
		Resolved: held, Scanned: held, Subject: held, Recent: held, Covered: held, Clean: held,
		Report: &registry.ScanReport{Format: "trivy", Source: "file", Packages: 3},
	}
	signed := passed
	signed.Signed = &held
	unproven := passed
	unproven.Report, unproven.UnprovenAccepted = &registry.ScanReport{Format: "sarif", Source: "file"}, true
	failed := passed
	failed.Clean = registry.Fail(0, registry.BlockingFindings, "1 at or above high")
	for i, result := range []registry.HarnessResult{passed, signed, unproven, failed} {
		document, err := result.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		record := registry.Record{
			ID:           idAt(day()),
			Registration: registry.Registration{Name: "image", Kind: registry.KindHarness, Definition: "sha256:a"},
			Policy:       policy(), Summary: result.Summary(), Document: document,
		}
		if err := db.Record(t.Context(), nil, []registry.Record{record}); err != nil {
			t.Fatalf("result %d: %v", i, err)
		}
		kept, err := db.Result(t.Context(), record.ID)
		if err != nil || kept.Seen.Outcome != result.Summary().Outcome || kept.Kind != registry.KindHarness {
			t.Errorf("result %d: got %+v, %v", i, kept, err)
		}
	}
}
