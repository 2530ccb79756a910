package gates

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxDetail bounds a detail, in characters.
const maxDetail = 300

var (
	passwordInURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://[^/?#\s]*@`) })
	namedSecret   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:password|passwd|pwd|secret|token|api[_-]?key))(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&]+)`)
	})
	authorization = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}`) })
)

// presentable makes text fit for an answer that anyone may read: one line of
// printable characters, bounded, with whatever looks like a secret blotted out.
func presentable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = passwordInURL().ReplaceAllString(strings.TrimSpace(text), "://***@")
	text = namedSecret().ReplaceAllString(text, "$1$2***")
	text = authorization().ReplaceAllString(text, "$1 ***")
	if shown := []rune(text); len(shown) > maxDetail {
		return string(shown[:maxDetail-1]) + "…"
	}
	return text
}
