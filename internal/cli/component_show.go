package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

const (
	// maxShownChanges bounds the changes of status that are shown.
	maxShownChanges = 10
	// stripHours is how many hours the strip of a component covers.
	stripHours = 48
)

// componentText shows all that is known of a component: its status, what is probed,
// the newest result, then what it is used for and what became of it. Of the flags see
// examining.
func componentText(view *registry.ComponentView, target, flags string, now time.Time, paint painter) (string, error) {
	var out strings.Builder
	status := paintedReading(&view.Reading, 0, paint)
	if marks := marksOf(&view.Reading); marks != "" {
		status += ", " + paint.yellow(marks)
	}
	fmt.Fprintf(&out, "%s  %s\n\n", paint.bold(oneLine(view.Name)), status)
	unregistered(&out, view, paint)
	row(&out, paint, "kind", string(view.Kind))
	if target != "" {
		row(&out, paint, "target", oneLine(target))
	}
	if view.Reason != "" || len(view.Causes) > 0 {
		row(&out, paint, "why", reasonOf(view.Causes, view.Reason))
	}
	if since, err := time.Parse(time.RFC3339, view.Since); err == nil {
		row(&out, paint, "for", fmt.Sprintf("%s, since %s", words.Age(now.Sub(since)), shownMoment(since)))
	}
	if view.ResultID != nil && view.AgeMs != nil {
		age := time.Duration(*view.AgeMs) * time.Millisecond
		row(&out, paint, "probed", fmt.Sprintf("%s ago, result %s", words.Age(age), oneLine(*view.ResultID)))
	}
	if len(view.Slots) > 0 {
		row(&out, paint, "slots", strings.Join(view.Slots, ", "))
	}
	if view.AcceptedDigest != "" {
		row(&out, paint, "accepted", acceptedLine(view))
	}
	if len(view.Result) > 0 {
		result, err := registry.DecodeResult(view.Kind, view.Result)
		if err != nil {
			return "", fmt.Errorf("read the newest result of %s: %w", view.Name, err)
		}
		out.WriteString("\n" + resultText(result, flags, paint))
	}
	if view.Drift != nil {
		out.WriteString("\n" + driftWarning(view.Name, view.Drift, flags, paint))
	}
	if len(view.Hours) > 0 {
		fmt.Fprintf(&out, "\n%s", hoursText(view.Hours, definitionsOf(view), paint))
	}
	if len(view.Changes) > 0 {
		fmt.Fprintf(&out, "\n%s", changesText(view.Changes, paint))
	}
	return out.String(), nil
}

// unregistered says what is to be known of a component that is no longer registered
// before anything else is read of it.
func unregistered(out *strings.Builder, view *registry.ComponentView, paint painter) {
	if view.Unregistered {
		row(out, paint, "hint", "The configuration file does not name it. All below is of when it was named; to have it probed, name it in the configuration file again.")
		out.WriteString("\n")
	}
}

func acceptedLine(view *registry.ComponentView) string {
	line := "tools " + shortDigest(view.AcceptedDigest)
	if at, err := time.Parse(time.RFC3339, view.AcceptedAt); err == nil {
		line += ", at " + shownMoment(at)
	}
	return line
}

// shortDigest is enough of a digest to tell it from others by eye.
func shortDigest(digest string) string {
	return cut(oneLine(digest), len("sha256:")+12)
}

func shownMoment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// toolNames are names that servers have given, all of them.
func toolNames(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = oneLine(name)
	}
	return strings.Join(shown, ", ")
}

// hoursText is a strip of the latest hours, newest last: the higher, the more of
// the probes passed; a dot where there was none that says so, and a line before an
// hour in which the component was defined anew.
func hoursText(hours []registry.Hour, defined definitions, paint painter) string {
	newest := hours[0].Start
	strip := slices.Repeat([]string{paint.dim("·")}, stripHours)
	first, passed, failed := stripHours-1, 0, 0
	for i := range hours {
		hour := &hours[i]
		place := stripHours - 1 - int(newest.Sub(hour.Start)/time.Hour)
		if place < 0 || place >= stripHours || hour.Passed+hour.Failed == 0 {
			continue
		}
		first = min(first, place)
		passed, failed = passed+hour.Passed, failed+hour.Failed
		strip[place] = hourBar(hour, paint)
	}
	marked := defined.mark(strip[first:], newest.Add(-time.Duration(stripHours-1-first)*time.Hour))
	var out strings.Builder
	fmt.Fprintf(&out, "  %s%s\n", paint.dim(fmt.Sprintf("%-*s", firstWidth, "hours")), strings.Join(strip[first:], ""))
	told := "no probe passed or failed"
	if passed+failed > 0 {
		oldest := newest.Add(-time.Duration(stripHours-1-first) * time.Hour)
		told = fmt.Sprintf("%s%% of %s passed since %s", share(passed, failed), counted(passed+failed, "probe"), oldest.UTC().Format("2006-01-02 15:04 UTC"))
	}
	fmt.Fprintf(&out, "  %*s%s\n", firstWidth, "", paint.dim(told))
	if of := defined.told(marked); of != "" {
		fmt.Fprintf(&out, "  %*s%s\n", firstWidth, "", paint.dim(of))
	}
	return out.String()
}

// hourBar is as high as the share of probes that passed.
func hourBar(hour *registry.Hour, paint painter) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	bar := string(bars[hour.Passed*(len(bars)-1)/(hour.Passed+hour.Failed)])
	if hour.Failed > 0 {
		return paint.red(bar)
	}
	return paint.green(bar)
}

// share is a percentage that is 100 only when all passed, and 0 only when none did.
func share(passed, failed int) string {
	if failed == 0 {
		return "100"
	}
	tenths := passed * 1000 / (passed + failed)
	if passed > 0 {
		tenths = max(tenths, 1)
	}
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// changesText lists the latest changes of status, newest first.
func changesText(changes []registry.Change, paint painter) string {
	var out strings.Builder
	for i := range changes {
		change := &changes[i]
		if i == maxShownChanges {
			break
		}
		name := "changes"
		if i > 0 {
			name = ""
		}
		line := fmt.Sprintf("%s  %s", shownMoment(change.At), paintedStatus(change.To, 0, paint))
		if len(change.Causes) > 0 {
			line += ": " + reasonOf(change.Causes, "")
		}
		if change.Redefined {
			line += " (its definition had changed)"
		}
		fmt.Fprintf(&out, "  %s%s\n", paint.dim(fmt.Sprintf("%-*s", firstWidth, name)), line)
	}
	return out.String()
}
