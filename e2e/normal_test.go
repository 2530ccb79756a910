//go:build unix

package e2e

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	uuidText     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeText     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	digestText   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	durationText = regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:µs|ms|s)\b`)

	update = flag.Bool("update", false, "write the golden files")
)

// numberIDs replaces what differs from run to run: each id by its number in the
// order of appearance, times and digests by a word.
func numberIDs(text string) string {
	numbers := map[string]string{}
	text = uuidText.ReplaceAllStringFunc(text, func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("<id %d>", len(numbers)+1)
		}
		return numbers[id]
	})
	return digestText.ReplaceAllString(timeText.ReplaceAllString(text, "<time>"), "<digest>")
}

// golden compares a text with a file, which -update writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", file, diff)
	}
}
