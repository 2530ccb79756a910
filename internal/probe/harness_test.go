package probe_test

import (
	"cmp"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	oci "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	day        = 24 * time.Hour
	typeTrivy  = "application/vnd.aquasec.trivy.report+json"
	typeSARIF  = "application/sarif+json"
	typeDSSE   = "application/vnd.dsse.envelope.v1+json"
	cosignVuln = "https://cosign.sigstore.dev/attestation/vuln/v1"
	inTotoVuln = "https://in-toto.io/attestation/vulns/v0.1"
)

func TestHarness_passesOnRegistriesWithAndWithoutReferrers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]oci.Option{"with": {oci.WithReferrersSupport(true)}, "without": nil} {
		image := push(t, ociRegistry(t, nil, options...).URL)
		image.attach(t, typeTrivy, trivy{age: day, digest: image.digest(), packages: 12, found: []string{"CVE-2026-1 LOW"}}.json())
		got := image.probed(t)
		checkHarness(t, got)
		summary := got.Summary()
		if got.Report == nil || got.Report.Packages != 12 || got.Report.System != "debian 12.8" || got.Report.Severities["low"] != 1 {
			t.Errorf("%s: the report is %+v", name, got.Report)
		}
		if summary.ImageDigest != image.digest() || summary.Outcome != registry.OutcomePassed || summary.Degraded {
			t.Errorf("%s: got %+v", name, summary)
		}
	}
}

