package mcpwire

import (
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Phases are those of the exchange so far; total is what the caller measured.
func (e *Exchange) Phases(total time.Duration) registry.Phases {
	took := e.trace.timings()
	return registry.Phases{
		ResolveMs: took.ResolveMs, ConnectMs: took.ConnectMs, TLSMs: took.TLSMs, FirstByteMs: took.FirstByteMs,
		TotalMs: registry.Milliseconds(total),
	}
}
