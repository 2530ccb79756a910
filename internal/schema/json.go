package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// KindOf words the type of a raw JSON value.
func KindOf(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '"':
		return "a string"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '{':
		return "an object"
	case raw[0] == 't', raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

// LoneSurrogate reports whether raw JSON holds an escape of half a surrogate
// pair (RFC 8259, section 8.2), which Go's decoder replaces silently.
func LoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // what is escaped is no backslash that escapes
		unit, ok := EscapedUnit(raw, i-1)
		switch {
		case !ok || unit < 0xD800 || unit > 0xDFFF:
			continue
		case unit >= 0xDC00:
			return true
		}
		low, ok := EscapedUnit(raw, i+5)
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		i += 10
	}
	return false
}

// EscapedUnit reads the escape \uXXXX at a position.
func EscapedUnit(raw []byte, at int) (uint64, bool) {
	if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
	return unit, err == nil
}

// shownName is a member's name as a refusal gives it: never empty, and bounded.
func shownName(name string) string {
	if name == "" {
		return `""`
	}
	return Shortened(name)
}

// maxRepeated is how many bytes of a caller's own text a refusal repeats.
const maxRepeated = 80

// Shortened bounds a text that a refusal repeats, at a character boundary.
func Shortened(text string) string {
	if len(text) <= maxRepeated {
		return text
	}
	return strings.ToValidUTF8(text[:maxRepeated], "") + "…"
}
