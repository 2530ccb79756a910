package probe

import (
	"context"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Healthz runs g1 alone: GET /healthz must be answered with a 2xx status. The
// body is not read, because a process that answers is alive.
func (s MCPServer) Healthz(ctx context.Context, settings Settings) registry.GateResult {
	return guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		exchange, done, err := get(ctx, s.at("healthz"), settings)
		if err != nil {
			return found(err)
		}
		defer done()
		return finding{registry.StatusCause(exchange.Response.StatusCode), exchange.StatusDetail()}
	})
}
