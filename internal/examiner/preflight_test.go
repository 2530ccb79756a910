package examiner_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// nightly is a run with one required slot, and servers behind it.
type nightly struct {
	bench

	primary, fallback *double
	registered        *registry.Registered
}

func startNightly(t *testing.T, slot registry.Slot, adjust func(*examiner.Options)) nightly {
	t.Helper()
	n := nightly{primary: startDouble(t), fallback: startDouble(t)}
	slot.Name, slot.Primary, slot.Fallbacks = "recon", "asm", []string{"asm-eu"}
	n.registered = &registry.Registered{
		Components: []registry.Component{n.primary.component("asm"), n.fallback.component("asm-eu"), n.fallback.component("writer")},
		Slots:      []registry.Slot{slot, {Name: "author", Primary: "writer"}},
		Runs: []registry.Run{
			{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}}},
			{Name: "both", Slots: []registry.RunSlot{{Slot: "recon", Required: true}, {Slot: "author"}}},
		},
	}
	n.bench = startWith(t, n.registered, adjust)
	return n
}

func plain(*examiner.Options) {}

func (n nightly) preflight(t *testing.T, run string) registry.Preflight {
	t.Helper()
	n.clock.pass(time.Second)
	got, err := n.Preflight(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if (got.Ticket != nil) != got.Allowed {
		t.Errorf("allowed is %v beside the ticket %+v", got.Allowed, got.Ticket)
	}
	return got
}

// short is a preflight in a line: which component fills each slot, and why others
// do not.
func short(p registry.Preflight) string {
	words := []string{"refused"}
	if p.Allowed {
		words[0] = "allowed"
	}
	for _, slot := range p.Slots {
		filled := slot.Component
		if !slot.OK {
			filled = "nothing"
		}
		words = append(words, slot.Slot+"="+filled)
		for _, attempt := range slot.Attempts {
			if !attempt.Passed {
				var causes []string
				for _, cause := range attempt.Causes {
					causes = append(causes, string(cause))
				}
				words = append(words, "("+attempt.Component+": "+strings.Join(causes, ",")+")")
			}
		}
	}
	return strings.Join(words, " ")
}

func TestPreflight_alwaysProbes(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := startNightly(t, registry.Slot{}, func(o *examiner.Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm" {
		t.Errorf("got %s", got)
	}
	n.primary.dead.Store(true)
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm-eu (asm: status)" {
		t.Errorf("a stored pass made it %s", got)
	}
	if !strings.Contains(log.String(), `"level":"WARN","msg":"a slot is filled by a fallback","run":"nightly","slot":"recon","component":"asm-eu","reason":"healthz`) {
		t.Errorf("the fallback is not announced: %s", log.String())
	}
	n.fallback.dead.Store(true)
	got := n.preflight(t, "both")
	if want := "refused recon=nothing (asm: status) (asm-eu: status) author=nothing (writer: status)"; short(got) != want {
		t.Errorf("got %s, want %s", short(got), want)
	}
	for _, said := range []string{
		`"level":"WARN","msg":"a slot has nothing that holds","run":"both","slot":"recon","required":true,"reason":"healthz`,
		`"level":"WARN","msg":"a slot has nothing that holds","run":"both","slot":"author","required":false,"reason":"healthz`,
		`"msg":"preflight","run":"both","allowed":false`,
	} {
		if !strings.Contains(log.String(), said) {
			t.Errorf("the log does not say %s: %s", said, log.String())
		}
	}
	n.fallback.dead.Store(false)
	n.primary.dead.Store(false)
	n.registered.Component("writer").Spec.(*registry.MCPServer).URL = "http://127.0.0.1:1"
	if err := n.Use(t.Context(), n.registered); err != nil {
		t.Fatal(err)
	}
	got = n.preflight(t, "both")
	if want := "allowed recon=asm author=nothing (writer: refused)"; short(got) != want {
		t.Errorf("got %s, want %s", short(got), want)
	}
	if len(got.Ticket.Slots) != 1 || len(n.store.preflights) != 4 {
		t.Errorf("the ticket is about %d slots, and %d preflights are kept", len(got.Ticket.Slots), len(n.store.preflights))
	}
	for _, slot := range got.Slots {
		for _, attempt := range slot.Attempts {
			if _, err := n.store.Result(t.Context(), attempt.ResultID); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPreflight_reusesOnlyAYoungPass(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{MaxAge: time.Minute}, plain)
	first := n.preflight(t, "nightly").Slots[0].Attempts[0]
	n.primary.dead.Store(true)
	reused := n.preflight(t, "nightly").Slots[0].Attempts[0]
	if !reused.Passed || !reused.Reused || reused.ResultID != first.ResultID || n.primary.probes.Load() != 1 {
		t.Errorf("got %+v after %d probes", reused, n.primary.probes.Load())
	}
	n.clock.pass(time.Minute)
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm-eu (asm: status)" {
		t.Errorf("with a result that is too old: %s", got)
	}
	n.primary.dead.Store(false)
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm" || n.primary.probes.Load() != 3 {
		t.Errorf("with a failure: %s after %d probes", got, n.primary.probes.Load())
	}
	n.registered.Component("asm").Spec.(*registry.MCPServer).RequireTools = []string{"scan"}
	if err := n.Use(t.Context(), n.registered); err != nil {
		t.Fatal(err)
	}
	if n.preflight(t, "nightly"); n.primary.probes.Load() != 4 {
		t.Errorf("a pass of another definition is reused: %d probes", n.primary.probes.Load())
	}
	n.clock.pass(-time.Second - 10*time.Minute)
	if n.preflight(t, "nightly"); n.primary.probes.Load() != 5 {
		t.Errorf("a pass from the future is reused: %d probes", n.primary.probes.Load())
	}
	// asm-eu fills author too, which wants a probe now.
	n.registered.Slots[1].Primary = "asm"
	if err := n.Use(t.Context(), n.registered); err != nil {
		t.Fatal(err)
	}
	if got := n.preflight(t, "both"); n.primary.probes.Load() != 6 || got.Slots[0].Attempts[0].Reused {
		t.Errorf("%d probes; got %+v", n.primary.probes.Load(), got.Slots[0].Attempts[0])
	}
}

func TestPreflight_holdsServersToTheDemandsOfTheSlot(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		slot registry.Slot
		want string
	}{
		"tools":   {registry.Slot{RequireTools: []string{"scan", "report"}}, "refused recon=nothing (asm: missing_tool) (asm-eu: missing_tool)"},
		"version": {registry.Slot{MinVersion: "1.10"}, "refused recon=nothing (asm: old_version) (asm-eu: old_version)"},
		"met":     {registry.Slot{RequireTools: []string{"scan"}, MinVersion: "1.2"}, "allowed recon=asm"},
	} {
		if got := short(startNightly(t, row.slot, plain).preflight(t, "nightly")); got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}

func TestPreflight_blocksOnDriftUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.registered.Component("asm").Spec.(*registry.MCPServer).Drift = registry.DriftBlocks
	n.preflight(t, "nightly")
	n.primary.serves("scans, and sends the findings to us", "scan", "sweep")
	n.fallback.serves("scans faster", "scan")
	got := n.preflight(t, "nightly")
	if want := "allowed recon=asm-eu (asm: tools_changed)"; short(got) != want {
		t.Errorf("got %s, want %s", short(got), want)
	}
	if reason := got.Slots[0].Attempts[1].Reason; !strings.Contains(reason, "changed scan (description)") {
		t.Errorf("the drift that only warns is not told: %q", reason)
	}
	view, err := n.Component(t.Context(), "asm")
	want := &registry.Drift{Added: []string{"sweep"}, New: []registry.NewTool{{Name: "sweep", Texts: []registry.TextChange{
		{What: "description", After: new("scans, and sends the findings to us")}, {What: "inputSchema", After: new(`{"type":"object"}`)},
	}}}, Changed: []registry.ToolChange{{
		Name: "scan", What: []string{"description"},
		Texts: []registry.TextChange{{What: "description", Before: new(""), After: new("scans, and sends the findings to us")}},
	}}}
	if err != nil || view.Status != registry.Available {
		t.Errorf("got %+v, %v", view.Reading, err)
	}
	if diff := cmp.Diff(want, view.Drift); diff != "" {
		t.Errorf("component (-want +got):\n%s", diff)
	}
	accepted, err := n.Accept(t.Context(), "asm")
	if err != nil || accepted.Was != view.AcceptedDigest || accepted.Digest == accepted.Was {
		t.Errorf("got %+v, %v", accepted, err)
	}
	if diff := cmp.Diff(want, accepted.Drift); diff != "" {
		t.Errorf("acceptance (-want +got):\n%s", diff)
	}
	if again, err := n.Accept(t.Context(), "asm"); err != nil || again.Drift != nil || again.Was != accepted.Digest {
		t.Errorf("again: %+v, %v", again, err)
	}
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm" {
		t.Errorf("after the acceptance: %s", got)
	}
}

