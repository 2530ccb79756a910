package registry_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Each mark is a word that is neither a status, nor a cause, nor what became of a
// preflight, since it stands beside them.
func TestMarks_cannotBeTakenForAStatusOrACause(t *testing.T) {
	t.Parallel()
	blocked := registry.Reading{Drifting: registry.DriftBlocks, Flapping: true, Degraded: true}
	warned := registry.Reading{Drifting: registry.DriftWarns}
	taken := []string{"allowed", "allowed_on_fallback", "refused", "passed", "failed", "undecided"}
	for _, cause := range registry.Causes() {
		taken = append(taken, string(cause.Cause))
	}
	for _, status := range registry.Statuses() {
		taken = append(taken, string(status))
	}
	for _, mark := range append(blocked.Marks(), warned.Marks()...) {
		if slices.Contains(taken, mark) {
			t.Errorf("the mark %q is taken", mark)
		}
	}
	if got := blocked.Marks(); !slices.Equal(got, []string{registry.MarkBlocked, "flapping", "degraded"}) || !slices.Equal(warned.Marks(), []string{"tools changed"}) {
		t.Errorf("got %q and %q", got, warned.Marks())
	}
	if marks := new(registry.Reading).Marks(); marks != nil {
		t.Errorf("nothing is marked with %q", marks)
	}
}

// TestLists_haveTheShapesOfTheContract holds the JSON of what pages and lists show
// against what clients rely on.
func TestLists_haveTheShapesOfTheContract(t *testing.T) {
	t.Parallel()
	reading := view(t).Reading
	failed := registry.Kept{
		ID: "019ad000-0000-7000-8000-000000000001", Component: "asm", Kind: registry.KindMCPServer, Latency: 12345 * time.Microsecond,
		Seen: registry.Seen{
			ProbedAt: began().In(time.FixedZone("", 3600)), Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.Timeout},
			Reason: "test: timeout: the time ran out", Degraded: true,
		},
		Document: json.RawMessage(`{"passed":false}`),
	}
	passed := registry.Kept{
		ID: "019ad000-0000-7000-8000-000000000000", Component: "asm", Kind: registry.KindMCPServer,
		Seen: registry.Seen{ProbedAt: began(), Outcome: registry.OutcomePassed},
	}
	inList := failed
	inList.Document = nil
	slot := registry.Slot{
		Name: "recon", Primary: "asm", Fallbacks: []string{"asm-eu", "gone"}, RequireTools: []string{"scan"}, MinVersion: "1.2", MaxAge: 90 * time.Second,
	}
	author := registry.Slot{Name: "author", Primary: "writer"}
	readings := map[string]registry.Reading{"asm": reading, "asm-eu": unprobed()}
	kept := registry.KeptPreflight{At: began(), Preflight: allowed()}
	for name, answer := range map[string]any{
		"result":            failed.Told(),
		"result-page":       registry.ResultPage{Results: []registry.KeptResult{inList.Told(), passed.Told()}, NextCursor: passed.ID},
		"result-page-empty": registry.ResultPage{Results: []registry.KeptResult{}},
		"slot-page":         registry.SlotPage{Slots: []registry.SlotView{author.View(readings), slot.View(readings)}, NextCursor: "recon"},
		"run-view": registry.RunView{
			Run: "nightly", Slots: []registry.RunSlotView{{SlotView: slot.View(readings), Required: true}}, Preflights: []registry.KeptPreflight{kept},
		},
		"run-page": registry.RunPage{
			Runs: []registry.RunSummary{
				{Run: "nightly", Slots: []string{"recon", "author"}, Last: new(kept.Summary())}, {Run: "weekly", Slots: []string{}},
			}, NextCursor: "weekly",
		},
		"attention": registry.Attention{
			Components: []registry.Reading{unprobed()}, Counts: registry.StatusCounts{Probing: 1, Available: 2, Unavailable: 3, Unknown: 4, Attention: 8},
		},
	} {
		golden(t, name, answer)
	}
}

