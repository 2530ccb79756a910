package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestPreflight_saysThatTheTicketIsAnOlderOne(t *testing.T) {
	f := newFleet(t)
	if code, _, complaint := f.run("preflight", "nightly", "--ticket", "t.json"); code != exitYes {
		t.Fatalf("exit %d, %s", code, complaint)
	}
	f.first.broken.Store(true)
	f.second.broken.Store(true)
	if code, out, _ := f.run("preflight", "nightly", "--ticket", "t.json"); code != exitNo || !strings.Contains(out, "t.json is an older one, issued at 20") {
		t.Errorf("exit %d, %s", code, out)
	}
	if code, out, complaint := f.run("--json", "preflight", "nightly", "--ticket", "t.json"); code != exitNo ||
		strings.Contains(out, "older") || !strings.Contains(complaint, "t.json is an older one, issued at 20") {
		t.Errorf("as JSON: exit %d, %s%s", code, out, complaint)
	}
	if err := os.WriteFile("t.json", []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := f.run("preflight", "nightly", "--ticket", "t.json"); !strings.Contains(out, "t.json is an older one; ") {
		t.Errorf("beside a file that is no ticket: %s", out)
	}
	if _, out, _ := f.run("preflight", "nightly", "--ticket", "new.json"); strings.Contains(out, "older") {
		t.Errorf("without a file: %s", out)
	}
}

func TestAfterPreflight_namesOnlyAFewOfManyComponents(t *testing.T) {
	t.Parallel()
	var attempts []registry.Attempt
	for i := range maxSteps + 3 {
		attempts = append(attempts, attempted(fmt.Sprintf("c-%d", i), registry.Refused))
	}
	text := afterPreflight(flown(filled("recon", true, attempts...), filled("scan", false, attempted("other", registry.Refused))), "", painter{})
	if strings.Count(text, "component show") != maxSteps || !strings.Contains(text, "and so for 3 more") || strings.Contains(text, "other") {
		t.Errorf("got %s", text)
	}
	if text := afterPreflight(flown(filled("recon", true, attempted("asm"))), "", painter{}); text != "" {
		t.Errorf("there is nothing to do, and it says %q", text)
	}
}

func TestAfterCheck_offersNoForgedCommand(t *testing.T) {
	t.Parallel()
	text := afterCheck(&registry.TicketReport{Run: "nightly; reboot", Reason: "its signature is not ours"}, "", at(), painter{})
	if strings.Contains(text, "reboot") || !strings.Contains(text, "countersign preflight <run> --ticket <file>") {
		t.Errorf("got %s", text)
	}
}
