package mcpwire

import (
	"sync"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxEras bounds what one Eras remembers, in targets.
const MaxEras = 20_000

// way is how a server is spoken to.
type way struct {
	era       registry.Era
	transport registry.Transport
}

// Eras remembers in which way targets were last spoken to with success, so that
// the next client of a target begins with it instead of finding it out. A way
// that no longer works is forgotten and found out anew. When it is full, any
// target gives way to a new one. It may be used by many goroutines; nil
// remembers nothing.
type Eras struct {
	mu    sync.Mutex
	known map[string]way
}

// NewEras returns one that remembers nothing yet.
func NewEras() *Eras { return &Eras{known: map[string]way{}} }

func (e *Eras) of(target string) way {
	if e == nil {
		return way{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[target]
}

func (e *Eras) remember(target string, found way) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.known[target]; !known && len(e.known) == MaxEras {
		for other := range e.known {
			delete(e.known, other)
			break
		}
	}
	e.known[target] = found
}

func (e *Eras) forget(target string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, target)
}
