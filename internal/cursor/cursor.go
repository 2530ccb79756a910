// Package cursor makes the cursors of all lists, so that none of one list is taken
// for one of another: a cursor tells its list, what the list is of, and the place
// that the next page follows. To a caller it is opaque.
//
// A cursor is no secret and is not signed: who makes one up learns nothing that the
// list would not tell, so what it holds is checked like any other argument.
package cursor

import (
	"bytes"
	"encoding/base64"
)

// List is a list in one order, and the first byte of its cursors. A number is never
// given to another list, nor to another form of what its cursors hold.
type List byte

// The lists. 2 is spent: its cursors named no status.
const (
	TasksNewest         List = 1
	AgentsByName        List = 3
	AgentsByVerdicts    List = 4
	TasksOldest         List = 5
	Components          List = 6
	ComponentsByUrgency List = 7
	Slots               List = 8
	Runs                List = 9
	Results             List = 10
	Preflights          List = 11
)

// MaxLength bounds a cursor, in bytes: the longest holds a name and a digest.
const MaxLength = 200

// endOfOwner ends the name of what a list is of; no name holds it.
const endOfOwner = 0

// After makes the cursor of the page after a place. What the list is of is empty
// where there is only one such list.
func (l List) After(of string, place []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(l.before(of), place...))
}

// Place returns the place that a cursor holds, and whether it is one that After made
// for this list, byte by byte.
func (l List) Place(of, text string) (place []byte, ok bool) {
	if len(text) > MaxLength {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != text { // decoding skips the ends of lines
		return nil, false
	}
	return bytes.CutPrefix(raw, l.before(of))
}

// before is what stands before a place.
func (l List) before(of string) []byte {
	if of == "" {
		return []byte{byte(l)}
	}
	return append(append([]byte{byte(l)}, of...), endOfOwner)
}
