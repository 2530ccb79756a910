package gates

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
	versionNumber  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\d+(?:\.\d+)+` + preRelease) })
	versionParts   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(\d+(?:\.\d+)*)` + preRelease) })
	minimumVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+(?:\.\d+)*$`) })
)

// tooOld says what is wrong with a version when at least minimum is wanted; it
// is empty when nothing is.
func tooOld(version, minimum string) string {
	if !minimumVersion().MatchString(minimum) {
		return "the minimum version " + minimum + " is not made of numbers and dots"
	}
	parts := versionParts().FindStringSubmatch(version)
	if parts == nil {
		return "no version found in the output, want at least " + minimum
	}
	order := compareNumbers(strings.Split(parts[1], "."), strings.Split(minimum, "."))
	if order < 0 || order == 0 && parts[2] != "" {
		return "version " + version + " is older than " + minimum
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
