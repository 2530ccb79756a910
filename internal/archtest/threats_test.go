package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	testDeclared  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	testMentioned = regexp.MustCompile("`(Test\\w+)`")
)

// TestThreats_nameATestForEveryRowThatIsStopped holds docs/THREATS.md against
// the tests: a claim of safety names the test that tries the attack.
func TestThreats_nameATestForEveryRowThatIsStopped(t *testing.T) {
	t.Parallel()
	tr := load(t)
	declared := map[string]bool{}
	for name, text := range tr.texts {
		if strings.HasSuffix(name, "_test.go") {
			for _, match := range testDeclared.FindAllStringSubmatch(text, -1) {
				declared[match[1]] = true
			}
		}
	}
	complain(t, threats(tr.texts["docs/THREATS.md"], declared))
}

func TestThreats_emptyClaimsAreFound(t *testing.T) {
	t.Parallel()
	page := "| who | does what | mode | outcome | by what | test |\n|---|---|---|---|---|---|\n" +
		"| a | b | c | stopped | d | |\n| a | b | c | stopped | d | `TestNowhere` |\n| a | b | c | unlikely | d | |\n| a | b | c | open | d | |\n"
	got := threats(page, map[string]bool{})
	want := []string{
		"row 1 is stopped, and names no test that tries it",
		"row 2 names TestNowhere, which does not exist",
		"row 3 has the outcome \"unlikely\"; it is one of stopped, revealed, open",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := threats("nothing", nil); len(got) != 1 {
		t.Errorf("a page without rows has the problems %q", got)
	}
}

// threats finds the rows of the page that claim what no test shows.
func threats(page string, declared map[string]bool) []string {
	var problems []string
	row := 0
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "who" {
			continue
		}
		row++
		outcome := strings.TrimSpace(cells[4])
		if !slices.Contains([]string{"stopped", "revealed", "open"}, outcome) {
			problems = append(problems, fmt.Sprintf("row %d has the outcome %q; it is one of stopped, revealed, open", row, outcome))
		}
		mentioned := testMentioned.FindAllStringSubmatch(line, -1)
		if outcome == "stopped" && len(mentioned) == 0 {
			problems = append(problems, fmt.Sprintf("row %d is stopped, and names no test that tries it", row))
		}
		for _, name := range mentioned {
			if !declared[name[1]] {
				problems = append(problems, fmt.Sprintf("row %d names %s, which does not exist", row, name[1]))
			}
		}
	}
	if row == 0 {
		problems = append(problems, "docs/THREATS.md has no row")
	}
	return problems
}
