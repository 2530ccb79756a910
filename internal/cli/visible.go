package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// visible returns untrusted text in a form that is safe to send to a terminal:
// control and direction characters other than line feed and tab are written out
// as escapes (\u202e), so that they can be read but do nothing.
func visible(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&out, "\\u%04x", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