// faults are those of the contract: what is made wrong of an image that passes,
// the cause, and what the detail says.
func faults() map[string]struct {
	make   func(*testing.T, *pushed)
	cause  registry.Cause
	detail string
} {
	return map[string]struct {
		make   func(*testing.T, *pushed)
		cause  registry.Cause
		detail string
	}{
		"no report": {func(*testing.T, *pushed) {}, registry.NoReport, "neither the registry nor a file has a report"},
		"a stale scan": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: 9 * day, digest: p.digest(), packages: 1}.json())
		}, registry.StaleScan, "the scan is 9 days old, and at most 7 days are permitted"},
		"a scan from the future": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: -day, digest: p.digest(), packages: 1}.json())
		}, registry.StaleScan, "the scan is dated 24 hours ahead of now"},
		"a scan without a time": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, strings.Replace(trivy{digest: p.digest(), packages: 1}.json(), "CreatedAt", "Created", 1))
		}, registry.StaleScan, "does not state the time of the scan"},
		"a stale database": {func(t *testing.T, p *pushed) {
			p.spec.Scan.DatabaseMaxAge = 3 * day
			own := trivy{packages: 1}.json()
			p.keep(t, ".att", attestation(statement(p.digest(), cosignVuln, vulnerabilities(day, 4*day, jsonOf(own)))))
		}, registry.StaleDatabase, "the scanner's database is 4 days old, and at most 3 days are permitted"},
		"a database of unknown age": {func(t *testing.T, p *pushed) {
			p.spec.Scan.DatabaseMaxAge = 3 * day
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1}.json())
		}, registry.StaleDatabase, "does not state the time of the scanner's database"},
		"a system past its end of life": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1, eosl: true}.json())
		}, registry.UnsupportedSystem, "debian 12.8 is past its end of life"},
		"a system that the scanner does not know": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1, noSystem: true}.json())
		}, registry.UnsupportedSystem, "no result for the packages of debian"},
		"no packages": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest()}.json())
		}, registry.NoPackages, "the scanner saw no package"},
		"SARIF, which shows no coverage": {func(t *testing.T, p *pushed) {
			p.attach(t, typeSARIF, sarif(time.Hour))
		}, registry.NoPackages, "does not show which packages were seen"},
		"a report about another digest": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: "sha256:" + strings.Repeat("0", 64), packages: 1}.json())
		}, registry.WrongSubject, "it is about sha256:000"},
		"an attestation about another digest": {func(t *testing.T, p *pushed) {
			own := trivy{digest: p.digest(), packages: 1}.json()
			p.keep(t, ".att", attestation(statement("sha256:"+strings.Repeat("0", 64), cosignVuln, vulnerabilities(0, 0, jsonOf(own)))))
		}, registry.WrongSubject, "it is about sha256:000"},
		"a report in a file that names no image": {func(t *testing.T, p *pushed) {
			p.spec.Scan.Reports = []string{file(t, trivy{packages: 1}.json())}
		}, registry.WrongSubject, "does not say which image"},
		"two reports of which the newer is bad": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1}.json())
			p.attach(t, typeTrivy, trivy{age: time.Hour, digest: p.digest(), packages: 1, found: []string{"CVE-2026-7 CRITICAL"}}.json())
		}, registry.BlockingFindings, "1 at or above high: CVE-2026-7 (critical, openssl 3.0.1, fixed in 3.0.9)"},
		"two reports of one moment of which one is bad": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1}.json())
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1, found: []string{"CVE-2026-7 HIGH"}}.json())
		}, registry.BlockingFindings, "CVE-2026-7"},
		"a newer bad report in a file": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1}.json())
			p.spec.Scan.Reports = []string{file(t, trivy{digest: p.digest(), packages: 1, found: []string{"CVE-2026-7 HIGH"}}.json())}
		}, registry.BlockingFindings, "CVE-2026-7"},
		"an allowance that has ended": {func(t *testing.T, p *pushed) {
			p.spec.Scan.Allow = []registry.Allowance{{ID: "CVE-2026-7", Until: ofHarness.Add(-time.Second)}}
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1, found: []string{"CVE-2026-7 HIGH"}}.json())
		}, registry.BlockingFindings, "allowed until 2026-11-30 11:59 UTC"},
		"a report that cannot be read": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1}.json())
			p.attach(t, typeSARIF, `{"version":"2.1.0",`)
		}, registry.NotJSON, "it is not a JSON object"},
		"a file that is not there": {func(t *testing.T, p *pushed) {
			p.spec.Scan.Reports = []string{filepath.Join(t.TempDir(), "none.json")}
		}, registry.NoReport, "none.json cannot be read"},
		"a scan that did not succeed": {func(t *testing.T, p *pushed) {
			p.spec.Scan.AcceptUnprovenCoverage = true
			p.attach(t, typeSARIF, strings.Replace(sarif(0), `"endTimeUtc"`, `"executionSuccessful":false,"endTimeUtc"`, 1))
		}, registry.NoReport, "the scan did not succeed"},
		"no image": {func(_ *testing.T, p *pushed) {
			p.spec.Image = p.repository.Name() + "@sha256:" + strings.Repeat("1", 64)
		}, registry.MissingImage, "the registry does not have tools/scanner@sha256:111"},
		"a moved tag": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1}.json())
			p.spec.Image = strings.Replace(p.spec.Image, "@", ":v1@", 1)
			other, err := random.Image(64, 1)
			must(t, err)
			must(t, remote.Write(p.repository.Tag("v1"), other))
		}, registry.MovedTag, "the tag v1 points at sha256:"},
		"a tag that is gone": {func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1}.json())
			p.spec.Image = strings.Replace(p.spec.Image, "@", ":v2@", 1)
		}, registry.MovedTag, "the tag v2 is gone"},
		"too many referrers": {func(t *testing.T, p *pushed) {
			for i := range 65 {
				p.attach(t, typeTrivy, trivy{age: time.Duration(i) * time.Minute, digest: p.digest(), packages: 1}.json())
			}
		}, registry.TooLarge, "more than 64 manifests that refer to the image"},
	}
}

func TestHarness_failsWithTheCauseOfEachFault(t *testing.T) {
	t.Parallel()
	for called, fault := range faults() {
		t.Run(called, func(t *testing.T) {
			t.Parallel()
			image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
			fault.make(t, image)
			got := image.probed(t)
			checkHarness(t, got, fault.cause)
			if !strings.Contains(got.Error(), fault.detail) {
				t.Errorf("got %q, which does not tell of %q", got.Error(), fault.detail)
			}
			if got.Summary().Outcome != registry.OutcomeFailed {
				t.Errorf("the outcome is %s", got.Summary().Outcome)
			}
		})
	}
}

