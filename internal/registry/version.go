package registry

import (
	"regexp"
	"strings"
	"sync"
)

// preRelease is what a version that is not yet its own release ends in: a word
// such as rc, or a letter and a number as Python has them. A letter without a
// number is a patch (OpenSSL 1.1.1w), and -b08 is a build (Java).
const preRelease = `([-._~]?(?:alpha|beta|rc|preview|pre|dev|snapshot|nightly)(?:[-.]?\d+)*\b|[abc]\d+\b)?`

var (
	statedVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^v?(\d+(?:\.\d+)*)` + preRelease) })
	plainVersion  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+(?:\.\d+)*$`) })
)

// MaxVersion is how many bytes a minimum version has at most.
const MaxVersion = 64

// IsVersion reports whether a text can be a minimum version: numbers joined by
// dots.
func IsVersion(text string) bool { return len(text) <= MaxVersion && plainVersion().MatchString(text) }

// versionBelow says what is wrong with the version that a server states when at
// least minimum is wanted; it is empty when nothing is. Versions are compared
// number by number, and missing numbers are 0; a pre-release is older than its
// release. Further text behind the numbers does not count.
func versionBelow(stated, minimum string) string {
	parts := statedVersion().FindStringSubmatch(stated)
	switch {
	case !IsVersion(minimum):
		return "the minimum version " + minimum + " is not made of numbers and dots"
	case stated == "":
		return "it states no version, and at least " + minimum + " is wanted"
	case parts == nil:
		return "its version " + Shorten(stated, MaxVersion) + " cannot be compared with " + minimum
	}
	order := compareNumbers(strings.Split(parts[1], "."), strings.Split(minimum, "."))
	if order < 0 || order == 0 && parts[2] != "" {
		return "its version " + Shorten(stated, MaxVersion) + " is older than " + minimum
	}
	return ""
}

// compareNumbers compares lists of decimal numbers of any length; a number that
// is missing is 0.
func compareNumbers(a, b []string) int {
	at := func(numbers []string, i int) string {
		if i >= len(numbers) {
			return ""
		}
		return strings.TrimLeft(numbers[i], "0")
	}
	for i := range max(len(a), len(b)) {
		x, y := at(a, i), at(b, i)
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if order := strings.Compare(x, y); order != 0 {
			return order
		}
	}
	return 0
}
