package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// trusted tells of whom the tools were accepted at first sight.
func trusted(names []string) string {
	return "Accepted at first sight, since this database knew none: the tools of " + toolNames(names) + ". What changes in them is told from now on."
}

// driftWarning tells that the tools of a component are not the accepted ones. Of the
// flags see examining.
func driftWarning(name string, drift *registry.Drift, flags string, paint painter) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %s\n", paint.yellow("The tools are not the accepted ones."))
	out.WriteString(driftText(drift, paint))
	row(&out, paint, "hint", "Look at what has changed, then accept it with countersign component accept "+oneLine(name)+visible(flags)+", or revert it.")
	return out.String()
}

// driftText is the difference between two lists of tools: a line for each tool that
// was added or changed, and below it how it reads, before and after.
func driftText(drift *registry.Drift, paint painter) string {
	var out strings.Builder
	addedText(&out, drift, paint)
	if len(drift.Removed) > 0 {
		row(&out, paint, "removed", toolNames(drift.Removed))
	}
	for i := range drift.Changed {
		change := &drift.Changed[i]
		name := "changed"
		if i > 0 {
			name = ""
		}
		row(&out, paint, name, oneLine(change.Name)+": "+strings.Join(change.What, ", "))
		for j := range change.Texts {
			textChange(&out, &change.Texts[j], len(change.What) > 1, paint)
		}
	}
	if drift.Abridged {
		row(&out, paint, "left out", "Not all that is new or has changed is shown. Read the tools of the server itself before you accept them.")
	}
	return out.String()
}

// addedText names the tools that were added: those that can be read each in a line of
// its own, above how it reads.
func addedText(out *strings.Builder, drift *registry.Drift, paint painter) {
	named := make(map[string]bool, len(drift.New))
	for i := range drift.New {
		tool := &drift.New[i]
		row(out, paint, "added", oneLine(tool.Name))
		named[tool.Name] = true
		for j := range tool.Texts {
			textChange(out, &tool.Texts[j], true, paint)
		}
	}
	var unread []string
	for _, name := range drift.Added {
		if !named[name] {
			unread = append(unread, name)
		}
	}
	if len(unread) > 0 {
		row(out, paint, "added", toolNames(unread))
	}
}

// textChange shows how a part of a tool reads before and after.
func textChange(out *strings.Builder, change *registry.TextChange, namePart bool, paint painter) {
	const indent = firstWidth + 2
	if paint.width == 0 {
		paint.width = indent + textWidth - firstWidth
	}
	var place []string
	if namePart {
		place = append(place, change.What)
	}
	if change.At != "" {
		place = append(place, rawLine(change.At))
	}
	line := func(text string) string {
		return fmt.Sprintf("%*s%s", indent, "", paint.foldFrom(text, indent, indent+2))
	}
	if len(place) > 0 {
		fmt.Fprintf(out, "%s\n", line(strings.Join(place, " ")+":"))
	}
	if change.Before != nil {
		fmt.Fprintf(out, "%s\n", paint.red(line("- "+cmp.Or(rawLine(*change.Before), "(empty)"))))
	}
	if change.After != nil {
		fmt.Fprintf(out, "%s\n", paint.green(line("+ "+cmp.Or(rawLine(*change.After), "(empty)"))))
	}
	if change.LeftOut > 0 {
		differing := " of what differs"
		if change.Before == nil {
			differing = ""
		}
		fmt.Fprintf(out, "%s\n", line(fmt.Sprintf("(%s%s not shown)", counted(change.LeftOut, "byte"), differing)))
	}
}

// rawLine is untrusted text in one line that hides nothing, since white space may be
// what has changed.
func rawLine(text string) string {
	return visible(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text))
}