func TestHarness_passesWithWhatMayPass(t *testing.T) {
	t.Parallel()
	for called, attach := range map[string]func(*testing.T, *pushed){
		"an older bad report": func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{age: 2 * day, digest: p.digest(), packages: 1, found: []string{"CVE-2026-7 HIGH"}}.json())
			p.attach(t, typeTrivy, trivy{age: day, digest: p.digest(), packages: 1}.json())
		},
		"a report that is attached and names no image": func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{packages: 1}.json())
		},
		"a report in a file": func(t *testing.T, p *pushed) {
			p.spec.Scan.Reports = []string{file(t, trivy{digest: p.digest(), packages: 1}.json())}
		},
		"a tag that has not moved": func(t *testing.T, p *pushed) {
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1}.json())
			p.spec.Image = strings.Replace(p.spec.Image, "@", ":v1@", 1)
		},
		"an attestation of cosign with its database": func(t *testing.T, p *pushed) {
			p.spec.Scan.DatabaseMaxAge = 3 * day
			p.keep(t, ".att", attestation(statement(p.digest(), cosignVuln, vulnerabilities(day, day, jsonOf(trivy{packages: 1}.json())))))
		},
		"other things that are attached": func(t *testing.T, p *pushed) {
			p.attach(t, "application/spdx+json", `{"spdxVersion":"SPDX-2.3"}`)
			p.attach(t, "application/vnd.example.notes+json", `{"note":"hello"}`)
			p.attach(t, typeDSSE, statement(p.digest(), "https://slsa.dev/provenance/v1", map[string]any{"buildType": "x"}))
			p.attach(t, typeTrivy, trivy{digest: p.digest(), packages: 1}.json())
		},
	} {
		t.Run(called, func(t *testing.T) {
			t.Parallel()
			image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
			attach(t, image)
			checkHarness(t, image.probed(t))
		})
	}
}

func TestHarness_isDegradedWithoutProofOfCoverage(t *testing.T) {
	t.Parallel()
	for called, attach := range map[string]func(*testing.T, *pushed){
		"SARIF": func(t *testing.T, p *pushed) { p.attach(t, typeSARIF, sarif(time.Hour, "CVE-2026-2 3.1")) },
		"in-toto": func(t *testing.T, p *pushed) {
			p.attach(t, typeDSSE, statement(p.digest(), inTotoVuln, vulnerabilities(day, day, []any{
				map[string]any{"id": "CVE-2026-2", "severity": []any{map[string]string{"method": "nvd", "score": "medium"}}},
			})))
		},
	} {
		image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
		attach(t, image)
		checkHarness(t, image.probed(t), registry.NoPackages)
		image.spec.Scan.AcceptUnprovenCoverage = true
		got := image.probed(t)
		checkHarness(t, got)
		if summary := got.Summary(); !summary.Degraded || !strings.Contains(summary.Reason, "accepted") || !got.UnprovenAccepted {
			t.Errorf("%s: got %+v", called, summary)
		}
		image.spec.Scan.FailOn = registry.SeverityLow
		checkHarness(t, image.probed(t), registry.BlockingFindings)
	}
}

func TestHarness_warnsOfAnAllowanceThatEndsSoon(t *testing.T) {
	t.Parallel()
	image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1, found: []string{"CVE-2026-7 HIGH"}}.json())
	for days, warned := range map[int]bool{5: true, 30: false} {
		image.spec.Scan.Allow = []registry.Allowance{{ID: "cve-2026-7", Until: ofHarness.Add(time.Duration(days) * day)}}
		got := image.probed(t)
		checkHarness(t, got)
		if len(got.Allowed) != 1 || (len(got.Warnings) == 1) != warned {
			t.Errorf("%d days: allowed %v, warnings %q", days, got.Allowed, got.Warnings)
		}
	}
}

