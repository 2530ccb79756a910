// Package words owns how things are put to people alike: numbers of things, times,
// and text of strangers.
//
// It must not know who reads, nor where.
package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible writes control and direction characters of untrusted text, other than
// line feed and tab, as escapes (\u202e), so that they can be read but do nothing.
// Each byte that is no UTF-8 becomes U+FFFD.
func Visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Counted is a number of things whose plural ends in s: "1 probe", "2 probes".
func Counted(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", number, thing)
}
