package probe

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// trivyReport is what is read of the JSON of Trivy.
type trivyReport struct {
	CreatedAt    stamp         `json:"CreatedAt"`
	ArtifactName string        `json:"ArtifactName"`
	Results      []trivyResult `json:"Results"`
	Metadata     struct {
		OS *struct {
			Family string `json:"Family"`
			Name   string `json:"Name"`
			EOSL   bool   `json:"EOSL"`
		} `json:"OS"`
		RepoDigests []string `json:"RepoDigests"`
	} `json:"Metadata"`
	Trivy struct {
		Version string `json:"Version"`
	} `json:"Trivy"`
}

type trivyResult struct {
	Class    string     `json:"Class"`
	Packages []struct{} `json:"Packages"` // counted

	Vulnerabilities []struct {
		VulnerabilityID  string `json:"VulnerabilityID"`
		PkgName          string `json:"PkgName"`
		InstalledVersion string `json:"InstalledVersion"`
		FixedVersion     string `json:"FixedVersion"`
		Severity         string `json:"Severity"`
	} `json:"Vulnerabilities"`
	Secrets           []trivyOther `json:"Secrets"`
	Misconfigurations []trivyOther `json:"Misconfigurations"`
}

// trivyOther is a finding that is in no package.
type trivyOther struct {
	RuleID   string `json:"RuleID"`
	ID       string `json:"ID"`
	Severity string `json:"Severity"`
	Status   string `json:"Status"`
}

// osPackages is the class of the result that Trivy gives for a system it knows.
const osPackages = "os-pkgs"

func (t *trivyReport) report() scanReport {
	report := scanReport{
		format: formatTrivy, scanner: strings.TrimSpace("trivy " + registry.Shorten(t.Trivy.Version, maxReported)),
		scannedAt: t.CreatedAt.Time, statesCoverage: true,
	}
	for _, name := range append(t.Metadata.RepoDigests, t.ArtifactName) {
		report.digests = append(report.digests, pinnedIn(name)...)
	}
	knownSystem := false
	for i := range t.Results {
		result := &t.Results[i]
		knownSystem = knownSystem || result.Class == osPackages
		vulnerable := map[string]bool{}
		for _, each := range result.Vulnerabilities {
			vulnerable[each.PkgName] = true
			report.findings = append(report.findings, registry.Finding{
				ID: registry.Shorten(each.VulnerabilityID, maxReported), Severity: registry.ParseSeverity(each.Severity),
				Package: registry.Shorten(each.PkgName, maxReported), Version: registry.Shorten(each.InstalledVersion, maxReported),
				Fixed: registry.Shorten(each.FixedVersion, maxReported),
			})
		}
		report.packages += max(len(result.Packages), len(vulnerable))
		for _, each := range append(result.Secrets, result.Misconfigurations...) {
			if each.Status != "PASS" {
				report.findings = append(report.findings, registry.Finding{
					ID: registry.Shorten(each.RuleID+each.ID, maxReported), Severity: registry.ParseSeverity(each.Severity),
				})
			}
		}
	}
	if system := t.Metadata.OS; system != nil && system.Family != "" {
		report.system = registry.Shorten(strings.TrimSpace(system.Family+" "+system.Name), maxReported)
		switch {
		case system.EOSL:
			report.unsupported = report.system + " is past its end of life, so that nobody reports its vulnerabilities any more"
		case !knownSystem:
			report.unsupported = "the scanner has no result for the packages of " + report.system
		}
	}
	return report
}

// pinnedIn is the digest at the end of a reference, if it has one.
func pinnedIn(reference string) []string {
	_, digest, _ := strings.Cut(reference, "@")
	if !registry.IsImageDigest(digest) {
		return nil
	}
	return []string{digest}
}

