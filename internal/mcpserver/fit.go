package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/task"
)

// maxTaskBytes is how long the object of get_task may be as JSON, so that it
// fits what clients pass on to a model.
const maxTaskBytes = 80_000

// ellipsis ends a text that was cut.
const ellipsis = "…"

// clipping is one text of a task that may be cut.
type clipping struct {
	name    string
	place   *string
	escaped []byte // as JSON, without the quotes
}

// fit returns the task with its longest texts cut, each to the same length, so
// that the whole is at most limit bytes as JSON. It names in Truncated what was
// cut. JSON escaping counts: it makes some characters six times as long.
func fit(whole task.Task, limit int) task.Task {
	size := len(escape(whole))
	if size <= limit {
		return whole
	}
	whole.AcceptanceCriteria = slices.Clone(whole.AcceptanceCriteria)
	clippings := []clipping{{name: "evidence", place: &whole.Evidence}, {name: "notes", place: &whole.Notes}}
	for i := range whole.AcceptanceCriteria {
		clippings = append(clippings, clipping{name: criterionName(i), place: &whole.AcceptanceCriteria[i]})
	}
	room := limit - size
	for i := range clippings {
		c := &clippings[i]
		quoted := escape(*c.place)
		c.escaped = quoted[1 : len(quoted)-1]
		room += len(c.escaped)
	}
	room -= len(escape(namesOf(clippings))) + len(`,"truncated":`)
	most := level(clippings, max(room, 0))
	for _, c := range clippings {
		if len(c.escaped) > most {
			*c.place = cut(c.escaped, most)
			whole.Truncated = append(whole.Truncated, c.name)
		}
	}
	return whole
}

// level returns the length to which the longest texts must be cut so that all
// of them together take at most room.
func level(clippings []clipping, room int) int {
	lengths := make([]int, len(clippings))
	for i, c := range clippings {
		lengths[i] = len(c.escaped)
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

// criterionName names one criterion by its position from 0.
func criterionName(i int) string { return fmt.Sprintf("acceptance_criteria[%d]", i) }

func namesOf(clippings []clipping) []string {
	names := make([]string, len(clippings))
	for i, c := range clippings {
		names[i] = c.name
	}
	return names
}

// escape returns v as the SDK sends it: with <, > and & escaped.
func escape(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`""`) // a task always marshals
	}
	return data
}
