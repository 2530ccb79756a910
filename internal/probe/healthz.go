package probe

import (
	"context"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// maxHealthzBody bounds what is read of an answer that is no 2xx, in bytes.
const maxHealthzBody = 8 << 10

// Healthz runs g1 alone: GET /healthz must be answered with a 2xx status. The
// body is read only for the reason that another answer gives, because a process
// that answers is alive.
func (s MCPServer) Healthz(ctx context.Context, settings Settings) registry.GateResult {
	return guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		exchange, done, err := get(ctx, s.at("healthz"), settings)
		if err != nil {
			return found(err)
		}
		defer done()
		cause, detail := registry.StatusCause(exchange.Response.StatusCode), exchange.StatusDetail()
		if cause == registry.HTTPStatus {
			detail = withReason(ctx, exchange, detail)
		}
		return finding{cause, detail}
	})
}

// withReason adds the reason that the body gives, if it comes.
func withReason(ctx context.Context, exchange *mcpwire.Exchange, detail string) string {
	body, err := exchange.ReadAll(ctx, maxHealthzBody)
	if err != nil {
		return detail
	}
	if reason := registry.Refusal(body); reason != "" {
		detail += ": " + reason
	}
	return registry.Shorten(detail, registry.MaxDetail)
}
