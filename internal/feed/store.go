package feed

import (
	"context"
	"time"
)

// MaxKept is how many of the newest events are kept; older ones are removed once
// they have been counted. A listener that resumes before them is told to read
// everything anew.
const MaxKept = 100_000

// MaxEvents bounds the events of one reading.
const MaxEvents = 1000

// Store keeps the sequence. Fault of each method: Unavailable.
type Store interface {
	// Events returns up to limit (1 to MaxEvents) events after a position, in
	// their order. What is returned is settled: no event will ever appear before
	// one that was returned.
	Events(ctx context.Context, after Position, limit int) ([]Event, error)
	// Ends returns the position before the oldest event that is kept, and that of
	// the newest one; both are zero when there never was one.
	Ends(ctx context.Context) (before, newest Position, err error)
	// RollUp counts up to MaxEvents further events into the tallies of agents and of
	// transitions, in one transaction, and reports whether there are more. Of
	// several processes that do so at once one counts. Events that are counted
	// and beyond MaxKept are removed in small steps.
	RollUp(ctx context.Context, now time.Time) (more bool, err error)
}
