package registry

import (
	"encoding/json"
	"time"
)

// Registration says what a component is, to a store that keeps its results.
type Registration struct {
	Name       string
	Kind       Kind
	Definition string // see Component.Definition
}

// Record is one result to be kept.
type Record struct {
	ID           string // a UUID of version 7 (RFC 9562)
	Registration Registration
	Policy       Policy
	Summary      Summary
	Document     json.RawMessage // the whole result
	ToolList     []Tool          // nil when the result did not bring the tools home
}

// Kept is a result that was kept. Its document is absent when it was given up:
// that of a pass followed by another pass is.
type Kept struct {
	ID        string
	Component string
	Kind      Kind
	Seen      Seen
	Latency   time.Duration
	Document  json.RawMessage
}

// Known is what a store knows of a registered component.
type Known struct {
	Registration Registration
	Standing     Standing
	// ToolsDigest is that of the newest result that brought tools home, and
	// AcceptedDigest that of the accepted tools; either may be empty.
	ToolsDigest    string
	AcceptedDigest string
	AcceptedAt     time.Time
}

// Drifted reports whether the tools are not the accepted ones.
func (k *Known) Drifted() bool {
	return k.AcceptedDigest != "" && k.ToolsDigest != "" && k.AcceptedDigest != k.ToolsDigest
}

// Change is one change of a settled status; To is Unknown when no result counted
// any more. Changes are kept for ever.
type Change struct {
	Component string    `json:"component"`
	At        time.Time `json:"at"`
	From      Status    `json:"from"`
	To        Status    `json:"to"`
	Causes    []Cause   `json:"causes"`
	ResultID  string    `json:"result_id"`
}

// Hour is the roll-up of the results of one component in one hour.
type Hour struct {
	Component string    `json:"component"`
	Start     time.Time `json:"start"`
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Undecided int       `json:"undecided"`
	LatencyMs struct {
		Sum float64 `json:"sum"`
		Max float64 `json:"max"`
	} `json:"latency_ms"`
}

// Retention bounds the history.
type Retention struct {
	Raw      time.Duration // how long results are kept
	Hourly   time.Duration // how long roll-ups are kept
	MaxBytes int64         // what results and roll-ups take at most; the oldest results go first
}

// The defaults of Retention.
const (
	DefaultRaw      = 168 * time.Hour
	DefaultHourly   = 4320 * time.Hour
	DefaultMaxBytes = 1 << 30
)

// Lease is a hold on the patrol of a database. Whoever takes it raises the fence,
// and a write under an older fence is refused.
type Lease struct {
	Holder string // who holds it; empty when nobody ever did
	Fence  int64
	Beat   int64 // rises while the holder lives
}

// KeptPreflight is a preflight that was kept with its run.
type KeptPreflight struct {
	At        time.Time `json:"at"`
	Preflight Preflight `json:"preflight"`
}
