package mcpserver

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// maxResultBytes is how long the object of a result may be as JSON, so that it
// fits what clients pass on to a model.
const maxResultBytes = 80_000

// ellipsis ends a text that was cut.
const ellipsis = "…"

// clipping is one part of a result that may be cut.
type clipping struct {
	name string         // what the result says was cut; several may share one
	size int            // bytes as JSON
	cut  func(most int) // to at most this many bytes as JSON
}

// clip cuts the largest parts of a result, each to the same length, so that the
// whole, which has size bytes as JSON, has at most limit with the names of what
// was cut. It returns them. JSON escaping counts: it makes some characters six
// times as long.
func clip(size, limit int, clippings []clipping) (cut []string) {
	if size <= limit || len(clippings) == 0 {
		return nil
	}
	room := limit - size
	for _, c := range clippings {
		room += c.size
	}
	room -= sizeOf(namesOf(clippings)) + len(`,"truncated":`)
	most := level(clippings, max(room, 0))
	for _, c := range clippings {
		if c.size > most {
			c.cut(most)
			cut = append(cut, c.name)
		}
	}
	return slices.Compact(cut)
}

// level returns the length to which the longest clippings must be cut so that all
// of them together take at most room.
func level(clippings []clipping, room int) int {
	lengths := make([]int, len(clippings))
	for i, c := range clippings {
		lengths[i] = c.size
	}
	slices.Sort(lengths)
	for i, length := range lengths {
		share := room / (len(lengths) - i)
		if length > share {
			return share
		}
		room -= length
	}
	return lengths[len(lengths)-1]
}

// textClipping is a text that may be cut at its end.
func textClipping(name string, place *string) clipping {
	escaped := inner(*place)
	return clipping{name, len(escaped), func(most int) { *place = cut(escaped, most) }}
}

// inner returns a text as JSON without the quotes.
func inner(text string) []byte {
	quoted := escape(text)
	return quoted[1 : len(quoted)-1]
}

// cut returns as much of an escaped text as fits into most bytes with an
// ellipsis. It ends between two characters.
func cut(escaped []byte, most int) string {
	most -= len(ellipsis)
	end := 0
	for end < len(escaped) {
		next := end + unitLength(escaped[end:])
		if next > most {
			break
		}
		end = next
	}
	var kept string
	// What escape made and unitLength left whole can be read again.
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, escaped[:end], []byte{'"'}), &kept)
	return kept + ellipsis
}

// unitLength returns the length of the first character as JSON writes it.
func unitLength(escaped []byte) int {
	switch {
	case escaped[0] != '\\':
		_, size := utf8.DecodeRune(escaped)
		return size
	case escaped[1] == 'u':
		return len(`\u0000`)
	}
	return len(`\n`)
}

func namesOf(clippings []clipping) []string {
	names := make([]string, len(clippings))
	for i, c := range clippings {
		names[i] = c.name
	}
	return slices.Compact(names)
}

// sizeOf returns how many bytes v has as JSON.
func sizeOf(v any) int { return len(escape(v)) }

// escape returns v as the SDK sends it: with <, > and & escaped.
func escape(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`""`) // what is answered always marshals
	}
	return data
}
