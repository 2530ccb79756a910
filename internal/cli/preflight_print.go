package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// preflightText shows a preflight: a line for each slot, then whether the run may
// start.
func preflightText(made *registry.Preflight, paint painter) string {
	var rows []slotRow
	for i := range made.Slots {
		slot := &made.Slots[i]
		need := "optional"
		if slot.Required {
			need = "required"
		}
		lamp := func(width int) string { return slotLamp(slot, width, paint) }
		rows = append(rows, slotRow{nameShown(slot.Slot), need, slotOutcome(slot), lamp, slotEntries(slot, paint)})
	}
	sentence := paint.fold(visible(made.Run) + ": " + startSentence(made))
	switch {
	case !made.Allowed:
		sentence = paint.red(sentence)
	case len(startWarnings(made)) > 0:
		sentence = paint.yellow(sentence)
	default:
		sentence = paint.green(sentence)
	}
	return newSlotTable(rows, paint).lines() + "\n" + sentence + "\n"
}

// slotOutcome says whether a slot is filled; it is undecided when nothing fills it, and
// a component of it may be sound.
func slotOutcome(slot *registry.SlotResult) registry.Outcome {
	unsure := func(attempt registry.Attempt) bool {
		theirs := func(cause registry.Cause) bool { return !cause.IsOurs() }
		return len(attempt.Causes) > 0 && !slices.ContainsFunc(attempt.Causes, theirs)
	}
	switch {
	case slot.OK:
		return registry.OutcomePassed
	case slices.ContainsFunc(slot.Attempts, unsure):
		return registry.OutcomeUndecided
	}
	return registry.OutcomeFailed
}

func slotLamp(slot *registry.SlotResult, width int, paint painter) string {
	if outcome := slotOutcome(slot); slot.Required || outcome != registry.OutcomeFailed {
		return lamp(outcome, width, paint)
	}
	return paint.yellow("FAIL") + strings.Repeat(" ", max(0, width-len("FAIL")))
}

// slotEntries begin with the component that fills the slot, and then give the reasons of
// those that come before it in the slot; of all of them when nothing fills it.
func slotEntries(slot *registry.SlotResult, paint painter) []slotEntry {
	var failed []slotEntry
	for i := range slot.Attempts {
		attempt := &slot.Attempts[i]
		entry := slotEntry{component: nameShown(attempt.Component), said: attemptReason(attempt)}
		switch {
		case slot.OK && attempt.Component == slot.Component:
			return append([]slotEntry{filledEntry(slot, attempt, paint)}, failed...)
		case slot.OK:
			entry.paint = paint.dim
		}
		failed = append(failed, entry)
	}
	return failed
}

// filledEntry is the component that fills a slot, and what is to be said of that.
func filledEntry(slot *registry.SlotResult, by *registry.Attempt, paint painter) slotEntry {
	var remarks []string
	if slot.Fallback {
		remarks = append(remarks, "fallback")
	}
	if by.Reused {
		remarks = append(remarks, "a stored result")
	}
	if remark := attemptRemark(by); remark != "" {
		remarks = append(remarks, remark)
	}
	entry := slotEntry{component: nameShown(by.Component), said: strings.Join(remarks, "; ")}
	if slot.Fallback || by.Reason != "" {
		entry.paint = paint.yellow
	}
	return entry
}

// attemptRemark is what is to be said of an attempt that passed; mostly nothing.
func attemptRemark(attempt *registry.Attempt) string {
	if attempt.Degraded {
		return strings.TrimSuffix("degraded: "+oneLine(attempt.Reason), ": ")
	}
	return oneLine(attempt.Reason)
}

// attemptReason says why a component does not fill its slot.
func attemptReason(attempt *registry.Attempt) string {
	return reasonOf(attempt.Causes, attempt.Reason)
}

// reasonOf is a reason as it was given, else the causes.
func reasonOf(causes []registry.Cause, given string) string {
	words := make([]string, len(causes))
	for i, cause := range causes {
		words[i] = string(cause)
	}
	return oneLine(cmp.Or(given, strings.Join(words, ", "), "did not pass"))
}

// startOutcome is whether the run may start; undecided when it is refused for what is
// undecided alone.
func startOutcome(made *registry.Preflight) registry.Outcome {
	if made.Allowed {
		return registry.OutcomePassed
	}
	outcomes := []registry.Outcome{registry.OutcomeUndecided}
	for i := range made.Slots {
		if made.Slots[i].Required {
			outcomes = append(outcomes, slotOutcome(&made.Slots[i]))
		}
	}
	return together(outcomes)
}