func TestHarness_verifiesTheSignatureOverTheDigest(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	for _, key := range []crypto.Signer{ecdsaKey(t), ed, rsaKey} {
		image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
		image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
		image.spec.SignatureKey = publicPEM(t, key)
		checkHarness(t, image.probed(t), registry.BadSignature) // none yet

		image.keep(t, ".sig", signature(t, ecdsaKey(t), image.digest()))
		checkHarness(t, image.probed(t), registry.BadSignature) // of a wrong key

		image.keep(t, ".sig", signature(t, key, "sha256:"+strings.Repeat("0", 64)))
		got := image.probed(t)
		checkHarness(t, got, registry.BadSignature) // over another image
		if !strings.Contains(got.Error(), "signed another image") {
			t.Errorf("got %q", got.Error())
		}
		image.keep(t, ".sig", signature(t, ecdsaKey(t), image.digest()), signature(t, key, image.digest()))
		checkHarness(t, image.probed(t))
	}
}

func TestHarness_verifiesTheBundleOfASignature(t *testing.T) {
	t.Parallel()
	key := ecdsaKey(t)
	for called, row := range map[string]struct {
		signer    crypto.Signer
		predicate string
		digest    string // empty for that of the image
		holds     bool
	}{
		"right":                {key, "https://sigstore.dev/cosign/sign/v1", "", true},
		"of another key":       {ecdsaKey(t), "https://sigstore.dev/cosign/sign/v1", "", false},
		"over another image":   {key, "https://sigstore.dev/cosign/sign/v1", "sha256:" + strings.Repeat("0", 64), false},
		"of another statement": {key, "https://slsa.dev/provenance/v1", "", false},
	} {
		image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
		image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
		image.spec.SignatureKey = publicPEM(t, key)
		about := cmp.Or(row.digest, image.digest())
		image.attach(t, "application/vnd.dev.sigstore.bundle.v0.3+json", bundle(t, row.signer, about, row.predicate))
		if row.holds {
			checkHarness(t, image.probed(t))
		} else {
			checkHarness(t, image.probed(t), registry.BadSignature)
		}
		if t.Failed() {
			t.Fatal(called)
		}
	}
}

func TestHarness_needsAKeyThatIsOne(t *testing.T) {
	t.Parallel()
	image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
	image.spec.SignatureKey = registry.SecretText("no key")
	checkHarness(t, image.probed(t), registry.NotConfigured)
}

func TestHarness_keepsANamedNumberOfFindings(t *testing.T) {
	t.Parallel()
	var found []string
	for i := range 3 * registry.MaxFindings {
		found = append(found, fmt.Sprintf("CVE-2026-%03d HIGH", i))
	}
	image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1, found: append(found, "CVE-2026-999 CRITICAL")}.json())
	got := image.probed(t)
	checkHarness(t, got, registry.BlockingFindings)
	if len(got.Findings) != registry.MaxFindings || got.Blocking != 3*registry.MaxFindings+1 || got.Findings[0].ID != "CVE-2026-999" {
		t.Errorf("%d of %d, first %v", len(got.Findings), got.Blocking, got.Findings[0])
	}
}

// sarif is a report of the age with results "RULE CVSS-SCORE".
func sarif(age time.Duration, found ...string) string {
	rules, results := []any{}, []any{}
	for i, each := range found {
		id, score, _ := strings.Cut(each, " ")
		rules = append(rules, map[string]any{"id": id, "properties": map[string]string{"security-severity": score}})
		results = append(results, map[string]any{"ruleId": id, "ruleIndex": i, "level": "note"})
	}
	return asJSON(map[string]any{"version": "2.1.0", "runs": []any{map[string]any{
		"tool":        map[string]any{"driver": map[string]any{"name": "Grype", "version": "0.99", "rules": rules}},
		"invocations": []any{map[string]string{"endTimeUtc": ofHarness.Add(-age).Format(time.RFC3339)}},
		"results":     results,
	}}})
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
