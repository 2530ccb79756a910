package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// maxSteps bounds the commands that one hint names.
const maxSteps = 5

// afterPreflight is what to say below a preflight: whose tools were accepted by it,
// and what to do next about what keeps the run from starting, or has changed. Of the
// flags see examining.
func afterPreflight(made *registry.Preflight, flags string, paint painter) string {
	var seen, broken, changed []string
	for i := range made.Slots {
		slot := &made.Slots[i]
		for j := range slot.Attempts {
			switch attempt := &slot.Attempts[j]; {
			case attempt.Trusted:
				seen = append(seen, attempt.Component)
			case attempt.Drifting != "":
				changed = append(changed, attempt.Component)
			}
			if slot.Required && !slot.OK && slot.Attempts[j].Drifting == "" {
				broken = append(broken, slot.Attempts[j].Component)
			}
		}
	}
	var out strings.Builder
	if len(seen) > 0 {
		fmt.Fprintf(&out, "%s\n", paint.dim(paint.fold(trusted(once(seen)))))
	}
	hintLines(&out, stepsFor(once(broken), once(changed), flags), paint)
	return out.String()
}

// stepsFor names the commands that say what is wrong with components, and the one
// that accepts what has changed.
func stepsFor(broken, changed []string, flags string) []hint {
	var steps []hint
	if len(broken) > 0 {
		steps = append(steps, hint{"What was found, and what to do:", commandsAbout(broken, flags, "countersign component show ")})
	}
	if len(changed) > 0 {
		steps = append(steps, hint{
			"Look at what has changed, then accept it:", commandsAbout(changed, flags, "countersign component show ", "countersign component accept "),
		})
	}
	return steps
}

// commandsAbout are these about each name, as many as a hint may have.
func commandsAbout(names []string, flags string, about ...string) []string {
	var lines []string
	for i, name := range names {
		if i == maxSteps {
			return append(lines, fmt.Sprintf("and so for %d more", len(names)-maxSteps))
		}
		for _, command := range about {
			lines = append(lines, command+oneLine(name)+visible(flags))
		}
	}
	return lines
}

func once(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// afterCheck is what to say below a ticket: how old it is, and what to do when it
// does not hold.
func afterCheck(report *registry.TicketReport, flags string, now time.Time, paint painter) string {
	var out strings.Builder
	if at, err := time.Parse(time.RFC3339, report.IssuedAt); err == nil {
		fmt.Fprintf(&out, "%s\n", paint.dim(paint.fold(fmt.Sprintf("It was issued %s ago, at %s", words.Age(now.Sub(at)), shownMoment(at)))))
	}
	if report.Holds {
		return out.String()
	}
	var broken, changed []string
	for i := range report.Slots {
		check := &report.Slots[i]
		switch {
		case check.OK:
		case slices.Contains(check.Causes, registry.ToolsChanged):
			changed = append(changed, check.Component)
		case check.ResultID != "":
			broken = append(broken, check.Component)
		}
	}
	steps := stepsFor(once(broken), once(changed), flags)
	if report.IssuedAt == "" {
		steps = append(steps, hint{text: "The key is signing.key in the folder countersign of XDG_CONFIG_HOME, or of ~/.config: " +
			"check the ticket where that is the same as where it was signed."})
	}
	run := "<run>"
	if registry.IsName(report.Run) { // it may be forged, and the command is there to be pasted
		run = report.Run
	}
	steps = append(steps, hint{"For another ticket:", []string{"countersign preflight " + run + visible(flags) + " --ticket <file>"}})
	hintLines(&out, steps, paint)
	return out.String()
}

// olderTicket says that a refusal has left the ticket of an earlier preflight in its
// place; empty when there is no file.
func olderTicket(file string) string {
	before, err := os.Open(filepath.Clean(file))
	if err != nil {
		return ""
	}
	defer func() { _ = before.Close() }()
	said := visible(file) + " is an older one"
	if document, err := io.ReadAll(io.LimitReader(before, registry.MaxTicketBytes+1)); err == nil {
		if ticket, err := registry.ParseTicket(document); err == nil {
			said += ", issued at " + ticket.IssuedAt
		}
	}
	return said + "; this preflight has left it as it was"
}