// startSentence says whether the run may start, and on what terms.
func startSentence(made *registry.Preflight) string {
	var empty, unsure, fallbacks, without []string
	for i := range made.Slots {
		switch slot := &made.Slots[i]; {
		case slot.OK && slot.Fallback:
			fallbacks = append(fallbacks, oneLine(slot.Slot)+" by "+oneLine(slot.Component))
		case slot.Required && slotOutcome(slot) == registry.OutcomeUndecided:
			unsure = append(unsure, oneLine(slot.Slot))
		case !slot.OK && slot.Required:
			empty = append(empty, oneLine(slot.Slot))
		case !slot.OK:
			without = append(without, oneLine(slot.Slot))
		}
	}
	if !made.Allowed {
		var said []string
		if len(empty) > 0 {
			said = append(said, "nothing healthy behind "+strings.Join(empty, ", "))
		}
		if len(unsure) > 0 {
			said = append(said, "undecided whether anything healthy is behind "+strings.Join(unsure, ", "))
		}
		return "refused: " + strings.Join(said, "; ")
	}
	sentence := "may start"
	if len(fallbacks) > 0 {
		sentence += " on a fallback: " + strings.Join(fallbacks, ", ")
	}
	if len(without) > 0 {
		if len(fallbacks) > 0 {
			sentence += ";"
		}
		sentence += " without " + strings.Join(without, ", ")
	}
	return sentence
}

// startWarnings tells what a run that may start has to put up with.
func startWarnings(made *registry.Preflight) []string {
	var warnings []string
	for i := range made.Slots {
		if warning := slotWarning(&made.Slots[i]); warning != "" && made.Allowed {
			warnings = append(warnings, "slot "+oneLine(made.Slots[i].Slot)+" "+warning)
		}
	}
	return warnings
}

// slotWarning tells of a slot that is not filled as it is meant to be; empty when
// it is. The text that is shown with it has the reasons.
func slotWarning(slot *registry.SlotResult) string {
	if !slot.OK {
		return "is optional and empty"
	}
	remark := ""
	for i := range slot.Attempts {
		if slot.Attempts[i].Component == slot.Component {
			remark, _, _ = strings.Cut(attemptRemark(&slot.Attempts[i]), ":")
		}
	}
	remark = cut(remark, textWidth)
	switch {
	case slot.Fallback:
		return strings.TrimSuffix("is filled by its fallback "+oneLine(slot.Component)+": "+remark, ": ")
	case remark != "":
		return "is filled by " + oneLine(slot.Component) + ": " + remark
	}
	return ""
}

// ticketText shows what became of a ticket: a line for each slot, then whether it
// holds.
func ticketText(report *registry.TicketReport, paint painter) string {
	var out strings.Builder
	var rows []slotRow
	for i := range report.Slots {
		check := &report.Slots[i]
		entry, outcome := slotEntry{component: nameShown(check.Component)}, registry.OutcomePassed
		if !check.OK {
			entry.said, outcome = ticketReason(check), registry.OutcomeFailed
		}
		lamp := func(width int) string { return lamp(outcome, width, paint) }
		rows = append(rows, slotRow{nameShown(check.Slot), "", outcome, lamp, []slotEntry{entry}})
	}
	if len(rows) > 0 {
		out.WriteString(newSlotTable(rows, paint).lines() + "\n")
	}
	sentence := paint.green(paint.fold(visible(report.Run) + ": the ticket holds"))
	if !report.Holds {
		why := "the ticket does not hold"
		if report.Reason != "" {
			why += ": " + oneLine(report.Reason)
		}
		sentence = paint.red(paint.fold(strings.TrimPrefix(visible(report.Run)+": "+why, ": ")))
	}
	fmt.Fprintf(&out, "%s\n", sentence)
	return out.String()
}

// ticketReason says why a component is not what the ticket says.
func ticketReason(check *registry.TicketCheck) string {
	var reasons []string
	if len(check.Changed) > 0 {
		reasons = append(reasons, strings.Join(check.Changed, ", ")+" changed")
	}
	if len(reasons) == 0 || check.Reason != "" {
		reasons = append(reasons, reasonOf(check.Causes, check.Reason))
	}
	return oneLine(strings.Join(reasons, "; "))
}
