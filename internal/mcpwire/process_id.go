package mcpwire

import (
	"encoding/json"
	"slices"
)

// maxID is the bytes of an id that are kept of a line that is too long.
const maxID = 128

// idFinder finds the member id of one JSON object that is too long to be kept.
// It reads the text once, piece by piece, in constant memory.
type idFinder struct {
	depth   int
	quoted  bool
	escaped bool
	token   []byte // of the first level: since the last bracket, comma or colon
	key     []byte // what stood before the last colon of the first level
	found   []byte
}

// feed takes the next piece.
func (f *idFinder) feed(piece []byte) {
	for _, b := range piece {
		f.take(b)
	}
}

func (f *idFinder) take(b byte) {
	switch {
	case f.escaped:
		f.escaped = false
	case f.quoted:
		f.escaped, f.quoted = b == '\\', b != '"'
	case b == '"':
		f.quoted = true
	case b == '{' || b == '[':
		f.depth++
		f.token = f.token[:0]
		return
	case b == ':' && f.depth == 1:
		f.key, f.token = append(f.key[:0], f.token...), f.token[:0]
		return
	case b == ',' || b == '}' || b == ']':
		f.separate(b)
		return
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
		return
	}
	if f.depth == 1 && len(f.token) <= maxID {
		f.token = append(f.token, b)
	}
}

// separate ends a value.
func (f *idFinder) separate(b byte) {
	if f.depth == 1 && f.found == nil && string(f.key) == `"id"` && len(f.token) <= maxID {
		f.found = slices.Clone(f.token)
	}
	if f.depth == 1 {
		f.key, f.token = f.key[:0], f.token[:0]
	}
	if b != ',' {
		f.depth--
	}
}

// id is the id as it was written; nil when none was found.
func (f *idFinder) id() json.RawMessage {
	if !json.Valid(f.found) {
		return nil
	}
	return f.found
}
