package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
)

func TestFitComponents_keepsTheLargestPageUnderTheLimit(t *testing.T) {
	for name, reason := range map[string]string{"short": "down", "long": strings.Repeat("r", 600), "escaped": strings.Repeat("\x01<", 300)} {
		page := readings(registry.MaxPage, reason)
		list := fitComponents(page)
		if size := sizeOf(list); size > maxResultBytes {
			t.Errorf("%s: %d bytes", name, size)
		}
		if len(list.Components) != registry.MaxPage || list.NextCursor != "more" || page.Components[0].Reason != reason {
			t.Errorf("%s: the page lost more than reasons", name)
		}
		cut := list.Components[0].Reason != reason
		if cut != slices.Equal(list.Truncated, []string{"components[].reason"}) || cut != strings.HasSuffix(list.Components[0].Reason, ellipsis) {
			t.Errorf("%s: cut to %.20q, truncated %q", name, list.Components[0].Reason, list.Truncated)
		}
	}
}

// drawResult draws the document of a result with parts of any size.
func drawResult(t *rapid.T) registry.ProbeResult {
	result := registry.ProbeResult{
		Target: drawText(t, "target", 200), ProbedAt: probedAt(),
		Healthz:      registry.Fail(time.Second, registry.Timeout, drawText(t, "detail", registry.MaxDetail)),
		Dependencies: map[string]json.RawMessage{},
	}
	gates := []*registry.GateResult{&result.Healthz, &result.Test, &result.ListTools.GateResult}
	for _, gate := range gates {
		if bytes := rapid.SampledFrom([]int{0, 0, 10, 10, 3000, 9000}).Draw(t, "transcript"); bytes > 0 {
			gate.Transcript = &registry.Transcript{Stderr: drawText(t, "stderr", bytes)}
		}
	}
	for i := range rapid.SampledFrom([]int{0, 0, 3, 1500}).Draw(t, "tools") {
		result.Tools = append(result.Tools, fmt.Sprintf("tool_%d", i))
	}
	for i := range rapid.SampledFrom([]int{0, 0, 2, 2, 80}).Draw(t, "dependencies") {
		// A server may give its members the names of ours.
		entry := map[string]any{"executable": false, "detail": drawText(t, "dependency", 200), "transcript": strings.Repeat("x", maxTranscript)}
		result.Dependencies[strings.Repeat("\x01", registry.MaxDependencyName-3)+fmt.Sprint(i)] = encode(entry)
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 50}).Draw(t, "warnings") {
		result.Warnings = append(result.Warnings, drawText(t, "warning", 500))
	}
	return result
}

func drawView(t *rapid.T) registry.ComponentView {
	result := drawResult(t)
	view := registry.ComponentView{
		Reading: registry.Reading{Name: "asm", Kind: registry.KindMCPServer, Status: registry.Unavailable, Reason: drawText(t, "reason", registry.MaxDetail)},
		Result:  encode(result),
	}
	view.Hours = make([]registry.Hour, rapid.SampledFrom([]int{0, 0, 24, 400}).Draw(t, "hours"))
	view.Changes = make([]registry.Change, rapid.SampledFrom([]int{0, 0, 20, 200}).Draw(t, "changes"))
	if added := rapid.SampledFrom([]int{0, 0, 2000}).Draw(t, "added"); added > 0 {
		view.Drift = &registry.Drift{Added: slices.Repeat([]string{"a_new_tool"}, added)}
	}
	return view
}