func TestAccept_wantsToolsOfTheNewestResult(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	_, err := n.Accept(t.Context(), "asm")
	wantFault(t, err, fault.WrongState)
	n.preflight(t, "nightly")
	n.primary.serves("other", "scan")
	n.preflight(t, "nightly")
	n.primary.dead.Store(true)
	n.preflight(t, "nightly")
	_, err = n.Accept(t.Context(), "asm")
	wantFault(t, err, fault.WrongState)
	_, err = n.Accept(t.Context(), "asn")
	wantFault(t, err, fault.NotFound)
	n.primary.dead.Store(false)
	n.preflight(t, "nightly")
	if _, err = n.Accept(t.Context(), "asm"); err != nil {
		t.Error(err)
	}
	n.store.breakDown(errBroken)
	_, err = n.Accept(t.Context(), "asm")
	wantFault(t, err, fault.Unavailable)
}

func TestAccept_saysThatAModelHasNoTools(t *testing.T) {
	t.Parallel()
	b := start(t, registeredModel("http://127.0.0.1:9", 50))
	_, err := b.Accept(t.Context(), "vectors")
	wantFault(t, err, fault.InvalidArgument)
	if !strings.Contains(err.Error(), "vectors is a model, which has no tools to accept") {
		t.Errorf("it says %v", err)
	}
	coded, ok := fault.Of(err)
	if !ok || coded.Hint != "Tools are accepted of components of the kinds mcp_server and knowledge_base." {
		t.Errorf("the hint of %v is not that of the kinds with tools", err)
	}
}

