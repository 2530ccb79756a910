package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// slotLine writes what stands before it, of a width, and texts beside that, one
// below the other.
func slotLine(out *strings.Builder, paint painter, before string, width int, texts []paintedText) {
	out.WriteString(before)
	for i, each := range texts {
		if i > 0 {
			fmt.Fprintf(out, "\n%*s", width, "")
		}
		text := paint.foldFrom(each.text, width, width)
		if each.paint != nil {
			text = each.paint(text)
		}
		out.WriteString(text)
	}
	out.WriteString("\n")
}

// slotWidth is the width of the column of these slots: on a terminal at most a
// third of it.
func slotWidth(names []string, paint painter) int {
	width := len("slot")
	for _, name := range names {
		width = max(width, columns(name))
	}
	if paint.width > 0 {
		width = min(width, paint.width/3)
	}
	return width
}

// paintedText is a text and its colour; nil for none.
type paintedText struct {
	text  string
	paint func(string) string
}

// lampOK is as wide as every lamp of a slot.
const lampOK = "ok  "

// preflightText shows a preflight: a line for each slot, then whether the run may
// start.
func preflightText(made *registry.Preflight, paint painter) string {
	var out strings.Builder
	var names []string
	for i := range made.Slots {
		names = append(names, made.Slots[i].Slot)
	}
	width := slotWidth(names, paint)
	head := fmt.Sprintf("  %-*s  need      lamp  ", width, "slot")
	fmt.Fprintf(&out, "%s\n", paint.dim(head+"by"))
	for i := range made.Slots {
		slot := &made.Slots[i]
		need := "optional"
		if slot.Required {
			need = "required"
		}
		before := fmt.Sprintf("  %-*s  %s  %s  ", width, cut(oneLine(slot.Slot), width), need, slotLamp(slot, paint))
		slotLine(&out, paint, before, len(head), slotTexts(slot, paint))
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
	fmt.Fprintf(&out, "\n%s\n", sentence)
	return out.String()
}

func slotLamp(slot *registry.SlotResult, paint painter) string {
	switch {
	case slot.OK:
		return paint.green(lampOK)
	case slot.Required:
		return paint.red("FAIL")
	}
	return paint.yellow("FAIL")
}

// slotTexts names the component that fills the slot, and gives the reasons of
// those that come before it in the slot; all of them when nothing fills it.
func slotTexts(slot *registry.SlotResult, paint painter) []paintedText {
	width := 0
	for i := range slot.Attempts {
		width = max(width, columns(slot.Attempts[i].Component))
	}
	var failed []paintedText
	for i := range slot.Attempts {
		attempt := &slot.Attempts[i]
		name := fmt.Sprintf("%-*s  ", width, oneLine(attempt.Component))
		switch {
		case slot.OK && attempt.Component == slot.Component:
			return append(filledTexts(slot, attempt, name, paint), failed...)
		case slot.OK:
			failed = append(failed, paintedText{name + attemptReason(attempt), paint.dim})
		default:
			failed = append(failed, paintedText{name + attemptReason(attempt), nil})
		}
	}
	return failed
}

// filledTexts is the component that fills a slot, and what is to be said of that.
func filledTexts(slot *registry.SlotResult, by *registry.Attempt, name string, paint painter) []paintedText {
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
	text := paintedText{strings.TrimRight(name+strings.Join(remarks, "; "), " "), nil}
	if slot.Fallback || by.Reason != "" {
		text.paint = paint.yellow
	}
	return []paintedText{text}
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

// startSentence says whether the run may start, and on what terms.
func startSentence(made *registry.Preflight) string {
	var empty, fallbacks, without []string
	for i := range made.Slots {
		switch slot := &made.Slots[i]; {
		case slot.OK && slot.Fallback:
			fallbacks = append(fallbacks, oneLine(slot.Slot)+" by "+oneLine(slot.Component))
		case !slot.OK && slot.Required:
			empty = append(empty, oneLine(slot.Slot))
		case !slot.OK:
			without = append(without, oneLine(slot.Slot))
		}
	}
	if !made.Allowed {
		return "refused: nothing healthy behind " + strings.Join(empty, ", ")
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
	var names []string
	for i := range report.Slots {
		names = append(names, report.Slots[i].Slot)
	}
	width := slotWidth(names, paint)
	head := fmt.Sprintf("  %-*s  lamp  ", width, "slot")
	if len(report.Slots) > 0 {
		fmt.Fprintf(&out, "%s\n", paint.dim(head+"by"))
	}
	for i := range report.Slots {
		check := &report.Slots[i]
		lamp, text := paint.green(lampOK), oneLine(check.Component)
		if !check.OK {
			lamp, text = paint.red("FAIL"), text+"  "+ticketReason(check)
		}
		slotLine(&out, paint, fmt.Sprintf("  %-*s  %s  ", width, cut(oneLine(check.Slot), width), lamp), len(head), []paintedText{{text, nil}})
	}
	if len(report.Slots) > 0 {
		out.WriteString("\n")
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