func TestFitView_keepsAnyViewUnderTheLimitAndNamesWhatItCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		view := drawView(t)
		fitted, err := fitView(view)
		if err != nil {
			t.Fatal(err)
		}
		if size := sizeOf(fitted); size > maxResultBytes {
			t.Fatalf("%d bytes", size)
		}
		var got struct {
			registry.ComponentView

			Truncated []string
		}
		if err := json.Unmarshal(encode(fitted), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(view.Reading, got.Reading); diff != "" {
			t.Fatalf("the reading was cut:\n%s", diff)
		}
		before, after := partsOf(t, view.Result), partsOf(t, got.Result)
		for name, was := range before {
			if now, kept := after[name]; (!kept || now != was) && !isNamed(got.Truncated, "result."+name) {
				t.Fatalf("result.%s was cut and is not named in %q", name, got.Truncated)
			}
		}
		if _, whole := after["passed"]; !whole {
			t.Fatal("the result says no more whether it passed")
		}
		for name, short := range map[string]bool{"hours": len(got.Hours) < len(view.Hours), "changes": len(got.Changes) < len(view.Changes)} {
			if short != slices.Contains(got.Truncated, name) {
				t.Fatalf("%s is shorter: %v, truncated: %q", name, short, got.Truncated)
			}
		}
	})
}

func partsOf(t *rapid.T, result json.RawMessage) map[string]string {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(result, &parts); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, part := range parts {
		texts[name] = string(part)
	}
	return texts
}

// isNamed reports whether a part, or a part of it, is among those that were cut.
func isNamed(truncated []string, part string) bool {
	return slices.ContainsFunc(truncated, func(name string) bool { return name == part || strings.HasPrefix(name, part+".") })
}

func TestFitView_leavesLongTranscriptsOutAndShortOnesIn(t *testing.T) {
	result := registry.ProbeResult{
		Healthz: registry.Fail(time.Second, registry.ProcessExit, "exit status 1"),
		Test:    registry.Fail(time.Second, registry.ProcessExit, "exit status 1"),
	}
	result.Healthz.Transcript = &registry.Transcript{Stderr: "key <missing>"}
	result.Test.Transcript = &registry.Transcript{Stderr: strings.Repeat("x", maxTranscript)}
	fitted, err := fitView(registry.Examination{Result: encode(&result)})
	if err != nil {
		t.Fatal(err)
	}
	text := string(encode(fitted))
	if !strings.Contains(text, "key <missing>") || strings.Contains(text, "xxxx") || !strings.HasSuffix(text, `"truncated":["result.test.transcript"]}`) {
		t.Errorf("%s", text)
	}
	if _, err := registry.DecodeResult(registry.KindMCPServer, fitted[slices.IndexFunc(fitted, func(m schema.Member) bool { return m.Name == "result" })].Value); err != nil {
		t.Errorf("the result does not decode any more: %v", err)
	}
}

// A knowledge base keeps the gates of its server in a document of their own.
func TestFitView_cutsWithinTheGatesOfAKnowledgeBase(t *testing.T) {
	gates := registry.ProbeResult{Healthz: registry.Fail(time.Second, registry.Timeout, "d"), Tools: slices.Repeat([]string{"a_tool"}, 20_000)}
	gates.Healthz.Transcript = &registry.Transcript{Stderr: strings.Repeat("x", 2*maxTranscript)}
	result := map[string]any{"passed": false, "retrieve": registry.Fail(0, registry.Timeout, "d"), "gates": &gates}
	fitted, err := fitView(registry.Examination{Result: encode(result)})
	if err != nil {
		t.Fatal(err)
	}
	text := string(encode(fitted))
	if len(text) > maxResultBytes || len(text) < maxResultBytes*9/10 {
		t.Errorf("%d bytes", len(text))
	}
	if !strings.HasSuffix(text, `"truncated":["result.gates.healthz.transcript","result.gates.tools"]}`) || !strings.Contains(text, `"cause":"timeout"`) {
		t.Errorf("%.300s ... %s", text, text[len(text)-300:])
	}
}

func TestFitView_refusesWhatIsNoDocument(t *testing.T) {
	for _, result := range []string{`{"a":1`, "\xff{"} {
		if _, err := fitView(registry.Examination{Result: json.RawMessage(result)}); err == nil {
			t.Errorf("%q was taken", result)
		}
	}
	twice := registry.Examination{Result: json.RawMessage(`{"a":"` + strings.Repeat("x", 2*maxResultBytes) + `","a":2}`)}
	if fitted, err := fitView(twice); err != nil || sizeOf(fitted) > maxResultBytes {
		t.Errorf("a result of doubled names: %v, %d bytes", err, sizeOf(fitted))
	}
}

