package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
)

// maxTranscript is how long a transcript may be as JSON to be answered: longer
// ones cost a model more than they tell it, and people have them elsewhere.
const maxTranscript = 2000

// memberTranscript is the name of what was exchanged, wherever in a result.
const memberTranscript = "transcript"

// memberDependencies is the name of what a server wrote, with names of its own.
const memberDependencies = "dependencies"

// maxDepth is how deep transcripts are looked for: a knowledge base has
// result.gates.test.transcript.
const maxDepth = 3

// componentList is the answer of list_components.
type componentList struct {
	registry.ComponentPage

	Truncated []string `json:"truncated,omitempty"`
}

// fitComponents returns the page with its longest reasons cut so that it has at
// most maxResultBytes as JSON.
func fitComponents(page registry.ComponentPage) componentList {
	list := componentList{ComponentPage: page}
	list.Components = append([]registry.Reading{}, page.Components...)
	reasons := make([]clipping, len(list.Components))
	for i := range list.Components {
		reasons[i] = textClipping("components[].reason", &list.Components[i].Reason)
	}
	list.Truncated = clip(sizeOf(list), maxResultBytes, reasons)
	return list
}

// fitView returns what there is to know about a component as an object of at most
// maxResultBytes: without long transcripts, then without any, then with its
// largest parts cut.
func fitView(view any) (document, error) {
	whole, err := documentOf(view)
	if err != nil {
		return nil, err
	}
	whole, truncated := whole.without(memberTranscript, "", maxTranscript, maxDepth)
	if sizeOf(whole) > maxResultBytes {
		var further []string
		whole, further = whole.without(memberTranscript, "", 0, maxDepth)
		truncated = append(truncated, further...)
	}
	named := len(`,"truncated":`) + sizeOf(truncated)
	truncated = append(truncated, clip(sizeOf(whole)+named, maxResultBytes, whole.parts(""))...)
	if len(truncated) > 0 {
		whole = append(whole, schema.Member{Name: "truncated", Value: encode(truncated)})
	}
	return whole, nil
}

// without returns the document without the members of a name that have more than
// most bytes, in objects to a depth, and where they were.
func (d document) without(name, path string, most, depth int) (kept document, removed []string) {
	for _, m := range d {
		if m.Name == name && sizeOf(m.Value) > most {
			removed = append(removed, path+m.Name)
			continue
		}
		if depth > 0 && m.Name != memberDependencies && schema.KindOf(m.Value) == "an object" && bytes.Contains(m.Value, encode(name)) {
			// What is no object of distinct names may still be cut as a whole.
			if inside, err := readDocument(m.Value); err == nil {
				rest, gone := inside.without(name, path+m.Name+".", most, depth-1)
				m.Value, removed = encode(rest), append(removed, gone...)
			}
		}
		kept = append(kept, m)
	}
	return kept, removed
}

// parts are the clippings of what is not a single value in the answer itself, and
// of each member of the newest result, of the gates in it, and of the drift.
func (d document) parts(path string) []clipping {
	var parts []clipping
	for i := range d {
		m := &d[i]
		inside, err := readDocument(m.Value)
		if err != nil || !slices.Contains([]string{"result", "gates", "drift"}, m.Name) {
			if path != "" || strings.Contains(`[{`, string(m.Value[:1])) {
				parts = append(parts, memberClipping(path, m))
			}
			continue
		}
		for _, part := range inside.parts(path + m.Name + ".") {
			cut := part.cut
			part.cut = func(most int) {
				cut(most)
				m.Value = encode(inside)
			}
			parts = append(parts, part)
		}
	}
	return parts
}

func memberClipping(path string, m *schema.Member) clipping {
	return clipping{path + m.Name, sizeOf(m.Value), func(most int) { m.Value = abridged(m.Value, most) }}
}

// preflightAnswer is the answer of preflight.
type preflightAnswer struct {
	registry.Preflight

	Truncated []string `json:"truncated,omitempty"`
}

// fitPreflight returns the preflight with its longest reasons cut so that it has
// at most maxResultBytes as JSON. When that is not enough it goes without its
// ticket, and then with those slots that fit, the refused ones first.
func fitPreflight(whole registry.Preflight) preflightAnswer {
	answer := preflightAnswer{Preflight: whole}
	if sizeOf(answer) <= maxResultBytes {
		return answer
	}
	answer.Slots = slices.Clone(whole.Slots)
	var reasons []clipping
	for i := range answer.Slots {
		slot := &answer.Slots[i]
		slot.Attempts = slices.Clone(slot.Attempts)
		for j := range slot.Attempts {
			if reason := &slot.Attempts[j].Reason; *reason != "" {
				reasons = append(reasons, textClipping("slots[].attempts[].reason", reason))
			}
		}
	}
	answer.Truncated = clip(sizeOf(answer), maxResultBytes, reasons)
	if answer.Ticket != nil && sizeOf(answer) > maxResultBytes {
		answer.Ticket = nil
		answer.Truncated = append(answer.Truncated, "ticket")
	}
	if size := sizeOf(answer); size > maxResultBytes {
		room := maxResultBytes - size + sizeOf(answer.Slots) - len(`,"slots"`)
		slices.SortStableFunc(answer.Slots, refusedFirst)
		answer.Slots = answer.Slots[:fitting(answer.Slots, room)]
		answer.Truncated = append(answer.Truncated, "slots")
	}
	return answer
}

// refusedFirst puts required slots that nothing fills before optional ones that
// nothing fills, and these before the others.
func refusedFirst(a, b registry.SlotResult) int {
	rank := func(s registry.SlotResult) int {
		switch {
		case s.OK:
			return 2
		case s.Required:
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

var _ json.Marshaler = document(nil)
