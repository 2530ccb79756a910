package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestPreflightHistory_pagesFromTheNewestOn(t *testing.T) {
	f := newFleet(t)
	f.run("preflight", "nightly")
	f.first.broken.Store(true)
	f.run("preflight", "nightly")
	asked := f.first.probes.Load()
	code, out, complaint := f.run("preflight", "nightly", "--history")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitYes || complaint != "" || len(lines) != 2 || !strings.Contains(lines[0], "may start on a fallback") || !strings.HasSuffix(lines[1], "ok    may start") {
		t.Errorf("exit code %d, %q, complaint %q", code, out, complaint)
	}
	var pages []registry.PreflightPage
	for cursor := ""; len(pages) < 2; cursor = pages[len(pages)-1].NextCursor {
		args := []string{"--json", "preflight", "nightly", "--history", "--limit", "1"}
		if cursor != "" {
			args = append(args, "--cursor", cursor)
		}
		var page registry.PreflightPage
		code, out, complaint := f.run(args...)
		if err := json.Unmarshal([]byte(out), &page); err != nil || code != exitYes || len(page.Preflights) != 1 {
			t.Fatalf("exit code %d, %v, %q, complaint %q", code, err, out, complaint)
		}
		pages = append(pages, page)
	}
	if pages[0].NextCursor == "" || pages[1].NextCursor != "" || !pages[0].Preflights[0].At.After(pages[1].Preflights[0].At) {
		t.Errorf("the pages are %+v", pages)
	}
	if _, out, _ = f.run("preflight", "nightly", "--history", "--limit", "1"); !strings.Contains(out, "give --cursor "+pages[0].NextCursor) {
		t.Errorf("the page does not lead to the next one: %q", out)
	}
	if again := f.first.probes.Load(); again != asked {
		t.Errorf("a component was asked %d times meanwhile", again-asked)
	}
}

func TestPreflightHistory_showsRefusalsAndThatThereIsNone(t *testing.T) {
	f := newFleet(t)
	if code, out, complaint := f.run("preflight", "nightly", "--history"); code != exitYes || complaint != "" || out != "No preflight of nightly to show.\n" {
		t.Errorf("of none: exit code %d, %q, complaint %q", code, out, complaint)
	}
	f.first.broken.Store(true)
	f.second.broken.Store(true)
	f.run("preflight", "nightly")
	code, out, complaint := f.run("preflight", "nightly", "--history")
	if code != exitYes || complaint != "" || strings.Count(out, "\n") != 1 || !strings.Contains(out, " UTC  FAIL  refused: nothing healthy behind recon") {
		t.Errorf("of a refused one: exit code %d, %q, complaint %q", code, out, complaint)
	}
}

func TestPreflightHistory_saysTheBoundsOfItsLimit(t *testing.T) {
	f := newFleet(t)
	for _, limit := range []string{"-3", "0", "101"} {
		code, _, complaint := f.run("preflight", "nightly", "--history", "--limit="+limit)
		if code != exitAsk || !strings.Contains(complaint, "--limit is "+limit+"; it must be from 1 to 100") {
			t.Errorf("--limit=%s: exit code %d, %q", limit, code, complaint)
		}
	}
}

func TestPreflightHistory_refusesWhatDoesNotGoWithIt(t *testing.T) {
	f := newFleet(t)
	for _, args := range [][]string{
		{"--history", "--ticket", "t.json"},
		{"--history", "--check", "t.json"},
		{"--limit", "3"},
		{"--cursor", "x"},
		{"--history", "--limit", "0"},
		{"--history", "--limit", "101"},
		{"--history", "--cursor", "x"},
	} {
		code, out, complaint := f.run(append([]string{"preflight", "nightly"}, args...)...)
		if code != exitAsk || out != "" || !strings.Contains(complaint, "E_INVALID_ARGUMENT") {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, complaint)
		}
	}
}

// TestPreflightHistory_asksForARunByWhatItIsFor has two runs and names none.
func TestPreflightHistory_asksForARunByWhatItIsFor(t *testing.T) {
	f := newFleet(t)
	inFolder(t, map[string]string{"countersign.yaml": f.configuration() + "  weekly: {slots: {author: required}}\n"})
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"preflight", "--history"}, "name the run whose preflights are to be shown"},
		{[]string{"preflight"}, "name the run that is to start"},
	} {
		code, _, complaint := f.run(row.args...)
		if code != exitAsk || !strings.Contains(complaint, row.says) || !strings.Contains(complaint, "nightly, weekly") {
			t.Errorf("%v: exit code %d, %q", row.args, code, complaint)
		}
	}
}
