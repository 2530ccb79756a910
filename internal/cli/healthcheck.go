package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

type healthcheckCommand struct {
	URL     string        `arg:"" optional:"" help:"Base address of the server, to which /healthz is added; http://${listen} by default." default:"http://${listen}"`
	Timeout time.Duration `help:"Time for the answer." default:"5s"`
}

// Run asks g1 of a server, for the HEALTHCHECK line of a container.
func (c *healthcheckCommand) Run(ctx context.Context, p *process) error {
	settings, err := probeSettings(c.Timeout)
	if err != nil {
		return err
	}
	server, err := probe.ParseMCPServer(c.URL, "")
	if err != nil {
		return err
	}
	got := server.Healthz(ctx, settings)
	if p.JSON {
		err = printJSON(p.Out, got)
	} else {
		paint := painterFor(p.Out, p.Getenv)
		_, err = fmt.Fprintf(p.Out, "%s  %s, %.1f ms\n%s", lamp(outcomeOf(got), 0, paint), reason(got), got.LatencyMs, paint.fold(addressHint(server, got)))
	}
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return answered(outcomeOf(got))
}

// addressHint is a line on what to do about a failure: that of its cause, or another
// for whoever gave the address of the page itself.
func addressHint(server probe.MCPServer, got registry.GateResult) string {
	base, isPage := strings.CutSuffix(server.Title(), httpapi.PathHealthz)
	if !isPage || !strings.HasPrefix(got.Detail, "status 404") {
		if entry, known := got.Cause.Entry(); known {
			return "  " + entry.Hint + "\n"
		}
		return ""
	}
	return "  " + httpapi.PathHealthz + " is added to the address; give " + visible(base) + "\n"
}
