package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

const imageDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// cleanHarness is a harness that passes.
func cleanHarness() registry.HarnessResult {
	held := registry.Pass(2*time.Millisecond, "")
	signed := registry.Pass(time.Millisecond, "signed by the configured key")
	return registry.HarnessResult{
		Target: "scanner-image", Image: "registry.example/scanner@" + imageDigest, Digest: imageDigest,
		ProbedAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Resolved: held, Signed: &signed, Scanned: held, Subject: held, Recent: held, Covered: held, Clean: held,
		Report: &registry.ScanReport{
			Format: "trivy", Source: "referrer sha256:bb", Scanner: "trivy 0.68.0", ScannedAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
			Packages: 120, System: "debian 12.8", Severities: map[registry.Severity]int{"low": 3, "high": 1},
		},
		Allowed: []registry.Finding{{ID: "CVE-2026-1", Severity: "high", Package: "openssl", Version: "3.0.1", Allowed: "2026-12-05T00:00:00Z"}},
		Warnings: []string{
			"CVE-2026-1 is allowed for 4 days more",
		},
	}
}

func TestHarnessResult_hasTheDocumentOfTheContract(t *testing.T) {
	t.Parallel()
	passed := cleanHarness()
	golden(t, "harness", passed)
	failed := cleanHarness()
	failed.Signed, failed.Allowed, failed.Warnings = nil, nil, nil
	failed.Clean = registry.Fail(0, registry.BlockingFindings, "1 at or above high: CVE-2026-7 (critical)")
	failed.Blocking, failed.Findings = 1, []registry.Finding{{ID: "CVE-2026-7", Severity: "critical"}}
	golden(t, "harness-failed", failed)
	for _, result := range []registry.HarnessResult{passed, failed} {
		document, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		read, err := registry.DecodeResult(registry.KindHarness, document)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(registry.Result(&result), read); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	}
}

func TestHarnessResult_passesByItsPartsAlone(t *testing.T) {
	t.Parallel()
	if passed := cleanHarness(); !passed.Passed() {
		t.Fatal("what is clean has not passed")
	}
	var nothing registry.HarnessResult
	if nothing.Passed() || nothing.Summary().Outcome != registry.OutcomeFailed {
		t.Error("the zero value has passed, or not failed")
	}
	for name, spoil := range map[string]func(*registry.HarnessResult){
		"resolved": func(r *registry.HarnessResult) { r.Resolved.OK = false }, "signed": func(r *registry.HarnessResult) { r.Signed.OK = false },
		"scanned": func(r *registry.HarnessResult) { r.Scanned.OK = false }, "subject": func(r *registry.HarnessResult) { r.Subject.OK = false },
		"recent": func(r *registry.HarnessResult) { r.Recent.OK = false }, "covered": func(r *registry.HarnessResult) { r.Covered.OK = false },
		"clean": func(r *registry.HarnessResult) { r.Clean.OK = false }, "no report": func(r *registry.HarnessResult) { r.Report = nil },
		"no packages": func(r *registry.HarnessResult) { r.Report.Packages = 0 }, "blocking": func(r *registry.HarnessResult) { r.Blocking = 1 },
		"a finding":      func(r *registry.HarnessResult) { r.Findings = make([]registry.Finding, 1) },
		"no digest":      func(r *registry.HarnessResult) { r.Digest = "" },
		"another digest": func(r *registry.HarnessResult) { r.Digest = "v1" },
	} {
		result := cleanHarness()
		if spoil(&result); result.Passed() || result.Summary().Outcome == registry.OutcomePassed {
			t.Errorf("%s: it has passed", name)
		}
	}
}

