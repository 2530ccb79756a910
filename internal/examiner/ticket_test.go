package examiner_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

func (n nightly) ticket(t *testing.T, run string) []byte {
	t.Helper()
	document, err := json.Marshal(n.preflight(t, run).Ticket)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// checked is what becomes of a ticket in a line.
func (n nightly) checked(t *testing.T, ticket []byte) string {
	t.Helper()
	report, err := n.Check(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	if report.Holds {
		words = append(words, "holds")
	}
	for _, check := range report.Slots {
		for _, cause := range check.Causes {
			words = append(words, string(cause))
		}
		words = append(words, check.Changed...)
		if !check.OK && len(check.Causes) == 0 {
			words = append(words, check.Reason)
		}
		if _, err := n.store.Result(t.Context(), check.ResultID); err != nil && check.ResultID != "" {
			t.Error(err)
		}
	}
	if report.Reason != "" {
		words = append(words, report.Reason)
	}
	return strings.Join(words, " ")
}

func TestCheck_holdsATicketAgainstThePresent(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	ticket := n.ticket(t, "both")
	probes := n.primary.probes.Load()
	if got := n.checked(t, ticket); got != "holds" || n.primary.probes.Load() != probes+1 {
		t.Errorf("got %q after %d probes", got, n.primary.probes.Load()-probes)
	}
	// A fallback that would do does not make the ticket hold.
	n.primary.dead.Store(true)
	if got := n.checked(t, ticket); got != "status" {
		t.Errorf("with a dead primary: %q", got)
	}
	n.primary.dead.Store(false)
	n.primary.serves("something else", "scan")
	if got := n.checked(t, ticket); got != "tools_changed tools_digest" {
		t.Errorf("with other tools: %q", got)
	}
	n.primary.serves("", "scan")
	if got := n.checked(t, ticket); got != "holds" {
		t.Errorf("as it was: %q", got)
	}
	n.fallback.dead.Store(true) // the writer, of the optional slot
	if got := n.checked(t, ticket); got != "status" {
		t.Errorf("without the optional slot: %q", got)
	}
}

func TestCheck_isOfAFallbackThatFilledTheSlot(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.primary.dead.Store(true)
	ticket := n.ticket(t, "nightly")
	probes := n.primary.probes.Load()
	if got := n.checked(t, ticket); got != "holds" || n.primary.probes.Load() != probes {
		t.Errorf("got %q, with %d probes of the primary", got, n.primary.probes.Load()-probes)
	}
}

func TestCheck_refusesATicketThatWasTamperedWith(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	ticket := n.ticket(t, "both")
	tampered := map[string][2]string{
		"run": {`"both"`, `"nightly"`}, "component": {`"component":"asm"`, `"component":"asm-eu"`},
		"date": {`"issued_at":"2026`, `"issued_at":"2027`}, "fallback": {`"fallback":false`, `"fallback":true`},
		"digest": {`"tools_digest":"sha256:`, `"tools_digest":"sha256:0`},
	}
	for name, change := range tampered {
		changed := bytes.Replace(ticket, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(changed, ticket) {
			t.Fatalf("%s: nothing was changed in %s", name, ticket)
		}
		if got := n.checked(t, changed); !strings.HasPrefix(got, "its signature is not that of the key here, ed25519:") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	stranger := startNightly(t, registry.Slot{}, func(o *examiner.Options) {
		key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
		o.Key = func() (ed25519.PrivateKey, error) { return key, nil }
	})
	if got := stranger.checked(t, ticket); !strings.HasPrefix(got, "its signature is not that of the key here") {
		t.Errorf("of another key: %q", got)
	}
	for name, document := range map[string]string{"no JSON": "ticket", "nothing": "", "another object": "{}", "cut off": string(ticket[:len(ticket)-1])} {
		_, err := n.Check(t.Context(), []byte(document))
		wantFault(t, err, fault.InvalidArgument)
		if err == nil {
			t.Errorf("%s is a ticket", name)
		}
	}
	withoutKey := startNightly(t, registry.Slot{}, func(o *examiner.Options) { o.Key = nil })
	_, err := withoutKey.Check(t.Context(), ticket)
	wantFault(t, err, fault.Unavailable)
}

func TestCheck_wantsWhatIsRegisteredNow(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	ticket := n.ticket(t, "both")
	for name, row := range map[string]struct {
		change func(*registry.Registered)
		want   string
	}{
		"another run":    {func(r *registry.Registered) { r.Runs[1].Name = "weekly" }, `there is no run "both" any more`},
		"another slot":   {func(r *registry.Registered) { r.Runs[1].Slots = r.Runs[1].Slots[:1] }, "the slot is no part of the run any more"},
		"another writer": {func(r *registry.Registered) { r.Slots[1].Primary = "asm" }, "writer does not fill the slot any more"},
		"another demand": {func(r *registry.Registered) { r.Slots[0].RequireTools = []string{"report"} }, "missing_tool"},
		"a further demand": {func(r *registry.Registered) {
			r.Slots = append(r.Slots, registry.Slot{Name: "store", Primary: "asm"})
			r.Runs[1].Slots = append(r.Runs[1].Slots, registry.RunSlot{Slot: "store", Required: true})
		}, "the run requires the slot store now, which the ticket does not fill"},
		"a further wish": {func(r *registry.Registered) {
			r.Slots = append(r.Slots, registry.Slot{Name: "store", Primary: "asm"})
			r.Runs[1].Slots = append(r.Runs[1].Slots, registry.RunSlot{Slot: "store"})
		}, "holds"},
	} {
		changed := &registry.Registered{Components: n.registered.Components}
		changed.Slots = append(changed.Slots, n.registered.Slots...)
		for _, run := range n.registered.Runs {
			run.Slots = append([]registry.RunSlot{}, run.Slots...)
			changed.Runs = append(changed.Runs, run)
		}
		row.change(changed)
		if err := n.Use(t.Context(), changed); err != nil {
			t.Fatal(err)
		}
		if got := n.checked(t, ticket); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}
