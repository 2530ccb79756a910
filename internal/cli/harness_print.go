package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// maxShownFindings is how many findings of each sort are shown.
const maxShownFindings = 10

// harnessTable shows the parts of a harness, the report that was judged, and what
// it found. A part that failed for the reason of one before is shown as not judged.
func harnessTable(result *registry.HarnessResult, paint painter) string {
	var out strings.Builder
	causes := partLines(&out, result, paint)
	if len(causes) > 0 {
		out.WriteString("\n")
	}
	for _, cause := range causes {
		if entry, known := cause.Entry(); known {
			row(&out, paint, "hint", string(cause)+": "+entry.Sentence+" "+entry.Hint)
		}
	}
	out.WriteString("\n")
	row(&out, paint, "image", oneLine(result.Image))
	if result.Report != nil {
		row(&out, paint, "report", reportLine(result.Report))
		if line := severitiesLine(result.Report.Severities); line != "" {
			row(&out, paint, "findings", line)
		}
	}
	findingRows(&out, "blocking", result.Findings, result.Blocking, paint)
	findingRows(&out, "allowed", result.Allowed, len(result.Allowed), paint)
	for _, warning := range result.Warnings {
		row(&out, paint, "warning", oneLine(warning))
	}
	row(&out, paint, "probed at", shownMoment(result.ProbedAt))
	return out.String()
}

// partLines are a line for each part, and return the causes of those that failed.
func partLines(out *strings.Builder, result *registry.HarnessResult, paint painter) []registry.Cause {
	var lines []gateLine
	var causes []registry.Cause
	for _, part := range registry.HarnessParts() {
		got := result.Part(part)
		if got == nil {
			continue
		}
		line := lineOf(string(part), *got, reason(*got))
		switch {
		case result.NotJudged(part):
			line.detail, line.lamp = "not judged", ""
		case !got.OK && !slices.Contains(causes, got.Cause):
			causes = append(causes, got.Cause)
		}
		if got.LatencyMs <= 0 {
			line.latency = ""
		}
		lines = append(lines, line)
	}
	gateTable(out, "part", lines, paint)
	return causes
}

func reportLine(report *registry.ScanReport) string {
	words := []string{oneLine(report.Format), "from " + oneLine(report.Source)}
	if report.Scanner != "" {
		words = append(words, "by "+oneLine(report.Scanner))
	}
	if !report.ScannedAt.IsZero() {
		words = append(words, "of "+shownMoment(report.ScannedAt))
	}
	if !report.DatabaseAt.IsZero() {
		words = append(words, "with a database of "+shownMoment(report.DatabaseAt))
	}
	return strings.Join(words, ", ")
}

// severitiesLine counts the findings of a report, the worst first.
func severitiesLine(counts map[registry.Severity]int) string {
	var words []string
	for _, severity := range slices.Backward(registry.Severities()) {
		if n := counts[severity]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, severity))
		}
	}
	return strings.Join(words, ", ")
}

func findingRows(out *strings.Builder, name string, findings []registry.Finding, all int, paint painter) {
	for i, each := range findings {
		if i == maxShownFindings {
			row(out, paint, name, fmt.Sprintf("and %d more", all-i))
			return
		}
		line := oneLine(each.ID) + ", " + string(each.Severity)
		if each.Package != "" {
			line += ": " + strings.TrimSpace(oneLine(each.Package)+" "+oneLine(each.Version))
		}
		if each.Fixed != "" {
			line += ", fixed in " + oneLine(each.Fixed)
		}
		if each.Allowed != "" {
			line += ", until " + oneLine(each.Allowed)
		}
		row(out, paint, name, line)
	}
}
