package web_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// mainOf is what a page shows within its frame.
func mainOf(t *testing.T, page string) string {
	t.Helper()
	_, rest, begins := strings.Cut(page, "<main")
	within, _, ends := strings.Cut(rest, "</main>")
	if !begins || !ends {
		t.Fatalf("this page has no main part:\n%s", page)
	}
	return "<main" + within + "</main>\n"
}

// anyReference is where the log tells more; it is another one each time.
var anyReference = regexp.MustCompile(`Look for reference [A-Z2-7]{26} `)

// golden holds a text against a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = anyReference.ReplaceAllString(got, "Look for reference REFERENCE ")
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update if it is meant:\n%s", file, diff)
	}
}
