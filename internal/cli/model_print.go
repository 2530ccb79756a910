package cli

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// modelTable is a line for the invocation, then a hint when it failed, then what
// else the answer has told.
func modelTable(result *registry.ModelResult, paint painter) string {
	var out strings.Builder
	invoke := lineOf("invoke", result.Invoke, reason(result.Invoke))
	invoke.lamp = result.Summary().Outcome
	gateTable(&out, "", []gateLine{invoke}, paint)
	out.WriteString("\n")
	for _, cause := range result.Summary().Causes {
		if entry, known := cause.Entry(); known {
			row(&out, paint, "hint", entry.Sentence+" "+entry.Hint)
			out.WriteString("\n")
		}
	}
	row(&out, paint, "model", modelLine(result))
	if result.Tokens != (registry.Tokens{}) {
		row(&out, paint, "tokens", tokensLine(result.Tokens))
	}
	if result.Requests != 1 {
		row(&out, paint, "requests", fmt.Sprint(result.Requests))
	}
	if result.Timings.TotalMs > 0 {
		row(&out, paint, "phases", phasesLine(result.Timings))
	}
	for _, warning := range result.Warnings {
		row(&out, paint, "warning", oneLine(warning))
	}
	row(&out, paint, "probed at", shownMoment(result.ProbedAt))
	return out.String()
}

func modelLine(result *registry.ModelResult) string {
	line := oneLine(result.Model)
	if stated := oneLine(result.StatedModel); stated != "" && stated != line {
		line += ", states " + stated
	}
	return fmt.Sprintf("%s (%s, %s)", line, result.Provider, result.Mode)
}

func tokensLine(tokens registry.Tokens) string {
	line := fmt.Sprintf("%d in, %d out", tokens.Input, tokens.Output)
	if tokens.Total != nil {
		line += fmt.Sprintf(", %d in all", *tokens.Total)
	}
	return line
}

// phasesLine has those phases of a request that occurred.
func phasesLine(phases registry.Phases) string {
	var said []string
	for _, each := range []struct {
		name string
		ms   float64
	}{
		{"resolve", phases.ResolveMs}, {"connect", phases.ConnectMs}, {"TLS", phases.TLSMs}, {"first byte", phases.FirstByteMs}, {"whole", phases.TotalMs},
	} {
		if each.ms > 0 {
			said = append(said, fmt.Sprintf("%s %.1f ms", each.name, each.ms))
		}
	}
	return strings.Join(said, ", ")
}
