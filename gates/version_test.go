package gates

import (
	"regexp"
	"strings"
	"testing"
)

func TestTooOld_comparesNumberByNumber(t *testing.T) {
	const fine = ""
	cases := []struct{ version, minimum, want string }{
		{"2.30", "2.30", fine},
		{"2.30.1", "2.30", fine},
		{"2.30", "2.30.0", fine},
		{"2.9", "2.30", "older"},
		{"10.0", "9.9", fine},
		{"2.030", "2.30", fine},
		{"1.99.99", "2", "older"},
		{"v2.1", "2", fine},
		{"build r77", "77", fine},
		{"590", "551", fine},
		{"2.30.0-rc.1", "2.30", "older"},
		{"2.30.0-rc.1", "2.29.9", fine},
		{"3.13.0rc1", "3.13", "older"},
		{"3.13.0b2", "3.13", "older"},
		{"1.0.dev3", "1.0", "older"},
		{"1.2.0-SNAPSHOT", "1.2", "older"},
		{"1.2.0-alpha.2+build.5", "1.2", "older"},
		{"1.1.1w", "1.1.1", fine},
		{"1.1.1b", "1.1.1", fine},
		{"9.6p1", "9.6", fine},
		{"7.94SVN", "7.94", fine},
		{"1.8.0-b132", "1.8.0", fine},
		{"6.1.1-3ubuntu5", "6.1.1", fine},
		{"2.43.0.windows.1", "2.43", fine},
		{"1.2.0-5-gabcdef0", "1.2", fine},
		{"1.2.0-prefixed", "1.2", fine},
		{strings.Repeat("9", 5000) + ".1", strings.Repeat("9", 4999), fine},
		{"1." + strings.Repeat("1", 4999), "1." + strings.Repeat("9", 5000), "older"},
		{"", "1.0", "no version"},
		{"unknown", "1.0", "no version"},
		{"1.0", "v1.0", "not made of numbers"},
		{"1.0", "1.x", "not made of numbers"},
	}
	for _, c := range cases {
		got := tooOld(c.version, c.minimum)
		if (c.want == fine) != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("tooOld(%.40q, %.40q) = %.80q, want %q", c.version, c.minimum, got, c.want)
		}
	}
}

func TestExecutable_findsTheVersion(t *testing.T) {
	cases := map[string]struct {
		match        *regexp.Regexp
		output, want string
	}{
		"first number with a dot": {nil, "tool 2 (build 5)\nversion 7.93, libfoo 1.2", "7.93"},
		"with its pre-release":    {nil, "tool 2.0.0-rc.1 (linux)", "2.0.0-rc.1"},
		"none":                    {nil, "tool 590", ""},
		"group of the pattern":    {regexp.MustCompile(`less (\d+)`), "less 590 (uses 1.2)", "590"},
		"group that is not there": {regexp.MustCompile(`tool(?: v(\d+))?`), "tool 1.2", ""},
		"pattern without a group": {regexp.MustCompile(`^tool`), "tool 1.2", "1.2"},
	}
	for name, c := range cases {
		if got := (Executable{Match: c.match}).version(c.output); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