func TestHarnessResult_refusesWhatItsPartsDoNotSupport(t *testing.T) {
	t.Parallel()
	passed := cleanHarness()
	document, err := json.Marshal(passed)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"passed is false":         {`"passed":true`, `"passed":false`},
		"a part that failed":      {`"clean":{"ok":true`, `"clean":{"ok":false`},
		"no packages":             {`"packages":120`, `"packages":0`},
		"no packages, accepted":   {`"packages":120`, `"packages":-1`},
		"a blocking finding":      {`"blocking":0`, `"blocking":1`},
		"an unknown cause":        {`"recent":{"ok":true`, `"recent":{"ok":true,"cause":"findings"`},
		"an unknown member":       {`"target"`, `"colour":"green","target"`},
		"a member twice":          {`"blocking":0`, `"blocking":1,"blocking":0`},
		"a member in capitals":    {`"passed":true`, `"Passed":true`},
		"an unknown severity":     {`"severity":"high"`, `"severity":"grave"`},
		"another digest":          {`"digest":"sha256:`, `"digest":"sha512:`},
		"no time":                 {`"probedAt":"2026-11-30T12:00:00.000Z"`, `"probedAt":"now"`},
		"a time in another form":  {`"probedAt":"2026-11-30T12:00:00.000Z"`, `"probedAt":"2026-11-30T12:00:00Z"`},
		"an error beside success": {`"passed":true`, `"error":"x","passed":true`},
	} {
		forged := strings.Replace(string(document), change[0], change[1], 1)
		if forged == string(document) {
			t.Fatalf("%s: the document has no %s", name, change[0])
		}
		if _, err := registry.DecodeResult(registry.KindHarness, json.RawMessage(forged)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func FuzzHarnessResult_neverClaimsToHavePassed(f *testing.F) {
	passed := cleanHarness()
	document, _ := json.Marshal(passed)
	f.Add(document)
	f.Add([]byte(`{"passed":true}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		read, err := registry.DecodeResult(registry.KindHarness, document)
		if err != nil {
			return
		}
		var claim struct {
			Passed bool `json:"passed"`
		}
		if json.Unmarshal(document, &claim) != nil || claim.Passed != read.Passed() {
			t.Errorf("it says %v and is read as %v", claim.Passed, read.Passed())
		}
	})
}

func TestHarnessSummary_saysWhatThePartsSay(t *testing.T) {
	t.Parallel()
	result := cleanHarness()
	summary := result.Summary()
	want := `{"pinned":true,"resolved":true,"signed":true,"scanned":true,"subject":true,"recent":true,"covered":true,"clean":true,"packages":120,"unprovenAccepted":false,"blocking":0}`
	if string(summary.Proof) != want || summary.ImageDigest != imageDigest || summary.Degraded || summary.Latency != 13*time.Millisecond {
		t.Errorf("got %s\n%+v", summary.Proof, summary)
	}
	result.Report.Packages, result.UnprovenAccepted, result.Signed = 0, true, nil
	if summary := result.Summary(); !summary.Degraded || summary.Outcome != registry.OutcomePassed || !strings.Contains(string(summary.Proof), `"signed":null`) {
		t.Errorf("unproven coverage: got %+v", summary)
	}
	result.Recent = registry.Fail(0, registry.StaleScan, "old")
	result.Clean = registry.Fail(0, registry.BlockingFindings, "bad")
	if diff := cmp.Diff([]registry.Cause{registry.StaleScan, registry.BlockingFindings}, result.Summary().Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if got := result.Summary().Reason; got != "recent: stale_scan: old; clean: findings: bad" {
		t.Errorf("the reason is %q", got)
	}
}

func TestParseImage_readsPinnedReferencesOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]registry.ImageReference{
		"registry.example/scanner@" + imageDigest:     {Registry: "registry.example", Repository: "scanner", Digest: imageDigest},
		"registry.example:5000/a/b:v1@" + imageDigest: {Registry: "registry.example:5000", Repository: "a/b", Tag: "v1", Digest: imageDigest},
		"localhost/a@" + imageDigest:                  {Registry: "localhost", Repository: "a", Digest: imageDigest},
		"[::1]:5000/a@" + imageDigest:                 {Registry: "[::1]:5000", Repository: "a", Digest: imageDigest},
		"alpine:3.22@" + imageDigest:                  {Registry: "index.docker.io", Repository: "library/alpine", Tag: "3.22", Digest: imageDigest},
		"docker.io/grafana/grafana@" + imageDigest:    {Registry: "index.docker.io", Repository: "grafana/grafana", Digest: imageDigest},
		"grafana/grafana_x.y__z--w@" + imageDigest:    {Registry: "index.docker.io", Repository: "grafana/grafana_x.y__z--w", Digest: imageDigest},
		"127.0.0.1:5000/tools/scanner@" + imageDigest: {Registry: "127.0.0.1:5000", Repository: "tools/scanner", Digest: imageDigest},
	} {
		got, err := registry.ParseImage(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "alpine", "registry.example/scanner:v1", "registry.example/scanner:latest"} {
		if _, err := registry.ParseImage(text); !errors.Is(err, registry.ErrUnpinned) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"a@sha256:abc", "a@sha512:" + strings.Repeat("a", 128), "a@" + strings.ToUpper(imageDigest), "A@" + imageDigest, "/a@" + imageDigest,
		"a/@" + imageDigest, "a b@" + imageDigest, "user:pass@registry.example/a@" + imageDigest, "registry.example/a:@" + imageDigest,
		"https://registry.example/a@" + imageDigest, "registry.example/../a@" + imageDigest, "registry.example/a?b@" + imageDigest,
		strings.Repeat("a", 600) + "@" + imageDigest,
	} {
		if got, err := registry.ParseImage(text); err == nil || errors.Is(err, registry.ErrUnpinned) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestSeverity_isOrdered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]registry.Severity{
		"HIGH": "high", " Critical ": "critical", "moderate": "medium", "Important": "high", "none": "unknown", "": "unknown", "5.2": "unknown",
	} {
		if got := registry.ParseSeverity(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for score, want := range map[float64]registry.Severity{9.8: "critical", 9: "critical", 8.9: "high", 4: "medium", 0.1: "low", 0: "unknown", -1: "unknown"} {
		if got := registry.SeverityOfScore(score); got != want {
			t.Errorf("%v is %s, want %s", score, got, want)
		}
	}
	if !registry.SeverityHigh.AtLeast(registry.SeverityHigh) || registry.SeverityMedium.AtLeast(registry.SeverityHigh) || registry.Severity("grave").AtLeast(registry.SeverityUnknown) {
		t.Error("the order is another one")
	}
}

func TestHarnessResult_tellsPartsThatNobodyJudgedFromThoseThatFailed(t *testing.T) {
	t.Parallel()
	unreached := registry.Fail(0, registry.Refused, "refused")
	asked := unreached
	asked.LatencyMs = 3
	result := registry.HarnessResult{
		Resolved: asked, Scanned: unreached, Subject: unreached, Recent: registry.Pass(0, ""), Covered: registry.Fail(0, registry.NoPackages, "none"), Clean: asked,
	}
	for part, want := range map[registry.HarnessPart]bool{
		registry.Resolved: false, registry.Signed: false, registry.Scanned: true, registry.Subject: true,
		registry.Recent: false, registry.Covered: false, registry.Clean: false, "nothing": false,
	} {
		if named := strings.Contains(string(result.Summary().Proof), `"notJudged":["scanned","subject"]`); !named {
			t.Fatalf("its proof does not name the parts that were not judged: %s", result.Summary().Proof)
		}
		if got := result.NotJudged(part); got != want {
			t.Errorf("%s was not judged: %v, want %v", part, got, want)
		}
	}
}
