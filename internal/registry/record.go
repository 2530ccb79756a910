package registry

import (
	"encoding/json"
	"slices"
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

// Registration is what the component is registered as.
func (c *Component) Registration() (Registration, error) {
	definition, err := c.Definition()
	return Registration{Name: c.Name, Kind: c.Kind(), Definition: definition}, err
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

// Register returns what is known when the component is registered at a moment.
// Where it is what it was, nothing changes; else the results so far are
// forgotten, since they are about something else. The accepted tools are kept
// unless the kind is another: whoever edits a component has not looked at its
// tools.
func (k Known) Register(as Registration, at time.Time) Known {
	if k.Registration == as {
		return k
	}
	fresh := Known{Registration: as, Standing: Standing{RegisteredAt: at}}
	if k.Registration.Kind == as.Kind {
		fresh.AcceptedDigest, fresh.AcceptedAt = k.AcceptedDigest, k.AcceptedAt
	}
	return fresh
}

// After returns what is known when one more result has come, and the changes of
// status to be kept, oldest first: those that the result makes, and before them
// the change to unknown that only now comes to light. The zero Known registers
// the component. The tools of the first result that passed are the accepted ones
// (trust on first use).
//
// What Standing.After passes over changes nothing here, and neither does a
// result of another definition whose probe began before the present one was
// registered.
func (k Known) After(record Record) (Known, []Change) {
	seen := SeenOf(record.ID, record.Summary)
	isLeftover := k.Registration != Registration{} && k.Registration != record.Registration &&
		seen.ProbedAt.Before(k.Standing.RegisteredAt.Truncate(time.Millisecond))
	known := k.Register(record.Registration, seen.ProbedAt)
	standing, changes, counts := known.Standing.fold(seen, record.Policy)
	if isLeftover || !counts {
		return k, nil
	}
	known.Standing = standing
	if digest := record.Summary.ToolsDigest; digest != "" {
		known.ToolsDigest = digest
		if known.AcceptedDigest == "" && seen.Outcome == OutcomePassed {
			known.AcceptedDigest, known.AcceptedAt = digest, seen.ProbedAt
		}
	}
	for i := range changes {
		changes[i].Component = record.Registration.Name
	}
	return known, changes
}

// Drifted reports whether the tools are not the accepted ones.
func (k Known) Drifted() bool {
	return k.AcceptedDigest != "" && k.ToolsDigest != "" && k.AcceptedDigest != k.ToolsDigest
}

// TrustedWith reports whether the tools were accepted with this result, since none
// had been: trust on first use.
func (k Known) TrustedWith(record Record) bool {
	return k.Registration == record.Registration && record.Summary.Outcome == OutcomePassed && record.Summary.ToolsDigest != "" &&
		k.AcceptedDigest == record.Summary.ToolsDigest && k.AcceptedAt.Equal(record.Summary.ProbedAt)
}

// Change is one change of status: from Probing with the first result, and to and
// from Unknown, as well as between Available and Unavailable. ResultID is the
// result that brought it: for a change to Unknown because of its age the one that
// was too old, and empty where a component outlived its deadline without any.
// Changes are kept for ever.
type Change struct {
	Component string    `json:"component"`
	At        time.Time `json:"at"`
	From      Status    `json:"from"`
	To        Status    `json:"to"`
	Causes    []Cause   `json:"causes"`
	ResultID  string    `json:"result_id"`
	// Redefined says that the definition of the component changed after the change
	// before, so that it was Probing again. It is worked out where changes are told.
	Redefined bool `json:"redefined,omitempty"`
}

// TellRedefined returns the first changes of a list of one component, the newest first
// and no more than most, and marks those before which its definition changed: each
// definition begins with a change from Probing, and only that of the first has none
// before it. The last one is marked for certain when the list has one more.
func TellRedefined(changes []Change, most int) []Change {
	told := slices.Clone(changes[:min(len(changes), most)])
	for i := range told {
		told[i].Redefined = told[i].From == Probing && i+1 < len(changes)
	}
	return told
}

// Hour is the hourly sum of a component: its results in one hour, counted.
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
	Hourly   time.Duration // how long hourly sums are kept
	MaxBytes int64         // what results, hourly sums and preflights take at most; the oldest go first
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
	Digest    string    `json:"-"` // SHA-256 of its slots in hexadecimal, by which two of one moment differ
}

// Place is where it stands among those of its run.
func (k *KeptPreflight) Place() PreflightPlace { return PreflightPlace{k.At, k.Digest} }

// PreflightPlace is a place among the preflights of a run, the newest first; the
// zero value is that before all of them.
type PreflightPlace struct {
	At     time.Time
	Digest string
}
