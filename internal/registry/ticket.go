package registry

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gowebpki/jcs"
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
var ErrNotTicket = errors.New("this cannot be read as a ticket")

// NewTicket signs the record of an allowed preflight. It fails for one that was
// refused, that Slot.Judge had no part in, that names what components does not
// return, or whose ticket ParseTicket would refuse.
func NewTicket(preflight *Preflight, components func(name string) *Component, at time.Time, key ed25519.PrivateKey) (*Ticket, error) {
	switch {
	case !preflight.Allowed:
		return nil, fmt.Errorf("sign a ticket: the preflight of %s was refused", preflight.Run)
	case len(key) != ed25519.PrivateKeySize:
		return nil, errors.New("sign a ticket: this is no Ed25519 key")
	}
	public := ed25519.PublicKey(key[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
	ticket := &Ticket{
		Version: TicketVersion, Run: preflight.Run, IssuedAt: Timestamp(at),
		Slots: []TicketSlot{}, KeyID: KeyID(public),
	}
	for i := range preflight.Slots {
		if filled := &preflight.Slots[i]; filled.OK {
			slot, err := filled.ticket(components(filled.Component))
			if err != nil {
				return nil, fmt.Errorf("sign a ticket: slot %s: %w", filled.Slot, err)
			}
			ticket.Slots = append(ticket.Slots, slot)
		}
	}
	signed, err := ticket.canonical()
	if err != nil {
		return nil, err
	}
	ticket.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed))
	document, err := json.Marshal(ticket)
	if err != nil {
		return nil, fmt.Errorf("write a ticket as JSON: %w", err)
	}
	if _, err := ParseTicket(document); err != nil {
		return nil, fmt.Errorf("sign a ticket that can be read: %w", err)
	}
	return ticket, nil
}

// ticket is what a ticket keeps of a slot that a component fills.
func (s *SlotResult) ticket(component *Component) (TicketSlot, error) {
	at := slices.IndexFunc(s.Attempts, func(a Attempt) bool { return a.Passed && a.Component == s.Component && a.pins != nil })
	if component == nil || at < 0 {
		return TicketSlot{}, fmt.Errorf("no result of the component %q that fills it was judged", s.Component)
	}
	proven := s.Attempts[at]
	return TicketSlot{
		Slot: s.Slot, Component: s.Component, Kind: component.Kind(), Fallback: s.Fallback, ResultID: proven.ResultID,
		ToolsDigest: proven.pins.tools, ImageDigest: proven.pins.image, ContentVersion: proven.pins.content,
	}, nil
}

// canonical is what the signature covers.
func (t *Ticket) canonical() ([]byte, error) {
	type plain Ticket
	document, err := json.Marshal(struct {
		plain

		Signature string `json:"signature,omitempty"` // hides that of the ticket
	}{plain: plain(*t)})
	if err != nil {
		return nil, fmt.Errorf("write a ticket as JSON: %w", err)
	}
	canonical, err := jcs.Transform(document)
	if err != nil {
		return nil, fmt.Errorf("bring a ticket into canonical form: %w", err)
	}
	return canonical, nil
}

// ParseTicket reads a ticket strictly: an unknown, missing, empty or doubled
// member, a wrong type, another version, anything behind the ticket, and more than
// MaxTicketBytes are ErrNotTicket, wrapped. What it says is untrusted until it is
// Signed.
func ParseTicket(document []byte) (*Ticket, error) {
	if len(document) > MaxTicketBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrNotTicket, MaxTicketBytes)
	}
	fields := readStrictly(document)
	ticket := &Ticket{
		Version: TicketVersion, Run: fields.text("run"), IssuedAt: fields.text("issued_at"),
		Slots: []TicketSlot{}, KeyID: fields.text("key_id"), Signature: fields.text("signature"),
	}
	if version := fields.take("version"); string(version) != "1" {
		fields.fail("version is not 1")
	}
	if at, err := time.Parse(timeForm, ticket.IssuedAt); err != nil || Timestamp(at) != ticket.IssuedAt {
		fields.fail("issued_at is no time in UTC with milliseconds")
	}
	if signature, err := base64.StdEncoding.DecodeString(ticket.Signature); err != nil ||
		len(signature) != ed25519.SignatureSize || base64.StdEncoding.EncodeToString(signature) != ticket.Signature {
		fields.fail("signature is not that of an Ed25519 key in base64")
	}
	for i, raw := range fields.list("slots") {
		slot, err := parseTicketSlot(raw)
		if err != nil {
			fields.fail(fmt.Sprintf("slots[%d]: %v", i, err))
		}
		ticket.Slots = append(ticket.Slots, slot)
	}
	if err := fields.end(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotTicket, err)
	}
	return ticket, nil
}

func parseTicketSlot(raw []byte) (TicketSlot, error) {
	fields := readStrictly(raw)
	slot := TicketSlot{
		Slot: fields.text("slot"), Component: fields.text("component"), Kind: Kind(fields.text("kind")),
		Fallback: fields.truth("fallback"), ResultID: fields.text("result_id"),
		ToolsDigest: fields.textIfAny("tools_digest"), ImageDigest: fields.textIfAny("image_digest"),
		ContentVersion: fields.textIfAny("content_version"),
	}
	if !slices.Contains(Kinds(), slot.Kind) {
		fields.fail("kind is none that is known")
	}
	return slot, fields.end()
}

// Signed reports whether the ticket bears the signature of a key, over all that
// it says.
func (t *Ticket) Signed(by ed25519.PublicKey) bool {
	signature, err := base64.StdEncoding.DecodeString(t.Signature)
	if err != nil || len(by) != ed25519.PublicKeySize {
		return false
	}
	signed, err := t.canonical()
	return err == nil && ed25519.Verify(by, signed, signature)
}

// KeyID is how a ticket names the key that signed it: "ed25519:" and the first 16
// hexadecimal digits of the SHA-256 of the public key.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "ed25519:" + hex.EncodeToString(sum[:8])
}

// TicketCheck is what became of one slot of a ticket.
type TicketCheck struct {
	Slot      string  `json:"slot"`
	Component string  `json:"component"`
	OK        bool    `json:"ok"`
	Causes    []Cause `json:"causes"`
	Reason    string  `json:"reason,omitempty"` // untrusted text
	ResultID  string  `json:"result_id"`
	// Changed names what is not as it was: kind, tools_digest, image_digest,
	// content_version.
	Changed []string `json:"changed,omitempty"`
}
