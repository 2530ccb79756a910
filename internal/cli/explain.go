package cli

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// explanation shows what was exchanged in the gates that failed: how long each
// phase took, what was asked and answered, and what to paste into a shell to ask
// it again. Everything that stems from the server goes through visible, and
// stands behind a mark of its own on each line.
func explanation(result *registry.ProbeResult, paint painter) string {
	var out strings.Builder
	if line := phases(result.Timings); line != "" {
		out.WriteString("\n")
		row(&out, paint, "phases", line)
	}
	said := map[*registry.Transcript]registry.Gate{}
	for _, gate := range registry.Gates() {
		got := result.Gate(gate)
		if got.OK {
			continue
		}
		fmt.Fprintf(&out, "\n%s  %s\n", paint.bold("explain "+string(gate)), reason(got))
		if got.Transcript == nil {
			out.WriteString("  nothing was exchanged\n")
			continue
		}
		if before, known := said[got.Transcript]; known {
			fmt.Fprintf(&out, "  the same as %s\n", before)
			continue
		}
		said[got.Transcript] = gate
		explain(&out, got.Transcript, paint)
	}
	return out.String()
}

// phases are those of g3, in the order in which they come.
func phases(took registry.Timings) string {
	return durations([]duration{
		{"resolve", took.ResolveMs},
		{"connect", took.ConnectMs},
		{"TLS", took.TLSMs},
		{"first byte", took.FirstByteMs},
		{"handshake", took.HandshakeMs},
		{"list", took.ListMs},
		{"call", took.CallMs},
	})
}

// duration is how long a phase took, in milliseconds; 0 when it did not occur.
type duration struct {
	phase string
	ms    float64
}

func durations(list []duration) string {
	var words []string
	for _, each := range list {
		if each.ms > 0 {
			words = append(words, fmt.Sprintf("%s %.1f ms", each.phase, each.ms))
		}
	}
	return strings.Join(words, ", ")
}

func explain(out *strings.Builder, seen *registry.Transcript, paint painter) {
	for i := range seen.Exchanges {
		explainExchange(out, i+1, &seen.Exchanges[i], paint)
	}
	for _, message := range seen.Messages {
		mark := "<"
		if message.Sent {
			mark = ">"
		}
		marked(out, paint, mark, message.Text)
	}
	if seen.Stderr != "" {
		marked(out, paint, "!", seen.Stderr)
	}
	if seen.LeftOut > 0 {
		fmt.Fprintf(out, "  (%d in the middle were left out)\n", seen.LeftOut)
	}
	if seen.Curl == "" {
		return
	}
	fmt.Fprintf(out, "\n  %s\n%s\n", paint.dim("again:"), visible(seen.Curl))
	for _, variable := range seen.Variables {
		fmt.Fprintf(out, "  %s\n", paint.dim(fmt.Sprintf("$%s is %s", visible(variable.Name), oneLine(variable.Means))))
	}
}

func explainExchange(out *strings.Builder, number int, seen *registry.Exchange, paint painter) {
	if number > 1 {
		out.WriteString("\n")
	}
	explainMessage(out, ">", &seen.Request, paint)
	if seen.Response != nil {
		explainMessage(out, "<", seen.Response, paint)
	}
	if seen.Error != "" {
		marked(out, paint, "!", seen.Error)
	}
	took := seen.Timings
	line := durations([]duration{
		{"resolve", took.ResolveMs},
		{"connect", took.ConnectMs},
		{"TLS", took.TLSMs},
		{"first byte", took.FirstByteMs},
		{"all", took.TotalMs},
	})
	if seen.Address != "" {
		line = strings.TrimPrefix(line+", dialled "+oneLine(seen.Address), ", ")
	}
	fmt.Fprintf(out, "  %s\n", paint.dim("  "+line))
}

func explainMessage(out *strings.Builder, mark string, seen *registry.HTTPMessage, paint painter) {
	marked(out, paint, mark, seen.Line)
	for _, line := range seen.Header {
		marked(out, paint, mark, line)
	}
	if seen.Body != "" {
		marked(out, paint, mark, "\n"+seen.Body)
	}
}

// marked writes text with the mark before each of its lines.
func marked(out *strings.Builder, paint painter, mark, text string) {
	for line := range strings.SplitSeq(visible(strings.TrimSuffix(text, "\n")), "\n") {
		fmt.Fprintf(out, "  %s\n", strings.TrimRight(paint.dim(mark)+" "+line, " "))
	}
}
