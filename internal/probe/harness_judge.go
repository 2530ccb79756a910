package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

const (
	// MaxAhead is how far ahead of our clock a report may be dated.
	MaxAhead = 10 * time.Minute
	// AllowanceEnds is how long before its end an allowance is warned of.
	AllowanceEnds = 14 * 24 * time.Hour

	maxNamedFindings = 3 // that a detail names
)

// judgement is what becomes of the reports about one image.
type judgement struct {
	scan   registry.Scan
	digest string
	now    time.Time
	result *registry.HarnessResult
}

// judge fills the parts that a report decides. There may be none.
func (j judgement) judge(reports []scanReport) {
	if len(reports) == 0 {
		j.unjudged(registry.Fail(0, registry.NoReport, "neither the registry nor a file has a report about the image"))
		return
	}
	about := slices.DeleteFunc(slices.Clone(reports), func(r scanReport) bool { return r.wrongSubject(j.digest) != "" })
	if len(about) == 0 {
		newest := slices.MaxFunc(reports, j.older)
		failed := registry.Fail(0, registry.WrongSubject, registry.Shorten(newest.source+": "+newest.wrongSubject(j.digest), registry.MaxDetail))
		j.unjudged(failed)
		j.result.Scanned = registry.Pass(0, newest.named())
		return
	}
	newest := slices.MaxFunc(about, j.older)
	if others := len(reports) - len(about); others > 0 {
		j.warn("%d of %d reports are about another image, or do not say about which, and were left aside", others, len(reports))
	}
	j.result.Report = newest.shown()
	j.result.Scanned = registry.Pass(0, fmt.Sprintf("%s, the newest of %d", newest.named(), len(about)))
	if newest.failed != "" {
		j.result.Scanned = registry.Fail(0, registry.NoReport, newest.source+": "+newest.failed)
	}
	j.result.Subject = registry.Pass(0, newest.subject())
	j.result.Recent = j.recent(newest).part()
	j.result.Covered = j.covered(newest).part()
	j.result.Clean = j.clean(newest).part()
}

// part is what a finding makes of a part.
func (f finding) part() registry.GateResult {
	detail := registry.Shorten(f.detail, registry.MaxDetail)
	if f.cause != "" {
		return registry.Fail(0, f.cause, detail)
	}
	return registry.Pass(0, detail)
}

// unjudged fails every part that a report decides.
func (j judgement) unjudged(failed registry.GateResult) {
	for _, part := range []*registry.GateResult{&j.result.Scanned, &j.result.Subject, &j.result.Recent, &j.result.Covered, &j.result.Clean} {
		*part = failed
	}
}

func (j judgement) warn(format string, arguments ...any) {
	j.result.Warnings = append(j.result.Warnings, registry.Shorten(fmt.Sprintf(format, arguments...), registry.MaxDetail))
}

// older orders reports: by their own time, one without a time first, and of those
// of one time the better first, so that the worst counts.
func (j judgement) older(a, b scanReport) int {
	return cmp.Or(a.scannedAt.Compare(b.scannedAt), cmp.Compare(j.blocking(a), j.blocking(b)))
}

func (j judgement) blocking(r scanReport) int {
	n := 0
	for _, each := range r.findings {
		if j.blocks(each) {
			n++
		}
	}
	return n
}

// blocks reports whether a finding is severe enough, leaving allowances aside.
func (j judgement) blocks(found registry.Finding) bool {
	return found.Severity.AtLeast(cmp.Or(j.scan.FailOn, registry.DefaultFailOn))
}

func (r *scanReport) named() string {
	text := map[string]string{formatSARIF: "SARIF", formatTrivy: "Trivy JSON", formatVuln: "a vulnerability attestation"}[r.format]
	if r.scannedAt.IsZero() {
		return text + " without a time (" + r.source + ")"
	}
	return fmt.Sprintf("%s of %s (%s)", text, r.scannedAt.Format("2006-01-02 15:04 UTC"), r.source)
}

// wrongSubject says why the report is not shown to be about the image; empty when
// it is. What it states itself counts more than what it is attached to.
func (r *scanReport) wrongSubject(digest string) string {
	switch {
	case slices.Contains(r.digests, digest):
		return ""
	case len(r.digests) > 0:
		return "it is about " + r.digests[0]
	case r.attached:
		return ""
	}
	return "it does not say which image it is about"
}

func (r *scanReport) subject() string {
	if len(r.digests) > 0 {
		return "the report states the digest"
	}
	return "the report is attached to the digest"
}

func (r *scanReport) shown() *registry.ScanReport {
	made := &registry.ScanReport{
		Format: r.format, Source: r.source, Scanner: r.scanner, ScannedAt: r.scannedAt, DatabaseAt: r.databaseAt,
		Packages: r.packages, System: r.system,
	}
	for _, each := range r.findings {
		if made.Severities == nil {
			made.Severities = map[registry.Severity]int{}
		}
		made.Severities[each.Severity]++
	}
	return made
}

// recent holds both ages against their limits.
func (j judgement) recent(r scanReport) finding {
	scan, told := j.age("the scan", r.scannedAt, j.scan.MaxAge)
	if scan != "" {
		return finding{registry.StaleScan, scan}
	}
	database, alsoTold := j.age("the scanner's database", r.databaseAt, j.scan.DatabaseMaxAge)
	if database != "" {
		return finding{registry.StaleDatabase, database}
	}
	return finding{detail: told + "; " + alsoTold}
}

