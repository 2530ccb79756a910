package config

import "strings"

// maxNesting bounds how deep brackets, and dashes on one line, may be nested.
const maxNesting = 32

// unreached is the depth of a reading that the text so far does not permit.
const unreached = -1

// nesting is how deep the brackets around a character of a YAML text are, for
// each way in which that character may be read. All ways are followed at once,
// since a quote sign may begin a quoted text or belong to a plain one.
type nesting struct {
	plain, double, single, comment int
	deepest                        int
}

// deepestYAML returns an upper bound on how deep the brackets of a YAML text are
// nested. The parser takes time in the square of it, so it is asked before.
func deepestYAML(text string) int {
	n := nesting{double: unreached, single: unreached, comment: unreached}
	escaped, previous := false, '\n'
	for _, r := range text {
		n.read(r, previous, escaped)
		escaped = r == '\\' && !escaped
		previous = r
	}
	return n.deepest
}

func (n *nesting) read(r, previous rune, escaped bool) {
	switch r {
	case '[', '{':
		if n.plain != unreached {
			n.plain++
		}
		n.deepest = max(n.deepest, n.plain)
	case ']', '}':
		if n.plain > 0 {
			n.plain--
		}
	case '"':
		if escaped { // goes on with a quoted text, and may begin one
			n.double = max(n.double, n.plain)
			return
		}
		n.plain, n.double = max(n.plain, n.double), n.plain
	case '\'':
		n.plain, n.single = max(n.plain, n.single), n.plain
	case '#':
		if previous == ' ' || previous == '\t' || previous == '\n' {
			n.plain, n.comment = unreached, max(n.plain, n.comment)
		}
	case '\n':
		n.plain, n.comment = max(n.plain, n.comment), unreached
	}
}

// deepestJSON returns how deep the brackets of a JSON text with comments are
// nested, as far as it can be read.
func deepestJSON(text string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		case '"', '/':
			i = skipped(text, i)
		}
	}
	return deepest
}

// skipped returns where the string or the comment that begins at from ends; from
// itself when neither does.
func skipped(text string, from int) int {
	rest := text[from:]
	switch {
	case rest[0] == '"':
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return from + i
			}
		}
		return len(text)
	case len(rest) > 1 && rest[1] == '/':
		return from + until(rest, 2, "\n")
	case len(rest) > 1 && rest[1] == '*':
		return from + until(rest, 2, "*/")
	}
	return from
}

// until returns where end ends in text, from a place on; the length of text when
// it does not occur.
func until(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end) - 1
	}
	return len(text)
}