func TestView_saysWhatFillsASlotGoingByTheStatuses(t *testing.T) {
	t.Parallel()
	readings := map[string]registry.Reading{
		"up": {Status: registry.Available}, "degraded": {Status: registry.Available, Degraded: true, Flapping: true},
		"warned": {Status: registry.Available, Drifting: registry.DriftWarns}, "blocked": {Status: registry.Available, Drifting: registry.DriftBlocks},
		"down": {Status: registry.Unavailable}, "stale": {Status: registry.Unknown}, "begun": {Status: registry.Probing},
	}
	for want, components := range map[string][]string{
		"up":       {"up", "degraded"},          // the primary
		"warned":   {"warned", "up"},            // whose changed tools are warned of
		"degraded": {"down", "degraded", "up"},  // the first fallback that is available
		"":         {"stale", "begun", "down"},  // nothing that is not available
		"blocked?": {"blocked"},                 // nor what a preflight refuses
		"gone?":    {"gone", "blocked", "gone"}, // nor what is not registered
	} {
		slot := registry.Slot{Name: "recon", Primary: components[0], Fallbacks: components[1:]}
		if strings.HasSuffix(want, "?") {
			want = ""
		}
		if got := slot.View(readings).Fills; got != want {
			t.Errorf("of %v it is filled by %q, want %q", components, got, want)
		}
	}
}

func TestSummary_ofAPreflightNamesWhatIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	at := began()
	for name, row := range map[string]struct {
		slots               []registry.SlotResult
		fallbacks, unfilled []string
	}{
		"nothing":       {nil, []string{}, []string{}},
		"all primaries": {[]registry.SlotResult{{Slot: "a", OK: true}, {Slot: "b", OK: true}}, []string{}, []string{}},
		"some": {
			[]registry.SlotResult{{Slot: "a"}, {Slot: "b", OK: true, Fallback: true}, {Slot: "c", OK: true}, {Slot: "d", OK: true, Fallback: true}, {Slot: "e", Required: true}},
			[]string{"b", "d"},
			[]string{"a", "e"},
		},
		// What is not filled is not filled by a fallback, whatever a row says.
		"a contradiction": {[]registry.SlotResult{{Slot: "a", Fallback: true}}, []string{}, []string{"a"}},
	} {
		for _, isAllowed := range []bool{false, true} {
			kept := registry.KeptPreflight{At: at, Preflight: registry.Preflight{Run: "nightly", Allowed: isAllowed, Slots: row.slots}}
			want := registry.PreflightSummary{At: at, Allowed: isAllowed, Fallbacks: row.fallbacks, Unfilled: row.unfilled}
			if diff := cmp.Diff(want, kept.Summary()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// TestUrgency_putsFirstWhatIsWorst has every kind of reading, in the order in which
// a person should look.
func TestUrgency_putsFirstWhatIsWorst(t *testing.T) {
	t.Parallel()
	warns := registry.DriftWarns
	order := []registry.Reading{
		{Name: "b", Status: registry.Unavailable, Flapping: true},
		{Name: "a", Status: registry.Unavailable},
		{Name: "c", Status: registry.Unknown, Drifting: warns},
		{Name: "e", Status: registry.Available, Drifting: warns, Degraded: true},
		{Name: "d", Status: registry.Probing, Drifting: warns},
		{Name: "f", Status: registry.Available, Flapping: true},
		{Name: "g", Status: registry.Available, Degraded: true},
		{Name: "h", Status: registry.Probing},
		{Name: "i", Status: registry.Available},
	}
	want := []registry.Urgency{
		registry.UrgentUnavailable, registry.UrgentUnavailable, registry.UrgentUnknown, registry.UrgentTools, registry.UrgentTools,
		registry.UrgentMarked, registry.UrgentMarked, registry.UrgentProbing, registry.NotUrgent,
	}
	var got []registry.Urgency
	var counts registry.StatusCounts
	for i := range order {
		got = append(got, order[i].Urgency())
		counts.Count(order[i].Status, order[i].Urgency())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (registry.StatusCounts{Probing: 2, Available: 4, Unavailable: 2, Unknown: 1, Attention: 8}); counts != want {
		t.Errorf("counted %+v, want %+v", counts, want)
	}
	if !slices.IsSorted(registry.Urgencies()) || len(registry.Urgencies()) != int(registry.NotUrgent)+1 {
		t.Errorf("the urgencies are %v", registry.Urgencies())
	}
}
