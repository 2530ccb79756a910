package registry

import (
	"crypto/ed25519"
	"errors"
	"time"
)

// TicketVersion is the version of the form of a ticket.
const TicketVersion = 1

// MaxTicketBytes bounds the file of a ticket.
const MaxTicketBytes = 1 << 20

// Ticket is the signed, dated record of a preflight that was allowed: which
// component fills each slot, and what it was like. The signature is Ed25519 (RFC
// 8032) over the canonical JSON (RFC 8785) of the ticket without its signature.
type Ticket struct {
	Version   int          `json:"version"`
	Run       string       `json:"run"`
	IssuedAt  string       `json:"issued_at"` // RFC 3339 in UTC with milliseconds
	Slots     []TicketSlot `json:"slots"`     // that were filled, in the order of the run
	KeyID     string       `json:"key_id"`    // see KeyID
	Signature string       `json:"signature"` // in base64 (RFC 4648, section 4)
}

// TicketSlot is what fills a slot of a run, and what it was like.
type TicketSlot struct {
	Slot           string `json:"slot"`
	Component      string `json:"component"`
	Kind           Kind   `json:"kind"`
	Fallback       bool   `json:"fallback"`
	ResultID       string `json:"result_id"`
	ToolsDigest    string `json:"tools_digest,omitempty"`
	ImageDigest    string `json:"image_digest,omitempty"`
	ContentVersion string `json:"content_version,omitempty"`
}

// ErrNotTicket says that a document cannot be read as a ticket.
var ErrNotTicket = errors.New("this is no ticket")

// NewTicket signs the record of an allowed preflight.
func NewTicket(preflight *Preflight, components func(name string) *Component, at time.Time, key ed25519.PrivateKey) (*Ticket, error) {
	return nil, errors.New("not written yet")
}

// ParseTicket reads a ticket strictly: an unknown, missing or doubled member, a
// wrong type and another version are ErrNotTicket, wrapped.
func ParseTicket(document []byte) (*Ticket, error) {
	return nil, ErrNotTicket
}

// Signed reports whether the ticket bears the signature of a key.
func (t *Ticket) Signed(by ed25519.PublicKey) bool { return false }

// KeyID is how a ticket names the key that signed it: "ed25519:" and the first 16
// hexadecimal digits of the SHA-256 of the public key.
func KeyID(key ed25519.PublicKey) string { return "" }

// TicketCheck is what became of one slot of a ticket.
type TicketCheck struct {
	Slot      string  `json:"slot"`
	Component string  `json:"component"`
	OK        bool    `json:"ok"`
	Causes    []Cause `json:"causes"`
	Reason    string  `json:"reason,omitempty"` // untrusted text
	ResultID  string  `json:"result_id"`
	// Changed names what is not as it was: tools_digest, image_digest, content_version.
	Changed []string `json:"changed,omitempty"`
}

// Compare holds what a ticket says of a slot against an attempt made now.
func (t TicketSlot) Compare(now Attempt) TicketCheck {
	return TicketCheck{Slot: t.Slot, Component: t.Component}
}
