package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	updateGolden = flag.Bool("update", false, "write the golden files anew")
	uuidForm     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	timeForm     = regexp.MustCompile(`\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d{3})?( UTC|Z)`)
	cursorForm   = regexp.MustCompile(`\bAQ[A-Za-z0-9_-]{21}\b`)
)

// shell runs commands in this process and keeps a transcript of them.
type shell struct {
	env        map[string]string
	in         string
	transcript strings.Builder
}

// newShell returns a shell whose default database is a file of its own.
func newShell(t *testing.T) *shell {
	t.Helper()
	return &shell{env: map[string]string{"XDG_DATA_HOME": t.TempDir()}}
}

// run runs one command and returns its exit code and output.
func (s *shell) run(args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = Main(context.Background(), args, Surroundings{
		In: strings.NewReader(s.in), Out: &stdout, Err: &stderr, Getenv: func(name string) string { return s.env[name] },
	})
	fmt.Fprintf(&s.transcript, "$ countersign %s\n%s%s", strings.Join(quoted(args), " "), stdout.String(), stderr.String())
	fmt.Fprintf(&s.transcript, "[exit %d]\n\n", code)
	return code, stdout.String(), stderr.String()
}

func quoted(args []string) []string {
	var shown []string
	for _, arg := range args {
		if strings.ContainsAny(arg, " \n") {
			arg = fmt.Sprintf("%q", arg)
		}
		shown = append(shown, arg)
	}
	return shown
}

// golden compares the transcript with a file in testdata. Ids, times and cursors
// are replaced by ones of the same width.
func (s *shell) golden(t *testing.T, name string) {
	t.Helper()
	numbers := map[string]int{}
	got := uuidForm.ReplaceAllStringFunc(s.transcript.String(), func(id string) string {
		if numbers[id] == 0 {
			numbers[id] = len(numbers) + 1
		}
		return fmt.Sprintf("00000000-0000-7000-8000-%012d", numbers[id])
	})
	got = timeForm.ReplaceAllStringFunc(got, func(at string) string {
		if strings.HasSuffix(at, "UTC") {
			return "2026-11-30 12:00:00 UTC"
		}
		return "2026-11-30T12:00:00.000Z"
	})
	got = cursorForm.ReplaceAllString(got, "AQ_cursor_of_this_list_")
	file := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
