package config

import "strings"

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