// manySlots returns a preflight of many slots, of which one in ten is refused.
func manySlots(slots, attempts int, reason string) registry.Preflight {
	answer := registry.Preflight{Run: "nightly", Ticket: &registry.Ticket{Version: 1, Run: "nightly"}}
	for i := range slots {
		slot := registry.SlotResult{Slot: fmt.Sprintf("slot %d", i), Required: i%20 == 9, OK: i%10 != 9, Component: "asm"}
		for range attempts {
			slot.Attempts = append(slot.Attempts, registry.Attempt{Component: "asm", Causes: []registry.Cause{registry.Timeout}, Reason: reason, ResultID: strings.Repeat("i", 36)})
		}
		answer.Slots = append(answer.Slots, slot)
		answer.Ticket.Slots = append(answer.Ticket.Slots, registry.TicketSlot{Slot: slot.Slot, Component: "asm", ResultID: strings.Repeat("i", 36)})
	}
	return answer
}

func TestFitPreflight_cutsReasonsThenTheTicketThenSlotsThatAreFilled(t *testing.T) {
	long := strings.Repeat("<r>", 150)
	for _, c := range []struct {
		name            string
		slots, attempts int
		truncated       []string
		kept            int // slots, at least
	}{
		{"a usual run", 5, 2, nil, 5},
		{"many reasons", 60, 3, []string{"slots[].attempts[].reason"}, 60},
		{"too many attempts", 120, 4, []string{"slots[].attempts[].reason", "ticket"}, 120},
		{"far too many slots", 1000, 1, []string{"slots[].attempts[].reason", "ticket", "slots"}, 300},
	} {
		whole := manySlots(c.slots, c.attempts, long)
		answer := fitPreflight(whole)
		if size := sizeOf(answer); size > maxResultBytes {
			t.Errorf("%s: %d bytes", c.name, size)
		}
		if diff := cmp.Diff(c.truncated, answer.Truncated); diff != "" {
			t.Errorf("%s: truncated (-want +got):\n%s", c.name, diff)
		}
		if len(answer.Slots) < c.kept || len(answer.Slots) > c.slots {
			t.Errorf("%s: %d of %d slots", c.name, len(answer.Slots), c.slots)
		}
		if whole.Slots[0].Attempts[0].Reason != long || whole.Ticket == nil || whole.Slots[0].Slot != "slot 0" {
			t.Errorf("%s: the preflight that was given was changed", c.name)
		}
	}
	few := fitPreflight(manySlots(1000, 1, long))
	if first := few.Slots[0]; first.OK || !first.Required {
		t.Errorf("a required slot that nothing fills is not the first: %+v", first)
	}
}

func FuzzAbridged_keepsJSONWithinItsRoom(f *testing.F) {
	for _, seed := range []string{`"text"`, `"\u0001<\ud83d\ude00"`, `[1,"a",[2]]`, `{"a":[1,2,3],"b":{"c":"d"}}`, `{"a":1,"a":2}`, `null`, `-1.5e3`} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, raw string, most int) {
		raw = strings.TrimSpace(raw)
		if !json.Valid([]byte(raw)) || most < 10 {
			return
		}
		kept := abridged(json.RawMessage(raw), most)
		if !json.Valid(kept) {
			t.Fatalf("%s became %s", raw, kept)
		}
		if kind := schema.KindOf(json.RawMessage(raw)); kind != schema.KindOf(kept) {
			t.Fatalf("%s became %s", kind, schema.KindOf(kept))
		}
		if strings.Contains(`"[{`, raw[:1]) && sizeOf(kept) > most {
			t.Fatalf("%s became %d bytes, which is over %d: %s", raw, sizeOf(kept), most, kept)
		}
	})
}