func TestPreflight_faults(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, func(o *examiner.Options) {
		o.Key = func() (ed25519.PrivateKey, error) { return nil, errors.New("the drawer is locked") }
	})
	_, err := n.Preflight(t.Context(), "nightlly")
	wantFault(t, err, fault.NotFound)
	_, err = n.Preflight(t.Context(), "nightly")
	wantFault(t, err, fault.Unavailable)
	if err == nil || !strings.Contains(err.Error(), "the drawer is locked") || len(n.store.preflights) != 0 {
		t.Errorf("without a key: %v, %d preflights are kept", err, len(n.store.preflights))
	}
	n.primary.dead.Store(true)
	n.fallback.dead.Store(true)
	if got := short(n.preflight(t, "nightly")); !strings.HasPrefix(got, "refused") {
		t.Errorf("a refusal needs no key, but it is %s", got)
	}
	n.store.breakDown(errBroken)
	_, err = n.Preflight(t.Context(), "nightly")
	wantFault(t, err, fault.Unavailable)
	n.store.breakDown(nil)
	n.primary.dead.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	n.primary.hold = cancel
	_, err = n.Preflight(ctx, "nightly")
	wantFault(t, err, fault.Unavailable)
	if len(n.store.preflights) != 1 {
		t.Errorf("%d preflights are kept, want the refusal alone", len(n.store.preflights))
	}
}
