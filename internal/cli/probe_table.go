package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	namesWidth = 64 // columns for the names of tools in the table
	textWidth  = 78 // columns of running text; narrow terminals have 80
)

// probeTable shows a probe result to a person. Everything in it that stems from
// the server goes through visible.
func probeTable(result *registry.ProbeResult, only []registry.Gate, by typed, paint painter) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n\n", paint.bold(visible(result.Target)), headline(result, paint))
	out.WriteString(gatesTable(result, only, by, paint))
	if len(only) > 0 {
		fmt.Fprintf(&out, "\n  asked for %s: %s\n", gateNames(only), lamp(outcomeAt(result, only), 0, paint))
	}
	return out.String()
}

// gatesTable is a line for each gate, then hints, then what else the probe has
// seen.
func gatesTable(result *registry.ProbeResult, only []registry.Gate, by typed, paint painter) string {
	var out strings.Builder
	gateTable(&out, "gate", gateLines(result), paint)
	hintLines(&out, hints(result, only, by), paint)
	out.WriteString("\n")
	about(&out, result, paint)
	return out.String()
}

// gateLines are a line for each gate.
func gateLines(result *registry.ProbeResult) []gateLine {
	var lines []gateLine
	for _, gate := range registry.Gates() {
		lines = append(lines, lineOf(string(gate), result.Gate(gate), gateDetail(result, gate)))
	}
	return lines
}

// hintLines are the hints below an empty line, if there are any.
func hintLines(out *strings.Builder, hints []hint, paint painter) {
	if len(hints) > 0 {
		out.WriteString("\n")
	}
	for _, each := range hints {
		row(out, paint, "hint", each.text)
		for _, line := range each.lines {
			fmt.Fprintf(out, "  %-*s%s\n", firstWidth, "", paint.bold(line))
		}
	}
}

// headline says what came of a probe, and at which gates it did not pass.
func headline(result *registry.ProbeResult, paint painter) string {
	at := map[registry.Outcome][]registry.Gate{}
	for _, gate := range registry.Gates() {
		outcome := outcomeOf(result.Gate(gate))
		at[outcome] = append(at[outcome], gate)
	}
	outcome := result.Summary().Outcome
	said := verdictOn(outcome, paint)
	if outcome != registry.OutcomePassed {
		said += " at " + gateNames(at[outcome])
	}
	if unsure := at[registry.OutcomeUndecided]; len(unsure) > 0 && outcome == registry.OutcomeFailed {
		said += ", undecided at " + gateNames(unsure)
	}
	return said
}

// verdictOn is an outcome as a headline says it.
func verdictOn(outcome registry.Outcome, paint painter) string {
	switch outcome {
	case registry.OutcomePassed:
		return paint.green("passed")
	case registry.OutcomeUndecided:
		return paint.yellow(string(outcome))
	case registry.OutcomeFailed:
	}
	return paint.red("FAILED")
}

func gateNames(gates []registry.Gate) string {
	names := make([]string, len(gates))
	for i, gate := range gates {
		names[i] = string(gate)
	}
	return strings.Join(names, ", ")
}

func gateDetail(result *registry.ProbeResult, gate registry.Gate) string {
	words := reason(result.Gate(gate))
	if gate == registry.ListTools && len(result.Tools) > 0 {
		words += ": " + shortList(result.Tools)
	}
	return words
}

// reason is the detail of a gate, behind the cause if it failed.
func reason(got registry.GateResult) string {
	words := oneLine(got.Detail)
	if got.Cause == "" || strings.HasPrefix(words, string(got.Cause)+" ") {
		return words
	}
	return string(got.Cause) + ": " + words
}

// oneLine keeps text of a server from breaking the table.
func oneLine(text string) string {
	return visible(strings.Join(strings.Fields(text), " "))
}

// shortList gives as many names as fit, and the number of the others.
func shortList(names []string) string {
	var shown strings.Builder
	for i, name := range names {
		name = oneLine(name)
		if i > 0 && shown.Len()+len(name) > namesWidth {
			fmt.Fprintf(&shown, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			shown.WriteString(", ")
		}
		shown.WriteString(registry.Shorten(name, namesWidth))
	}
	return shown.String()
}

// about tells what else the probe has seen.
func about(out *strings.Builder, result *registry.ProbeResult, paint painter) {
	if result.Era != "" {
		row(out, paint, "server", serverLine(result))
	}
	if len(result.Dependencies) > 0 {
		row(out, paint, "depends on", dependencyLine(result.Dependencies))
	}
	if result.SessionsOpened > 0 {
		row(out, paint, "sessions", fmt.Sprintf("%d opened, %d closed", result.SessionsOpened, result.SessionsClosed))
	}
	for _, warning := range result.Warnings {
		row(out, paint, "warning", oneLine(warning))
	}
	row(out, paint, "probed at", result.ProbedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
}

func serverLine(result *registry.ProbeResult) string {
	name := strings.TrimSpace(oneLine(result.Server.Name) + " " + oneLine(result.Server.Version))
	if name == "" {
		name = "(does not give its name)"
	}
	return fmt.Sprintf("%s, MCP %s (%s era, %s)", name, oneLine(result.ProtocolVersion), result.Era, result.Transport)
}

// dependencyLine names the dependencies that the server calls unusable, and
// counts the others.
func dependencyLine(dependencies map[string]json.RawMessage) string {
	var unusable []string
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		var entry struct {
			Executable *bool  `json:"executable"`
			Detail     string `json:"detail"`
		}
		if json.Unmarshal(dependencies[name], &entry) != nil || entry.Executable == nil || *entry.Executable {
			continue
		}
		unusable = append(unusable, strings.TrimSuffix(fmt.Sprintf("%s (%s)", oneLine(name), oneLine(entry.Detail)), " ()"))
	}
	if len(unusable) == 0 {
		return shortList(slices.Sorted(maps.Keys(dependencies)))
	}
	return fmt.Sprintf("%d of %d unusable: %s", len(unusable), len(dependencies), strings.Join(unusable, ", "))
}

// row prints a name and running text beside it, broken at textWidth.
func row(out *strings.Builder, paint painter, name, text string) {
	label := paint.dim(fmt.Sprintf("%-*s", firstWidth, name))
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			out.WriteString("  " + label)
		case column+1+len(word) > textWidth-firstWidth:
			out.WriteString("\n  " + strings.Repeat(" ", firstWidth))
			column = 0
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	out.WriteString("\n")
}
