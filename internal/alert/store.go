package alert

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxWritten bounds the rows of each kind in one Change.
const MaxWritten = 1000

// Store keeps alerts, their deliveries, and the place in the feed up to which
// they were made. Whoever writes holds a lease. Fault of each method: Unavailable.
type Store interface {
	Lease(ctx context.Context) (registry.Lease, error)
	// TakeLease takes the lease when it is still as it was seen.
	TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error)
	ReleaseLease(ctx context.Context, fence int64) error
	// Load returns all that is kept.
	Load(ctx context.Context) (Kept, error)
	// Write makes a change, whole or not at all, and beats the lease; registry.ErrLeaseLost
	// when the fence is not that of the lease any more, or the place in the feed is
	// another. It is safe to repeat.
	Write(ctx context.Context, fence int64, change Change) error
	// Waiting returns up to limit claims that were made before a moment and for
	// which no alert fires, the oldest first.
	Waiting(ctx context.Context, before time.Time, limit int) ([]Claim, error)
	// Decided returns up to limit verdicts on claims for which an alert fires.
	Decided(ctx context.Context, limit int) ([]Verdict, error)
}

// Kept is all that is kept.
type Kept struct {
	Position   *feed.Position // up to which alerts were made; nil when nobody ever did
	Alerts     []Alert
	Deliveries []Delivery
}

// Change is a change of what is kept, of at most MaxWritten rows of each kind.
type Change struct {
	Move       *Move
	Alerts     []Alert    // each in the place of the one with its key
	Deliveries []Delivery // each in the place of the one with its receiver and key
	Gone       []string   // keys of alerts that are removed, with their deliveries
	Forgotten  []string   // receivers whose deliveries are removed
}

// Move is a step along the feed.
type Move struct {
	From *feed.Position // nil when nobody ever made alerts
	To   feed.Position
}

// Notification is what a receiver is sent of an alert: that it fires, or that it ended.
// The zero value is nothing.
type Notification struct {
	AlertID string
	State   State
}

// Delivery is what one receiver has taken of one alert, and what is being tried.
type Delivery struct {
	Receiver string
	Key      string       // of the alert
	Taken    Notification // what it has taken last
	TakenAt  time.Time
	// MayFire says that the receiver may think that an alert of this key fires: it has
	// taken that, or an attempt to deliver it has no known outcome.
	MayFire    bool
	Tried      Notification // what is being tried; nothing once it was taken
	TriedSince time.Time    // when that was tried first
	Attempts   int          // to deliver Tried
	Next       time.Time    // Tried is not tried again before
	GivenUp    bool         // Tried is not tried again at all
}