// age says what is wrong with the age of something, or else what it is.
func (j judgement) age(what string, at time.Time, limit time.Duration) (wrong, told string) {
	age := j.now.Sub(at)
	switch {
	case at.IsZero() && limit > 0:
		return fmt.Sprintf("the report does not state the time of %s, and at most %s are permitted", what, inDays(limit)), ""
	case at.IsZero():
		return "", "the age of " + what + " is not stated"
	case age < -MaxAhead:
		return fmt.Sprintf("%s is dated %s ahead of now", what, inDays(-age)), ""
	case limit > 0 && age > limit:
		return fmt.Sprintf("%s is %s old, and at most %s are permitted", what, inDays(age), inDays(limit)), ""
	}
	return "", fmt.Sprintf("%s is %s old", what, inDays(age))
}

// inDays is a time in hours, and from two days on in days.
func inDays(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 2*time.Hour:
		return words.Counted(int(d/time.Minute), "minute")
	case d < 2*day:
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

// covered asks whether the scanner could find anything.
func (j judgement) covered(r scanReport) finding {
	switch {
	case r.unsupported != "":
		return finding{registry.UnsupportedSystem, r.unsupported}
	case r.packages > 0 && r.system != "":
		return finding{detail: fmt.Sprintf("packages seen: %d, on %s", r.packages, r.system)}
	case r.packages > 0:
		return finding{detail: fmt.Sprintf("packages seen: %d", r.packages)}
	case r.statesCoverage:
		return finding{registry.NoPackages, "the scanner saw no package"}
	case j.scan.AcceptUnprovenCoverage:
		j.result.UnprovenAccepted = true
		return finding{detail: "the report does not show what was seen, which is accepted"}
	}
	return finding{registry.NoPackages, "a report of this form does not show which packages were seen"}
}

// clean tells the findings that block from those that are allowed.
func (j judgement) clean(r scanReport) finding {
	var blocking, allowed []registry.Finding
	ended := map[string]time.Time{}
	for _, each := range r.findings {
		if !j.blocks(each) {
			continue
		}
		until, listed := j.allowance(each.ID)
		switch {
		case listed && j.now.Before(until):
			each.Allowed = until.Format(time.RFC3339)
			allowed = append(allowed, each)
			continue
		case listed:
			ended[each.ID] = until
		}
		blocking = append(blocking, each)
	}
	worstFirst := func(a, b registry.Finding) int {
		order := registry.Severities()
		return cmp.Or(slices.Index(order, b.Severity)-slices.Index(order, a.Severity), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Package, b.Package))
	}
	slices.SortFunc(blocking, worstFirst)
	slices.SortFunc(allowed, worstFirst)
	j.result.Blocking = len(blocking)
	j.result.Findings = blocking[:min(len(blocking), registry.MaxFindings)]
	j.result.Allowed = allowed[:min(len(allowed), registry.MaxFindings)]
	j.warnOfEnds(allowed)
	level := cmp.Or(j.scan.FailOn, registry.DefaultFailOn)
	if len(blocking) == 0 {
		return finding{detail: fmt.Sprintf("findings: %d, none at or above %s%s", len(r.findings), level, besides(len(allowed)))}
	}
	return finding{registry.BlockingFindings, fmt.Sprintf("%d at or above %s: %s", len(blocking), level, namedFindings(blocking, ended))}
}

func besides(allowed int) string {
	if allowed == 0 {
		return ""
	}
	return fmt.Sprintf(" but %d allowed", allowed)
}

// allowance is when the permission for a finding ends, and whether there is one.
func (j judgement) allowance(id string) (until time.Time, listed bool) {
	for _, each := range j.scan.Allow {
		if strings.EqualFold(each.ID, id) {
			return each.Until.UTC(), true
		}
	}
	return time.Time{}, false
}

// warnOfEnds tells of allowances that are in use and about to end.
func (j judgement) warnOfEnds(allowed []registry.Finding) {
	told := map[string]bool{}
	for _, each := range allowed {
		until, _ := j.allowance(each.ID)
		if left := until.Sub(j.now); left < AllowanceEnds && !told[strings.ToLower(each.ID)] && len(told) < registry.MaxFindings {
			told[strings.ToLower(each.ID)] = true
			j.warn("%s is allowed for %s more", each.ID, inDays(left))
		}
	}
}

func namedFindings(blocking []registry.Finding, ended map[string]time.Time) string {
	var said []string
	for i, each := range blocking {
		if i == maxNamedFindings {
			said = append(said, fmt.Sprintf("and %d more", len(blocking)-i))
			break
		}
		about := []string{string(each.Severity)}
		if each.Package != "" {
			about = append(about, strings.TrimSpace(each.Package+" "+each.Version))
		}
		if each.Fixed != "" {
			about = append(about, "fixed in "+each.Fixed)
		}
		if until, was := ended[each.ID]; was {
			about = append(about, "allowed until "+until.Format("2006-01-02 15:04 UTC"))
		}
		said = append(said, each.ID+" ("+strings.Join(about, ", ")+")")
	}
	return strings.Join(said, "; ")
}