// sarifRun is what is read of a run of SARIF 2.1.0 (OASIS, sections 3.14 to 3.27).
type sarifRun struct {
	Tool struct {
		Driver struct {
			Name    string      `json:"name"`
			Version string      `json:"version"`
			Rules   []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Invocations []struct {
		EndTime    stamp `json:"endTimeUtc"`
		StartTime  stamp `json:"startTimeUtc"`
		Successful *bool `json:"executionSuccessful"`
	} `json:"invocations"`
	Results    []sarifResult `json:"results"`
	Properties struct {
		ImageName   string   `json:"imageName"` // these two as Trivy writes them
		RepoDigests []string `json:"repoDigests"`
	} `json:"properties"`
}

type sarifRule struct {
	ID         string `json:"id"`
	Properties struct {
		Severity json.RawMessage `json:"security-severity"`
	} `json:"properties"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifResult struct {
	RuleID    string `json:"ruleId"`
	RuleIndex *int   `json:"ruleIndex"`
	Kind      string `json:"kind"`
	Level     string `json:"level"`
}

// readSARIF reads what SARIF says of findings and of time. It has no place for
// what was looked at. The oldest of its runs says how old it is.
func readSARIF(runs []sarifRun) scanReport {
	report := scanReport{format: formatSARIF}
	if len(runs) == 0 {
		report.failed = "it holds no run of a scanner"
		return report
	}
	var times []time.Time
	for i := range runs {
		run := &runs[i]
		report.scanner = registry.Shorten(strings.TrimSpace(run.Tool.Driver.Name+" "+run.Tool.Driver.Version), maxReported)
		for _, name := range append(run.Properties.RepoDigests, run.Properties.ImageName) {
			report.digests = append(report.digests, pinnedIn(name)...)
		}
		ended, failed := run.ended()
		times = append(times, ended)
		report.failed = cmp.Or(report.failed, failed)
		for _, result := range run.Results {
			if result.isFinding() {
				report.findings = append(report.findings, run.finding(result))
			}
		}
	}
	report.scannedAt = slices.MinFunc(times, time.Time.Compare)
	return report
}

// ended is when the earliest invocation of a run ended, zero when one does not
// say, and why one did not succeed.
func (run *sarifRun) ended() (at time.Time, failed string) {
	for i, invocation := range run.Invocations {
		end := cmp.Or(invocation.EndTime.Time, invocation.StartTime.Time)
		if i == 0 || end.Before(at) {
			at = end
		}
		if invocation.Successful != nil && !*invocation.Successful {
			failed = "it says that the scan did not succeed"
		}
	}
	return at, failed
}

// isFinding leaves aside what a scanner reports as sound (section 3.27.9).
func (r sarifResult) isFinding() bool {
	return slices.Contains([]string{"", "fail", "open", "review"}, r.Kind)
}

// finding has the severity of its rule, or else that of its level.
func (run *sarifRun) finding(result sarifResult) registry.Finding {
	rules, rule := run.Tool.Driver.Rules, sarifRule{}
	if at := result.RuleIndex; at != nil && *at >= 0 && *at < len(rules) {
		rule = rules[*at]
	} else {
		for _, each := range rules {
			if each.ID == result.RuleID {
				rule = each
			}
		}
	}
	id := result.RuleID
	if id == "" {
		id = rule.ID
	}
	level := result.Level
	if level == "" {
		level = rule.Default.Level
	}
	severity := severityOfLevel(level)
	if score, err := strconv.ParseFloat(strings.Trim(string(rule.Properties.Severity), `" `), 64); err == nil {
		severity = registry.SeverityOfScore(score)
	}
	return registry.Finding{ID: registry.Shorten(id, maxReported), Severity: severity}
}

// severityOfLevel takes the default of a level, which is warning, where there is
// none (section 3.27.10).
func severityOfLevel(level string) registry.Severity {
	switch level {
	case "error":
		return registry.SeverityHigh
	case "note":
		return registry.SeverityLow
	case "none":
		return registry.SeverityUnknown
	}
	return registry.SeverityMedium
}
