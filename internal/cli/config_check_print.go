package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/config"
)

// maxShown bounds the lines that people see of the components, the slots and the
// runs of a file.
const maxShown = 50

func (c configChecked) text(paint painter) string {
	if !c.Valid {
		return c.problems(paint)
	}
	counts := []string{counted(len(c.Components), "component")}
	if len(c.Slots)+len(c.Runs) > 0 {
		counts = append(counts, counted(len(c.Slots), "slot"), counted(len(c.Runs), "run"))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s is %s: %s\n", paint.bold(visible(c.File)), paint.green("valid"), strings.Join(counts, ", "))
	var slots, runs [][2]string
	for _, each := range c.Slots {
		slots = append(slots, [2]string{each.Name, each.text()})
	}
	for _, each := range c.Runs {
		runs = append(runs, [2]string{each.Name, each.text()})
	}
	writeNamed(&out, paint, "", componentLines(c.Components))
	writeNamed(&out, paint, "slots", slots)
	writeNamed(&out, paint, "runs", runs)
	writeNamed(&out, paint, "receivers of alerts"+c.claims(), receiverLines(c.Receivers))
	if len(c.Warnings) > 0 {
		fmt.Fprintf(&out, "\n%s\n", counted(len(c.Warnings), "warning"))
	}
	for _, warning := range c.Warnings {
		out.WriteString("\n" + paintedProblem(warning, paint) + "\n")
	}
	writeNamed(&out, paint, "test alerts", testLines(c.Tests))
	return out.String()
}

// componentLines are components in columns: kind, profile where one of them has
// any, and target.
func componentLines(components []checkedComponent) [][2]string {
	kind, profile := 0, 0
	for _, each := range components[:min(len(components), maxShown)] {
		kind, profile = max(kind, len(each.Kind)), max(profile, len(each.Profile))
	}
	if profile > 0 {
		profile += 2
	}
	var lines [][2]string
	for _, each := range components {
		lines = append(lines, [2]string{each.Name, fmt.Sprintf("%-*s  %-*s%s", kind, each.Kind, profile, each.Profile, each.Target)})
	}
	return lines
}

// receiverLines are receivers, and what they are told when that is not everything.
func receiverLines(receivers []checkedReceiver) [][2]string {
	var lines [][2]string
	for _, each := range receivers {
		line := fmt.Sprintf("%-12s  %s", each.Protocol, each.Target)
		if len(each.Send) < len(alert.Kinds()) {
			var kinds []string
			for _, kind := range each.Send {
				kinds = append(kinds, string(kind))
			}
			line += "  " + strings.Join(kinds, ", ") + " only"
		}
		lines = append(lines, [2]string{each.Name, line})
	}
	return lines
}

// claims says from when a claim is alerted; nothing where nobody wants to know.
func (c configChecked) claims() string {
	wantsClaims := func(each checkedReceiver) bool { return slices.Contains(each.Send, alert.OfTask) }
	switch {
	case !slices.ContainsFunc(c.Receivers, wantsClaims):
		return ""
	case c.ClaimWaits == 0:
		return ", not about claims that wait (claim_waits: off)"
	}
	waits := (time.Duration(c.ClaimWaits) * time.Millisecond).String()
	for _, zero := range []string{"0s", "0m"} {
		if rest := strings.TrimSuffix(waits, zero); strings.HasSuffix(rest, "m") || strings.HasSuffix(rest, "h") {
			waits = rest
		}
	}
	return ", about a claim when it has waited for " + waits
}

// testLines are what came of the test alerts.
func testLines(tests []checkedTest) [][2]string {
	var lines [][2]string
	for _, each := range tests {
		line := fmt.Sprintf("taken: it answered with the status %d", each.Status)
		if !each.Taken {
			line = "NOT taken: " + each.Reason
			if each.Hint != "" {
				line += ". " + each.Hint
			}
		}
		lines = append(lines, [2]string{each.Receiver, line})
	}
	return lines
}

func (c configChecked) problems(paint painter) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s has %s\n", paint.bold(visible(c.File)), paint.red(counted(c.Total, "problem")))
	for _, problem := range c.Problems {
		out.WriteString("\n" + paintedProblem(problem, paint) + "\n")
	}
	if more := c.Total - len(c.Problems); more > 0 {
		fmt.Fprintf(&out, "\nand %d more\n", more)
	}
	return out.String()
}

// writeNamed writes names and what they stand for, below a title if there is one.
func writeNamed(out *strings.Builder, paint painter, title string, lines [][2]string) {
	if title != "" && len(lines) > 0 {
		fmt.Fprintf(out, "\n%s\n", title)
	}
	shown, width := lines[:min(len(lines), maxShown)], 0
	for _, line := range shown {
		width = max(width, len(line[0]))
	}
	for _, line := range shown {
		column := 2 + width + 2
		fmt.Fprintf(out, "  %-*s  %s\n", width, line[0], paint.foldFrom(visible(line[1]), column, column))
	}
	if more := len(lines) - len(shown); more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}

// text is what fills the slot, and what it demands.
func (s checkedSlot) text() string {
	parts := []string{strings.Join(append([]string{s.Primary}, s.Fallbacks...), ", else ")}
	if len(s.RequireTools) > 0 {
		parts = append(parts, "with "+strings.Join(s.RequireTools, ", "))
	}
	if s.MinVersion != "" {
		parts = append(parts, "from version "+s.MinVersion)
	}
	if s.MaxAgeMs > 0 {
		parts = append(parts, "or a pass not older than "+(time.Duration(s.MaxAgeMs)*time.Millisecond).String())
	}
	return strings.Join(parts, "; ")
}

// text is the slots of the run, and which of them it needs.
func (r checkedRun) text() string {
	var slots []string
	for _, each := range r.Slots {
		if each.Required {
			slots = append(slots, each.Slot)
		} else {
			slots = append(slots, each.Slot+" (optional)")
		}
	}
	return strings.Join(slots, ", ")
}

// paintedProblem sets off the first line, which says what is wrong and where.
func paintedProblem(problem config.Problem, paint painter) string {
	headline := visible(problem.Error())
	return paint.bold(paint.fold(headline)) + paint.fold(strings.TrimPrefix(visible(problem.String()), headline))
}
