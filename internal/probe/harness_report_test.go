package probe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const anyDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestReadReport_readsEveryForm(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	trivy := `{"SchemaVersion":2,"CreatedAt":"2026-11-29T10:00:00.123456789Z","Trivy":{"Version":"0.68.0"},"Metadata":{"RepoDigests":["a@` + anyDigest + `"]},"Results":[{"Class":"lang-pkgs","Packages":[{"Name":"a"},{"Name":"b"}],"Vulnerabilities":[{"VulnerabilityID":"CVE-1","PkgName":"a","Severity":"HIGH"}],"Secrets":[{"RuleID":"key","Severity":"CRITICAL"}],"Misconfigurations":[{"ID":"DS001","Severity":"LOW","Status":"PASS"}]}]}`
	predicate := `{"scanner":{"uri":"u","version":"1","db":{"lastUpdate":"2026-11-29T10:00:00Z"},"result":%s},"metadata":{"scanFinishedOn":"2026-11-29T10:00:00Z"}}`
	statement := func(of, result string) string {
		return fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":%s}`, strings.TrimPrefix(anyDigest, "sha256:"), of, fmt.Sprintf(predicate, result))
	}
	listed := `[{"id":"CVE-1","severity":[{"method":"nvd","score":"medium"},{"method":"cvss_score","score":"9.1"}]},{"vulnerability":{"id":"CVE-2","severity":[]}}]`
	envelope := func(of string) string {
		return fmt.Sprintf(`{"payloadType":"application/vnd.in-toto+json","payload":%q,"signatures":[]}`, base64.StdEncoding.EncodeToString([]byte(of)))
	}
	cosign := statement("https://cosign.sigstore.dev/attestation/vuln/v1", trivy)
	for name, row := range map[string]struct {
		document, format, found string
		packages                int
	}{
		"Trivy":                  {trivy, "trivy", "[CVE-1 high] [key critical]", 2},
		"Trivy behind a mark":    {"\ufeff" + trivy, "trivy", "[CVE-1 high] [key critical]", 2},
		"a statement of cosign":  {cosign, "vuln", "[CVE-1 high] [key critical]", 2},
		"an envelope":            {envelope(cosign), "vuln", "[CVE-1 high] [key critical]", 2},
		"a bundle":               {`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":` + envelope(cosign) + `}`, "vuln", "[CVE-1 high] [key critical]", 2},
		"an old draft of cosign": {strings.NewReplacer(`"scanner":{`, `"scanners":[{`, `},"metadata"`, `}],"metadata"`).Replace(cosign), "vuln", "[CVE-1 high] [key critical]", 2},
		"in-toto 0.1":            {statement("https://in-toto.io/attestation/vulns/v0.1", listed), "vuln", "[CVE-1 critical] [CVE-2 unknown]", 0},
		"in-toto 0.2":            {statement("https://in-toto.io/attestation/vulns/v0.2", listed), "vuln", "[CVE-1 critical] [CVE-2 unknown]", 0},
		"SARIF": {
			`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Trivy","rules":[{"id":"CVE-1","properties":{"security-severity":"9.8"}},{"id":"CVE-2","defaultConfiguration":{"level":"error"}}]}},"invocations":[{"endTimeUtc":"2026-11-29T10:00:00Z"}],"properties":{"repoDigests":["a@` + anyDigest + `"]},"results":[{"ruleId":"CVE-1","level":"note"},{"ruleIndex":1},{"ruleId":"CVE-3"},{"ruleId":"CVE-4","kind":"pass"}]}]}`,
			"sarif", "[CVE-1 critical] [CVE-2 high] [CVE-3 medium]", 0,
		},
	} {
		got, err := readReport([]byte(row.document))
		var found []string
		for _, each := range got.findings {
			found = append(found, fmt.Sprintf("[%s %s]", each.ID, each.Severity))
		}
		if err != nil || got.format != row.format || strings.Join(found, " ") != row.found || got.packages != row.packages {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if !got.scannedAt.Equal(at) || got.wrongSubject(anyDigest) != "" || got.databaseAt.IsZero() != (row.format != "vuln") {
			t.Errorf("%s: scanned at %v, database of %v, about %v", name, got.scannedAt, got.databaseAt, got.digests)
		}
	}
}

func TestReadReport_refusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]error{
		``: errNotJSON, `{`: errNotJSON, `[]`: errNotJSON, `"x"`: errNotJSON, `{}{}`: errNotJSON, `null`: errOtherDocument,
		`{}`: errOtherDocument, `{"bomFormat":"CycloneDX","version":1}`: errOtherDocument, `{"SchemaVersion":0}`: errOtherDocument,
		`{"payload":"e30="}`: errOtherDocument, `{"predicateType":"https://slsa.dev/provenance/v1","predicate":{}}`: errOtherDocument,
		`{"version":"2.0.0","runs":[]}`: nil, `{"payload":"???"}`: nil, `{"SchemaVersion":"two"}`: errOtherDocument,
		`{"predicateType":"https://cosign.sigstore.dev/attestation/vuln/v1","predicate":{"scanner":{"result":{"matches":[]}}}}`: nil,
	} {
		if _, err := readReport([]byte(document)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", document, err, want)
		}
	}
}

// FuzzReadReport wants no report to be taken for better than it is: without
// packages and without a time it says so, and every finding has a severity.
func FuzzReadReport(f *testing.F) {
	f.Add([]byte(`{"SchemaVersion":2,"CreatedAt":"2026-11-29T10:00:00Z","Results":[{"Class":"os-pkgs","Packages":[{}]}]}`))
	f.Add([]byte(`{"version":"2.1.0","runs":[{"results":[{"ruleIndex":-1}]}]}`))
	f.Add([]byte(`{"payload":"eyJwcmVkaWNhdGUiOnt9fQ=="}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := readReport(document)
		if err != nil {
			return
		}
		if got.format == formatSARIF && (got.packages > 0 || got.statesCoverage) || got.packages < 0 {
			t.Errorf("it proves coverage: %+v", got)
		}
		for _, each := range got.findings {
			if !each.Severity.AtLeast(registry.SeverityUnknown) {
				t.Errorf("a finding has the severity %q", each.Severity)
			}
		}
	})
}

func TestReadReport_readsALargeOne(t *testing.T) {
	t.Parallel()
	var packages, vulnerabilities []string
	for i := range 40_000 {
		packages = append(packages, fmt.Sprintf(`{"Name":"p%d","Version":"1","Licenses":[%q]}`, i, strings.Repeat("x", 400)))
		vulnerabilities = append(vulnerabilities, fmt.Sprintf(`{"VulnerabilityID":"CVE-%d","PkgName":"p%d","Severity":"LOW"}`, i, i))
	}
	document := `{"SchemaVersion":2,"Results":[{"Class":"os-pkgs","Packages":[` + strings.Join(packages, ",") + `],"Vulnerabilities":[` + strings.Join(vulnerabilities, ",") + `]}]}`
	got, err := readReport([]byte(document))
	if err != nil || got.packages != 40_000 || len(got.findings) != 40_000 {
		t.Errorf("%d bytes: %d packages, %d findings, %v", len(document), got.packages, len(got.findings), err)
	}
}
