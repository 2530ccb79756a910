package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestCompare_namesWhatIsNotAsItWas(t *testing.T) {
	t.Parallel()
	slot := &registry.Slot{Name: "recon", Primary: "asm", Fallbacks: []string{"asm-eu"}}
	said := ticket(t).Slots[0]
	for name, row := range map[string]struct {
		change  func(*registry.Summary)
		ok      bool
		changed []string
		causes  []registry.Cause
	}{
		"all as it was": {func(*registry.Summary) {}, true, nil, nil},
		"other tools": {
			func(s *registry.Summary) { s.ToolsDigest = "sha256:cc" }, false,
			[]string{"tools_digest"},
			[]registry.Cause{registry.ToolsChanged},
		},
		"another image":   {func(s *registry.Summary) { s.ImageDigest = "sha256:cc" }, false, []string{"image_digest"}, nil},
		"another content": {func(s *registry.Summary) { s.ContentVersion = "2026.2" }, false, []string{"content_version"}, nil},
		"nothing pinned any more": {
			func(s *registry.Summary) { s.ToolsDigest, s.ImageDigest, s.ContentVersion = "", "", "" }, false,
			[]string{"tools_digest", "image_digest", "content_version"},
			[]registry.Cause{registry.ToolsChanged},
		},
		"a failure that saw nothing": {func(s *registry.Summary) {
			*s = registry.Summary{Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.Refused}, Reason: "healthz: refused"}
		}, false, nil, []registry.Cause{registry.Refused}},
		"a failure with other tools": {func(s *registry.Summary) {
			s.Outcome, s.Causes, s.ToolsDigest = registry.OutcomeFailed, []registry.Cause{registry.NotOK}, "sha256:cc"
		}, false, []string{"tools_digest"}, []registry.Cause{registry.NotOK, registry.ToolsChanged}},
	} {
		result := probed("r9")
		row.change(&result.Summary)
		got := said.Compare(slot.Judge(server("asm-eu"), result))
		want := registry.TicketCheck{
			Slot: "recon", Component: "asm-eu", OK: row.ok, Causes: append([]registry.Cause{}, row.causes...),
			Reason: got.Reason, ResultID: "r9", Changed: row.changed,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := said.Compare(slot.Judge(server("asm"), probed("r9"))); got.OK {
		t.Error("another component was taken for the one of the ticket")
	}
	if got := said.Compare(registry.Attempt{Component: "asm-eu", Passed: true}); got.OK {
		t.Error("an attempt that nothing was judged for is as it was")
	}
}

func TestTicketSlot_findsWhatItSpeaksOf(t *testing.T) {
	t.Parallel()
	said := ticket(t).Slots[0]
	registered := func(slot, fallback, component string) *registry.Registered {
		return &registry.Registered{
			Slots:      []registry.Slot{{Name: slot, Primary: "asm", Fallbacks: []string{fallback}}},
			Components: []registry.Component{*server("asm"), *server(component)},
		}
	}
	slot, component, reason := said.In(registered("recon", "asm-eu", "asm-eu"))
	if reason != "" || slot.Name != "recon" || component.Name != "asm-eu" {
		t.Errorf("got %v, %v, %q", slot, component, reason)
	}
	toaster := said
	toaster.Kind = "toaster"
	for want, row := range map[string]struct {
		said       registry.TicketSlot
		registered *registry.Registered
	}{
		`there is no slot "recon" any more`:       {said, registered("author", "asm-eu", "asm-eu")},
		`there is no component "asm-eu" any more`: {said, registered("recon", "asm-eu", "writer")},
		`asm-eu does not fill the slot any more`:  {said, registered("recon", "asm-us", "asm-eu")},
		`asm-eu is of the kind mcp_server now`:    {toaster, registered("recon", "asm-eu", "asm-eu")},
	} {
		slot, component, reason := row.said.In(row.registered)
		if slot != nil || component != nil || reason != want {
			t.Errorf("got %v, %v, %q, want the reason %q", slot, component, reason, want)
		}
	}
}

func TestTicketReport_holdsWhenEverySlotOfTheTicketDoes(t *testing.T) {
	t.Parallel()
	held := ticket(t)
	good := []registry.TicketCheck{{Slot: "recon", OK: true}, {Slot: "author", OK: true}}
	for name, row := range map[string]struct {
		checks []registry.TicketCheck
		want   bool
	}{
		"all":             {good, true},
		"one does not":    {[]registry.TicketCheck{{Slot: "recon", OK: true}, {Slot: "author"}}, false},
		"one is left out": {good[:1], false},
		"one twice":       {[]registry.TicketCheck{good[0], good[0]}, false},
		"one too many":    {append(good, good[0]), false},
		"none":            {nil, false},
	} {
		if got := registry.NewTicketReport(held, row.checks); got.Holds != row.want || got.Run != "nightly" || got.Slots == nil {
			t.Errorf("%s: %+v, want it to hold: %v", name, got, row.want)
		}
	}
}
