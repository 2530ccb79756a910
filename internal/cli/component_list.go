package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// componentsText lays a list of components out: a line each, above it a name that is
// too long for its column, and below it the reason of a status where the terminal is
// too narrow for both; then how many there are of each status.
func componentsText(readings []registry.Reading, now time.Time, paint painter) string {
	if len(readings) == 0 {
		return "No component to list.\n"
	}
	var out strings.Builder
	name, kind := len("COMPONENT"), len("KIND")
	for i := range readings {
		name, kind = max(name, columns(readings[i].Name)), max(kind, len(readings[i].Kind))
	}
	if paint.width > 0 {
		if paint.width < kindTerminal {
			kind = 0
		}
		others := componentRow(0, kind, "", "", strings.Repeat(" ", statusWidth), "", "") + "  WHY"
		name = nameColumn(readings, paint.width-len(others))
	}
	head := componentRow(name, kind, "COMPONENT", "KIND", fmt.Sprintf("%-*s", statusWidth, "STATUS"), "FOR", "AGE") + "  "
	fmt.Fprintf(&out, "%s\n", paint.dim(head+"WHY"))
	for i := range readings {
		reading := &readings[i]
		shown := oneLine(reading.Name)
		if columns(shown) > name { // it has a line of its own, since it is there to be typed
			out.WriteString(shown + "\n")
			shown = ""
		}
		out.WriteString(componentRow(name, kind, shown, string(reading.Kind),
			paintedReading(reading, statusWidth, paint), heldFor(reading, now), ageOf(reading)))
		marks, why := whyOf(reading)
		switch {
		case why == "":
		case paint.width == 0, len(head)+columns(why) <= paint.width:
			out.WriteString("  " + markedWhy(marks, why, paint))
		default:
			const margin = "    "
			fmt.Fprintf(&out, "\n%s%s", margin, markedWhy(marks, cut(why, paint.width-len(margin)), paint))
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "%s\n", paint.fold(countedStatuses(readings)))
	return out.String()
}

// kindTerminal is the width of the narrowest terminal that shows kinds.
const kindTerminal = 60

// nameColumn is the width of the longest name that has room in a row.
func nameColumn(readings []registry.Reading, room int) int {
	width := len("COMPONENT")
	for i := range readings {
		if long := columns(readings[i].Name); long <= room {
			width = max(width, long)
		}
	}
	return width
}

// componentRow lays a row out but for the reason; kind 0 leaves the kind out.
func componentRow(name, kind int, component, of, status, held, age string) string {
	row := fmt.Sprintf("%-*s  ", name, component)
	if kind > 0 {
		row += fmt.Sprintf("%-*s  ", kind, of)
	}
	return row + fmt.Sprintf("%s  %4s  %4s", status, held, age)
}

// statusWidth is that of the longest status.
const statusWidth = len(registry.Unavailable)

// statuses are all of them, in the order in which they are counted.
func statuses() []registry.Status {
	return []registry.Status{registry.Available, registry.Unavailable, registry.Unknown, registry.Probing}
}

func countedStatuses(readings []registry.Reading) string {
	counts := map[registry.Status]int{}
	for i := range readings {
		counts[readings[i].Status]++
	}
	var said []string
	for _, status := range statuses() {
		if counts[status] > 0 {
			said = append(said, fmt.Sprintf("%d %s", counts[status], status))
		}
	}
	return counted(len(readings), "component") + ": " + strings.Join(said, ", ")
}

// paintedReading gives the status of a component its colour. One that is blocked is
// not green.
func paintedReading(reading *registry.Reading, width int, paint painter) string {
	if reading.Status == registry.Available && reading.Blocked() {
		return paint.yellow(fmt.Sprintf("%-*s", width, reading.Status))
	}
	return paintedStatus(reading.Status, width, paint)
}

// paintedStatus gives a status its colour, after it has its width. What is not
// known is never green.
func paintedStatus(status registry.Status, width int, paint painter) string {
	text := fmt.Sprintf("%-*s", width, status)
	switch status {
	case registry.Available:
		return paint.green(text)
	case registry.Unavailable:
		return paint.red(text)
	case registry.Unknown:
		return paint.yellow(text)
	case registry.Probing:
	}
	return text
}

// whyOf is the reason of a status, and the marks of the component with which it
// begins; either may be empty.
func whyOf(reading *registry.Reading) (marks, why string) {
	if reading.Reason != "" || len(reading.Causes) > 0 {
		why = reasonOf(reading.Causes, reading.Reason)
	}
	marks = marksOf(reading)
	if marks != "" {
		why = strings.TrimSuffix(marks+": "+why, ": ")
	}
	return marks, why
}

// marksOf are words beside the status; empty when there are none.
func marksOf(reading *registry.Reading) string { return strings.Join(reading.Marks(), ", ") }

// markedWhy is a reason with the marks before it in colour.
func markedWhy(marks, why string, paint painter) string {
	rest, ok := strings.CutPrefix(why, marks)
	if !ok || marks == "" {
		return why
	}
	return paint.yellow(marks) + rest
}

// heldFor is how long the status has not changed.
func heldFor(reading *registry.Reading, now time.Time) string {
	since, err := time.Parse(time.RFC3339, reading.Since)
	if err != nil {
		return "-"
	}
	return words.Column(now.Sub(since))
}

// ageOf is how old the newest result is.
func ageOf(reading *registry.Reading) string {
	if reading.AgeMs == nil {
		return "-"
	}
	return words.Column(time.Duration(*reading.AgeMs) * time.Millisecond)
}
