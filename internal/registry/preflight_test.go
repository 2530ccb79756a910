package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// drift is what has changed about some tools.
func drift() *registry.Drift {
	return &registry.Drift{
		Added: []string{"a", "b"}, Removed: []string{"c"},
		Changed: []registry.ToolChange{{Name: "d", What: []string{"description", "inputSchema"}}},
	}
}

func TestJudge_wantsAllThatTheSlotDemands(t *testing.T) {
	t.Parallel()
	const drifted = "its tools are not the accepted ones: added a, b; removed c; changed d (description, inputSchema)"
	slot := registry.Slot{Name: "recon", Primary: "asm", RequireTools: []string{"nmap_scan"}, MinVersion: "1.2"}
	for name, row := range map[string]struct {
		change func(*registry.Slot, *registry.MCPServer, *registry.Probed)
		passed bool
		causes []registry.Cause
		reason string
	}{
		"a pass": {func(*registry.Slot, *registry.MCPServer, *registry.Probed) {}, true, nil, ""},
		"a degraded pass": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Summary.Degraded, p.Summary.Reason = true, "not executable: nmap"
		}, true, nil, "not executable: nmap"},
		"a failure": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Summary.Outcome, p.Summary.Causes, p.Summary.Reason = registry.OutcomeFailed, []registry.Cause{registry.Refused}, "healthz: refused"
			p.Summary.Tools, p.Summary.ServerVersion = nil, ""
		}, false, []registry.Cause{registry.Refused}, "healthz: refused"},
		"an undecided result": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Summary.Outcome, p.Summary.Causes = registry.OutcomeUndecided, []registry.Cause{registry.Overloaded}
		}, false, []registry.Cause{registry.Overloaded}, "the result of its probe is: undecided"},
		"no result": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			*p = registry.Probed{}
		}, false, nil, "the result of its probe is: none"},
		"missing tools": {func(s *registry.Slot, _ *registry.MCPServer, _ *registry.Probed) {
			s.RequireTools = []string{"whois", "nmap_scan", "dig"}
		}, false, []registry.Cause{registry.MissingTool}, "it does not list what slot recon requires: whois, dig"},
		"an old version": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Summary.ServerVersion = "1.1.9"
		}, false, []registry.Cause{registry.OldVersion}, "its version 1.1.9 is older than 1.2 (slot recon)"},
		"no version": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Summary.ServerVersion = ""
		}, false, []registry.Cause{registry.OldVersion}, "it states no version, and at least 1.2 is wanted (slot recon)"},
		"a drift that warns": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Drift = drift()
		}, true, nil, drifted},
		"a drift that blocks": {func(_ *registry.Slot, m *registry.MCPServer, p *registry.Probed) {
			m.Drift, p.Drift = registry.DriftBlocks, drift()
		}, false, []registry.Cause{registry.ToolsChanged}, drifted},
		"a drift whose difference is not known": {func(_ *registry.Slot, m *registry.MCPServer, p *registry.Probed) {
			m.Drift, p.Drift = registry.DriftBlocks, &registry.Drift{}
		}, false, []registry.Cause{registry.ToolsChanged}, "its tools are not the accepted ones"},
		"a stored pass where one is wanted now": {func(_ *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			p.Reused = true
		}, false, nil, "slot recon wants a probe now, and this result was stored before"},
		"a stored pass that is permitted": {func(s *registry.Slot, _ *registry.MCPServer, p *registry.Probed) {
			s.MaxAge, p.Reused = time.Minute, true
		}, true, nil, ""},
		"everything at once": {
			func(s *registry.Slot, m *registry.MCPServer, p *registry.Probed) {
				s.RequireTools, s.MinVersion, p.Summary.Degraded, p.Summary.Reason = []string{"dig"}, "2", true, "not executable: nmap"
				m.Drift, p.Drift = registry.DriftBlocks, drift()
			}, false,
			[]registry.Cause{registry.MissingTool, registry.OldVersion, registry.ToolsChanged},
			"not executable: nmap; it does not list what slot recon requires: dig; its version 1.2.3 is older than 2 (slot recon); " + drifted,
		},
	} {
		judging, component, result := slot, server("asm"), probed("r1")
		row.change(&judging, component.Spec.(*registry.MCPServer), &result)
		got := judging.Judge(component, result)
		if got.Passed != row.passed || got.Reason != row.reason {
			t.Errorf("%s: passed %v, reason %q, want %v, %q", name, got.Passed, got.Reason, row.passed, row.reason)
		}
		if want := append([]registry.Cause{}, row.causes...); !cmp.Equal(got.Causes, want) {
			t.Errorf("%s: causes %#v, want %#v", name, got.Causes, want)
		}
		if got.Component != "asm" || got.ResultID != result.ResultID || got.Reused != result.Reused || got.Degraded != result.Summary.Degraded {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestJudge_leavesTheSummaryAsItIs(t *testing.T) {
	t.Parallel()
	slot := registry.Slot{Name: "recon", RequireTools: []string{"dig"}}
	result := probed("r1")
	result.Summary.Causes = make([]registry.Cause, 0, 4)
	slot.Judge(server("asm"), result)
	if got := result.Summary.Causes[:1]; got[0] != "" {
		t.Errorf("a cause was written into the summary: %v", got)
	}
	result.Drift = &registry.Drift{Added: []string{strings.Repeat("x", 10_000)}}
	if got := slot.Judge(server("asm"), result).Reason; len(got) > registry.MaxDetail {
		t.Errorf("a reason has %d bytes", len(got))
	}
}

func TestJudge_comparesVersionsNumberByNumber(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		stated, minimum string
		suffices        bool
	}{
		{"1.2.3", "1.2.3", true},
		{"1.2.3", "1.2", true},
		{"1.2", "1.2.0", true},
		{"1.10", "1.9", true},
		{"2", "1.9.9", true},
		{"v1.2.3", "1.2", true},
		{"V2", "2", true},
		{"2026.11.30", "2026.2", true},
		{"01.2", "1.2", true},
		{"1.1.1w", "1.1.1", true},
		{"1.8.0-b08", "1.8", true},
		{"1.2.3+build.5", "1.2.3", true},
		{"1.3.0-rc.1", "1.2", true},
		{"99999999999999999999999.1", "99999999999999999999999", true},
		{"1.2.2", "1.2.3", false},
		{"1.9", "1.10", false},
		{"1.2", "1.2.1", false},
		{"0.9.9", "1", false},
		{"1.2.0-rc.1", "1.2", false},
		{"1.2.0rc1", "1.2", false},
		{"2.0.0-beta", "2", false},
		{"3.0a1", "3", false},
		{"", "1", false},
		{"latest", "1", false},
		{"-1.2", "1", false},
		{"build 12", "1", false},
		{"server2 0.1", "1", false},
		{"1.2.3", "1.x", false},
		{"1.2.3", ">=1", false},
		{"9", strings.Repeat("1", registry.MaxVersion+1), false},
	} {
		slot := registry.Slot{Name: "recon", MinVersion: row.minimum}
		result := probed("r1")
		result.Summary.ServerVersion = row.stated
		got := slot.Judge(server("asm"), result)
		if got.Passed != row.suffices {
			t.Errorf("%q for at least %q: passed %v, want %v (%s)", row.stated, row.minimum, got.Passed, row.suffices, got.Reason)
		}
		if !got.Passed && !strings.Contains(got.Reason, row.minimum) {
			t.Errorf("the reason does not name the minimum %s: %s", row.minimum, got.Reason)
		}
	}
}

func TestReuses_isForAYoungPassWhereTheSlotPermitsIt(t *testing.T) {
	t.Parallel()
	pass := registry.Seen{ID: "1", ProbedAt: began(), Outcome: registry.OutcomePassed}
	failure, undecided, nameless := pass, pass, pass
	failure.Outcome, undecided.Outcome, nameless.ID = registry.OutcomeFailed, registry.OutcomeUndecided, ""
	for name, row := range map[string]struct {
		maxAge, age time.Duration
		last        registry.Seen
		want        bool
	}{
		"a young pass":               {time.Minute, time.Minute, pass, true},
		"an old pass":                {time.Minute, time.Minute + time.Millisecond, pass, false},
		"no maximum age":             {0, 0, pass, false},
		"a failure":                  {time.Minute, 0, failure, false},
		"an undecided result":        {time.Minute, 0, undecided, false},
		"no result":                  {time.Minute, 0, nameless, false},
		"a pass that is dated ahead": {time.Minute, -time.Millisecond, pass, false},
	} {
		slot := registry.Slot{MaxAge: row.maxAge}
		if got := slot.Reuses(row.last, began().Add(row.age)); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestPreflight_isAllowedWhenEveryRequiredSlotIsFilled(t *testing.T) {
	t.Parallel()
	if got := allowed(); !got.Allowed || got.Slots[0].Component != "asm-eu" || !got.Slots[0].Fallback || got.Slots[1].OK || got.Slots[2].Fallback {
		t.Errorf("a run on a fallback and without an optional slot: %+v", got)
	}
	run := &registry.Run{Name: "nightly", Slots: []registry.RunSlot{{"recon", true}, {"spare", false}}}
	filled := func(slot string, required, ok bool) registry.SlotResult {
		return registry.SlotResult{Slot: slot, Required: required, OK: ok}
	}
	for name, row := range map[string]struct {
		slots []registry.SlotResult
		want  bool
	}{
		"both":                         {[]registry.SlotResult{filled("recon", true, true), filled("spare", false, true)}, true},
		"the required one":             {[]registry.SlotResult{filled("recon", true, true), filled("spare", false, false)}, true},
		"the optional one":             {[]registry.SlotResult{filled("recon", true, false), filled("spare", false, true)}, false},
		"neither":                      {[]registry.SlotResult{filled("recon", true, false), filled("spare", false, false)}, false},
		"nothing":                      {nil, false},
		"the required one left out":    {[]registry.SlotResult{filled("spare", false, true)}, false},
		"the required one as optional": {[]registry.SlotResult{filled("recon", false, false)}, false},
		"the optional one left out":    {[]registry.SlotResult{filled("recon", true, true)}, true},
	} {
		if got := registry.NewPreflight(run, row.slots); got.Allowed != row.want || got.Slots == nil {
			t.Errorf("%s: %+v, want allowed %v", name, got, row.want)
		}
	}
}
