package words_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/words"
)

func TestVisible_writesOutWhatWouldDoSomething(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, über, 漢字, 👩‍🚒": "plain, über, 漢字, 👩\\u200d🚒",
		"line\n\ttab":          "line\n\ttab",
		"a\x1b[2Jb\r\x00":      `a\u001b[2Jb\u000d\u0000`,
		"\u202eevil\u2066":     `\u202eevil\u2066`,
		"\u2028 \u2029":        `\u2028 \u2029`,
		"\u009b31m\U000e0001":  `\u009b31m\ue0001`,
		"a\xff\xfeb":           "a\ufffd\ufffdb",
	} {
		if got := words.Visible(text); got != want {
			t.Errorf("Visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\a\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := words.Visible(text)
		does := func(r rune) bool {
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t'
		}
		if strings.ContainsFunc(got, does) || !utf8.ValidString(got) || words.Visible(got) != got {
			t.Errorf("Visible(%q) = %q", text, got)
		}
	})
}

func TestCounted_hasOnePluralForAllButOne(t *testing.T) {
	t.Parallel()
	for number, want := range map[int]string{0: "0 probes", 1: "1 probe", 2: "2 probes", -1: "-1 probes"} {
		if got := words.Counted(number, "probe"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
