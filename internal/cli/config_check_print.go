package cli

import (
	"fmt"
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
	var components, slots, runs [][2]string
	for _, each := range c.Components {
		components = append(components, [2]string{each.Name, fmt.Sprintf("%s  %-11s  %s", each.Kind, each.Profile, each.Target)})
	}
	for _, each := range c.Slots {
		slots = append(slots, [2]string{each.Name, each.text()})
	}
	for _, each := range c.Runs {
		runs = append(runs, [2]string{each.Name, each.text()})
	}
	writeNamed(&out, paint, "", components)
	writeNamed(&out, paint, "slots", slots)
	writeNamed(&out, paint, "runs", runs)
	writeNamed(&out, paint, "receivers of alerts", receiverLines(c.Receivers))
	if len(c.Warnings) > 0 {
		fmt.Fprintf(&out, "\n%s\n", counted(len(c.Warnings), "warning"))
	}
	for _, warning := range c.Warnings {
		out.WriteString("\n" + paintedProblem(warning, paint) + "\n")
	}
	return out.String()
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

func counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// paintedProblem sets off the first line, which says what is wrong and where.
func paintedProblem(problem config.Problem, paint painter) string {
	headline := visible(problem.Error())
	return paint.bold(paint.fold(headline)) + paint.fold(strings.TrimPrefix(visible(problem.String()), headline))
}
