package cli

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	firstWidth   = 12                                 // columns of the first column
	lampWidth    = len("FAIL  ")                      // columns of the lamps
	unsureWidth  = len(registry.OutcomeUndecided) + 2 // columns of the lamps where one says so
	latencyWidth = 12                                 // columns of the latencies
)

// gateLine is a line in a table of gates, or of what a kind has instead.
type gateLine struct {
	name    string
	lamp    registry.Outcome // empty where it was not judged
	latency string
	detail  string
}

// lineOf is the line of a gate.
func lineOf(name string, got registry.GateResult, detail string) gateLine {
	return gateLine{name, outcomeOf(got), latencyOf(got), detail}
}

func latencyOf(got registry.GateResult) string { return fmt.Sprintf("%.1f ms", got.LatencyMs) }

// gateTable writes the lines below a head, which names the first column; without a
// head when that is empty. Details stay in their column.
func gateTable(out *strings.Builder, first string, lines []gateLine, paint painter) {
	width := lampWidth
	for _, line := range lines {
		if line.lamp == registry.OutcomeUndecided {
			width = unsureWidth
		}
	}
	if first != "" {
		head := fmt.Sprintf("%-*s%-*s%*s   %s", firstWidth, first, width, "lamp", latencyWidth, "latency", "detail")
		fmt.Fprintf(out, "  %s\n", paint.dim(head))
	}
	column := detailColumn + width - lampWidth
	for _, line := range lines {
		fmt.Fprintf(out, "  %-*s%s%*s   %s\n", firstWidth, line.name, lamp(line.lamp, width, paint),
			latencyWidth, line.latency, paint.foldFrom(line.detail, column, column))
	}
}

// detailColumn is where the details of gates begin.
const detailColumn = 2 + firstWidth + lampWidth + latencyWidth + 3

// lamp says it in a word as well as in colour, of a width.
func lamp(outcome registry.Outcome, width int, paint painter) string {
	word, colour := "--", paint.dim
	switch outcome {
	case registry.OutcomePassed:
		word, colour = "ok", paint.green
	case registry.OutcomeFailed:
		word, colour = "FAIL", paint.red
	case registry.OutcomeUndecided:
		word, colour = string(outcome), paint.yellow
	}
	return colour(word) + strings.Repeat(" ", max(0, width-len(word)))
}
