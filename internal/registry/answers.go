package registry

import (
	"encoding/json"
	"errors"
)

// MaxPage and DefaultPage bound the components on one page of a list.
const (
	MaxPage     = 100
	DefaultPage = 50
)

// ComponentQuery chooses components; zero values choose all. Components come in
// the order of their names, and with Attention the most pressing first.
type ComponentQuery struct {
	Kind   Kind
	Status Status
	Search string // part of the name, whatever its case; at most MaxName bytes
	// Attention chooses those that need attention; see Reading.Urgency.
	Attention bool
	Limit     int    // 1 to MaxPage; 0 for DefaultPage
	Cursor    string // NextCursor of the page before
}

// ComponentPage is one page of a list of components.
type ComponentPage struct {
	Components []Reading `json:"components"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// ComponentView is all that there is to know about one component.
type ComponentView struct {
	Reading

	// Unregistered says that the configuration of this server names it no more: this
	// server does not probe it, and all of this is what was kept.
	Unregistered   bool            `json:"unregistered,omitempty"`
	Slots          []string        `json:"slots,omitempty"`  // that it may fill
	Result         json.RawMessage `json:"result,omitempty"` // the newest one, whole
	AcceptedDigest string          `json:"accepted_digest,omitempty"`
	AcceptedAt     string          `json:"accepted_at,omitempty"`
	Drift          *Drift          `json:"drift,omitempty"`   // from the accepted tools; absent when there is none
	Changes        []Change        `json:"changes,omitempty"` // the latest changes of status, newest first
	Hours          []Hour          `json:"hours,omitempty"`   // the latest hourly sums, newest first
}

// Examination is the answer to a probe of one component that was asked for.
type Examination struct {
	Reading

	Passed  bool            `json:"passed"`
	Result  json.RawMessage `json:"result"`
	Drift   *Drift          `json:"drift,omitempty"`
	Trusted bool            `json:"trusted_at_first_sight,omitempty"` // its tools were accepted now, since none had been
}

// Acceptance is the answer to the acceptance of a component's tools.
type Acceptance struct {
	Name   string `json:"name"`
	Was    string `json:"was,omitempty"` // the digest accepted before
	Digest string `json:"digest"`        // the one accepted now
	Drift  *Drift `json:"drift,omitempty"`
	// Reason says why the newest probe did not pass, which acceptance does not
	// change; untrusted text.
	Reason string `json:"reason,omitempty"`
}

// TicketReport is the answer to whether a ticket still holds.
type TicketReport struct {
	Run      string        `json:"run"`
	IssuedAt string        `json:"issued_at,omitempty"` // RFC 3339 in UTC; absent when the signature is not ours
	Holds    bool          `json:"holds"`
	Slots    []TicketCheck `json:"slots"`
	// Reason says why it does not hold when no slot does, such as a signature of
	// another key.
	Reason string `json:"reason,omitempty"`
}

// ErrLeaseLost says that a write was refused because another process has taken
// the lease.
var ErrLeaseLost = errors.New("another process has taken the lease")
