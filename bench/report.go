package main

import (
	"fmt"
	"strings"
	"time"
)

// report writes the results as Markdown. What is missing are the names of the
// experiments of which nothing was found.
func report(seen scene, found []section, missing []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Results\n\nWritten by `make bench` on %s. %s\n\n", seen.date.Format(time.DateOnly), tellTargets(found))
	fmt.Fprintf(&out, "%d processors, %s, %s. A page written and synced to the disk took %s ms (median). "+
		"Load average %s at the start, %s at the end.\n\n",
		seen.processors, seen.platform, seen.goVersion, number(seen.sync), seen.loadBefore, seen.loadAfter)
	fmt.Fprintf(&out, "Only ratios within one run say something: absolute values depend on the disk and on who else uses the machine. "+
		"Both sides of each ratio take turns in several rounds, and each round begins with the other side. A value is the median of the rounds, "+
		"with the smallest and the largest in brackets; a ratio is taken round by round. The target is held against the median.\n")
	if len(missing) > 0 {
		fmt.Fprintf(&out, "\nNot in this run: %s. `go run ./bench -only NAME` makes one of them alone.\n", strings.Join(missing, ", "))
	}
	for _, one := range found {
		writeSection(&out, one)
	}
	return out.String()
}

// tellTargets counts the targets and names those that were missed.
func tellTargets(found []section) string {
	count := 0
	var missed []string
	for _, one := range found {
		for _, f := range one.figures {
			if f.target == nil {
				continue
			}
			count++
			if !f.target.met(f.value.median()) {
				missed = append(missed, fmt.Sprintf("%s (%s)", f.name, one.title))
			}
		}
	}
	if len(missed) == 0 {
		return fmt.Sprintf("All %d targets are met.", count)
	}
	return fmt.Sprintf("%d of %d targets are met. Missed: %s.", count-len(missed), count, strings.Join(missed, "; "))
}

func writeSection(out *strings.Builder, one section) {
	fmt.Fprintf(out, "\n## %s\n\n%s\n", one.title, one.method)
	if len(one.figures) > 0 {
		fmt.Fprintf(out, "\n| | %s | %s | held against the target | target | |\n|---|--:|--:|--:|---|---|\n", one.ours, one.beside)
	}
	for _, f := range one.figures {
		goal := "–"
		if f.target != nil {
			goal = f.target.text()
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n",
			f.name, f.ours.text(f.unit), f.beside.text(f.unit), f.value.text(f.valueUnit()), goal, f.verdict())
	}
	for _, f := range one.figures {
		if f.cause != "" && f.target != nil && !f.target.met(f.value.median()) {
			fmt.Fprintf(out, "\n%s missed its target. The cause: %s\n", f.name, f.cause)
		}
	}
	if one.listing != "" {
		fmt.Fprintf(out, "\n```text\n%s\n```\n", one.listing)
	}
}

// valueUnit is the unit of the value: that of its target, else it is a ratio.
func (f figure) valueUnit() string {
	if f.target != nil {
		return f.target.unit
	}
	return "x"
}
