package cli

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// glanceAge is for how long what was read of all components is shown again, and
	// glanceTime how long reading it may take.
	glanceAge  = time.Second
	glanceTime = 5 * time.Second
)

// glance is what the page and the metrics show of all components, which is read
// once for all who ask within glanceAge.
type glance struct {
	read func(context.Context) ([]registry.Reading, error)
	turn chan struct{} // holds a token while somebody reads or looks below

	at       time.Time
	readings []registry.Reading
	err      error
}

func newGlance(read func(context.Context) ([]registry.Reading, error)) *glance {
	return &glance{read: read, turn: make(chan struct{}, 1)}
}

// look returns all components in the order of their names, which nobody may
// change.
func (g *glance) look(ctx context.Context) ([]registry.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-g.turn }()
	if !g.at.IsZero() && time.Since(g.at) < glanceAge {
		return g.readings, g.err
	}
	readings, err := g.read(ctx)
	if ctx.Err() == nil { // Else it says something about who asked alone.
		g.at, g.readings, g.err = time.Now(), readings, err
	}
	return readings, err
}
