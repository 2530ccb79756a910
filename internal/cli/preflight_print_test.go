package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func attempted(component string, causes ...registry.Cause) registry.Attempt {
	attempt := registry.Attempt{Component: component, Passed: len(causes) == 0, Causes: causes, ResultID: "01936c3e-0000-7000-8000-000000000001"}
	if len(causes) > 0 {
		attempt.Reason = "test: " + string(causes[0]) + ": required tools unusable: nmap"
	}
	return attempt
}

// filled is a slot whose primary comes first, as a preflight finds it.
func filled(name string, required bool, attempts ...registry.Attempt) registry.SlotResult {
	slot := registry.Slot{Name: name, Primary: attempts[0].Component}
	return slot.Fill(required, attempts)
}

func flown(slots ...registry.SlotResult) *registry.Preflight {
	made := registry.NewPreflight(&registry.Run{Name: "nightly"}, slots)
	return &made
}

// TestPreflightText_isWorthReading fixes what a preflight prints in a golden file.
func TestPreflightText_isWorthReading(t *testing.T) {
	t.Parallel()
	hostile := attempted("asm", registry.NotOK)
	hostile.Reason = "fine\n  recon  required  ok\x1b[2J\u202e" + strings.Repeat(" and so on", 20)
	silent := attempted("asm", registry.Refused, registry.ZeroTools)
	silent.Reason = ""
	degraded, stored := attempted("asm"), attempted("asm")
	degraded.Degraded, degraded.Reason = true, "not executable: naabu"
	stored.Reused = true
	drifted := attempted("asm-eu")
	drifted.Reason = "its tools are not the accepted ones: added nuclei_scan"
	const long = "a-very-long-component-name-for-the-european-region"
	s := newShell(t)
	for _, scene := range []struct {
		title string
		made  *registry.Preflight
	}{
		{"every slot by its primary", flown(filled("recon", true, attempted("asm")), filled("author", false, attempted("writer")))},
		{"on a fallback", flown(filled("recon", true, attempted("asm", registry.NotOK), attempted("asm-eu"), attempted("asm-us")))},
		{"without an optional slot", flown(filled("recon", true, attempted("asm")), filled("author", false, attempted("writer", registry.Timeout)))},
		{"both", flown(filled("recon", true, attempted("asm", registry.NotOK), attempted("asm-eu")), filled("a-slot-with-a-name", false, attempted("writer", registry.Timeout)))},
		{"degraded, and by a stored result", flown(filled("recon", true, degraded), filled("scan", true, stored))},
		{"other tools than the accepted ones", flown(filled("recon", true, drifted), filled("scan", true, attempted("asm", registry.NotOK), drifted))},
		{"refused", flown(filled("recon", true, attempted("asm", registry.NotOK), attempted("asm-eu", registry.Refused)), filled("author", true, attempted("writer")))},
		{"refused for two slots, and one in vain", flown(filled("recon", true, silent), filled("scan", true, hostile), filled("author", false, attempted("writer", registry.Timeout)))},
		{"undecided", flown(filled("recon", true, attempted("asm", registry.Overloaded)), filled("author", true, attempted("writer", registry.Denied), attempted("writer-eu", registry.Timeout)))},
		{"refused, and undecided besides", flown(filled("recon", true, attempted("asm", registry.NotOK)), filled("author", true, attempted("writer", registry.Denied)), filled("spare", false, attempted("asm", registry.NotOK)))},
		{"long names of components", flown(filled("recon", true, attempted(long, registry.NotOK), attempted(long+"-2", registry.Timeout)), filled("author", true, attempted("writer")))},
		{"a long name of a slot", flown(filled("reconnaissance-of-the-european-region", true, attempted(long, registry.NotOK), attempted("asm-eu")))},
		{"no slot", flown()},
	} {
		fmt.Fprintf(&s.transcript, "# %s\n\n%s\n", scene.title, preflightText(scene.made, painter{}))
		for _, warning := range startWarnings(scene.made) {
			fmt.Fprintf(&s.transcript, "(warning) %s\n", warning)
		}
		for _, width := range []int{80, 120} {
			text := preflightText(scene.made, painter{width: width})
			fmt.Fprintf(&s.transcript, "# %s, at %d columns\n\n%s\n", scene.title, width, text)
			for i := range scene.made.Slots {
				for _, attempt := range scene.made.Slots[i].Attempts {
					if !scene.made.Slots[i].OK && !strings.Contains(text, attempt.Component) {
						t.Errorf("%s: the name %s is broken", scene.title, attempt.Component)
					}
				}
			}
		}
	}
	if strings.Contains(s.transcript.String(), " \n") {
		t.Error("a line ends in blanks")
	}
	s.golden(t, "preflight-text.txt")
	if obeyed(s.transcript.String()) {
		t.Error("the text lets control characters through")
	}
	for _, name := range []string{"scan", strings.Repeat("long", registry.MaxName/4)} {
		for _, width := range []int{60, 80, 120} {
			for line := range strings.Lines(preflightText(flown(filled(name, true, hostile)), painter{width: width})) {
				if columns(line) > width+1 && strings.TrimSpace(line) != name { // with its end
					t.Errorf("a line has more than %d columns: %q", width, line)
				}
			}
		}
	}
}

func TestTicketText_isWorthReading(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, scene := range []struct {
		title  string
		report registry.TicketReport
	}{
		{"it holds", registry.TicketReport{Run: "nightly", Holds: true, Slots: []registry.TicketCheck{{Slot: "recon", Component: "asm", OK: true}, {Slot: "author", Component: "writer", OK: true}}}},
		{"another list of tools, and a failure", registry.TicketReport{Run: "nightly", Slots: []registry.TicketCheck{
			{Slot: "recon", Component: "asm", Changed: []string{"tools_digest"}},
			{Slot: "author", Component: "writer", Causes: []registry.Cause{registry.Refused}, Reason: "healthz: refused: connection refused by 127.0.0.1:9"},
			{Slot: "scan", Component: "scanner", Causes: []registry.Cause{registry.Timeout}},
		}}},
		{"another key", registry.TicketReport{Run: "nightly", Reason: "the signature is not that of this machine's key"}},
	} {
		fmt.Fprintf(&s.transcript, "# %s\n\n%s\n", scene.title, ticketText(&scene.report, painter{width: 80}))
	}
	s.golden(t, "ticket-text.txt")
}

func TestPreflightText_saysTheSameWithColours(t *testing.T) {
	t.Parallel()
	made := flown(filled("recon", true, attempted("asm", registry.NotOK), attempted("asm-eu")), filled("author", false, attempted("writer", registry.Timeout)))
	plain, coloured := preflightText(made, painter{width: 80}), preflightText(made, painter{on: true, width: 80})
	if plain == coloured || uncoloured(coloured) != plain {
		t.Errorf("without its colours the text reads %q, want %q", uncoloured(coloured), plain)
	}
}

// uncoloured takes the painter's colours off.
func uncoloured(text string) string {
	for _, code := range []string{"1", "2", "31", "32", "33", "0"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	return text
}
