package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// redacted stands where a secret is, in every form that can be printed.
const redacted = "[secret]"

// Secret is a text that must not be shown: a reference such as env:NAME or
// file:PATH, which is resolved anew for every use, or a text written in place.
// No way of printing, logging or encoding it gives the text itself; a reference
// is shown, since it holds no secret. The zero value is no secret at all.
type Secret struct {
	reference string
	text      *string // a pointer, so that printing what holds a Secret shows an address
}

// SecretText is a secret that was written in place.
func SecretText(text string) Secret { return Secret{text: &text} }

// SecretAt is a secret that a reference names.
func SecretAt(reference string) Secret { return Secret{reference: reference} }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// Reference returns what names the secret; empty when it was written in place.
func (s Secret) Reference() string { return s.reference }

// Reveal returns the text itself. resolve is called for a reference, each time,
// and its error must not hold the text.
func (s Secret) Reveal(resolve func(reference string) (string, error)) (string, error) {
	switch {
	case s.text != nil:
		return *s.text, nil
	case s.reference != "":
		return resolve(s.reference)
	}
	return "", nil
}

// Equal reports whether two secrets are the same reference or the same text.
func (s Secret) Equal(other Secret) bool {
	if s.text == nil || other.text == nil {
		return s == other
	}
	return *s.text == *other.text
}

// String is the reference, or a mark that a text is there.
func (s Secret) String() string {
	if s.text != nil {
		return redacted
	}
	return s.reference
}

// Format keeps every verb of fmt from the text.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// LogValue keeps a log from the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON keeps a document from the text.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
