package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// maxTranscript is how long a transcript may be as JSON to be answered: longer
// ones cost a model more than they tell it, and people have them elsewhere.
const maxTranscript = 2000

// memberTranscript is the name of what was exchanged, wherever in a result.
const memberTranscript = "transcript"

// maxDepth is how deep in a result transcripts are looked for.
const maxDepth = 8

// componentList is the answer of list_components.
type componentList struct {
	registry.ComponentPage

	Truncated []string `json:"truncated,omitempty"`
}

// fitComponents returns the page with its longest reasons cut so that it has at
// most limit bytes as JSON.
func fitComponents(page registry.ComponentPage, limit int) componentList {
	list := componentList{ComponentPage: page}
	list.Components = append([]registry.Reading{}, page.Components...)
	reasons := make([]clipping, len(list.Components))
	for i := range list.Components {
		reasons[i] = textClipping("components[].reason", &list.Components[i].Reason)
	}
	list.Truncated = clip(sizeOf(list), limit, reasons)
	return list
}

// fitView returns what there is to know about a component as an object of at most
// limit bytes: without long transcripts, then without any, then with its largest
// parts cut.
func fitView(view any, limit int) (document, error) {
	whole, err := documentOf(view)
	if err != nil {
		return nil, err
	}
	truncated := whole.leaveOut(memberTranscript, "", maxTranscript, maxDepth)
	if sizeOf(whole) > limit {
		truncated = append(truncated, whole.leaveOut(memberTranscript, "", 0, maxDepth)...)
	}
	named := len(`,"truncated":`) + sizeOf(truncated)
	truncated = append(truncated, clip(sizeOf(whole)+named, limit, whole.parts())...)
	if len(truncated) > 0 {
		whole.set("truncated", encode(truncated))
	}
	return whole, nil
}

// leaveOut removes every member of a name that has more than most bytes, within
// objects to a depth, and returns where they were.
func (d *document) leaveOut(name, path string, most, depth int) (removed []string) {
	for i, m := range *d {
		if m.name != name && depth > 0 && kindOf(m.value) == "an object" {
			if inside, err := documentOf(m.value); err == nil {
				if gone := inside.leaveOut(name, path+m.name+".", most, depth-1); len(gone) > 0 {
					removed = append(removed, gone...)
					(*d)[i].value = encode(inside)
				}
			}
		}
	}
	*d = slices.DeleteFunc(*d, func(m member) bool {
		gone := m.name == name && sizeOf(m.value) > most
		if gone {
			removed = append(removed, path+m.name)
		}
		return gone
	})
	return removed
}

// parts are the clippings of what is not a single value in the answer itself, and
// of each member of the newest result and of the drift.
func (d *document) parts() []clipping {
	var parts []clipping
	for i := range *d {
		m := &(*d)[i]
		if m.name != "result" && m.name != "drift" {
			if strings.Contains(`[{`, string(m.value[:1])) {
				parts = append(parts, m.clipping(""))
			}
			continue
		}
		inside, err := documentOf(m.value)
		if err != nil {
			parts = append(parts, m.clipping(""))
			continue
		}
		for j := range inside {
			part := inside[j].clipping(m.name + ".")
			cut := part.cut
			part.cut = func(most int) {
				cut(most)
				m.value = encode(inside)
			}
			parts = append(parts, part)
		}
	}
	return parts
}

func (m *member) clipping(path string) clipping {
	return clipping{path + m.name, sizeOf(m.value), func(most int) { m.value = abridged(m.value, most) }}
}

// preflightAnswer is the answer of preflight.
type preflightAnswer struct {
	registry.Preflight

	Truncated []string `json:"truncated,omitempty"`
}

// fitPreflight returns the preflight with its longest reasons cut so that it has
// at most limit bytes as JSON. When that is not enough it goes without its
// ticket, and then with those slots that fit, the refused ones first.
func fitPreflight(whole registry.Preflight, limit int) preflightAnswer {
	answer := preflightAnswer{Preflight: whole}
	if sizeOf(answer) <= limit {
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
	answer.Truncated = clip(sizeOf(answer), limit, reasons)
	if answer.Ticket != nil && sizeOf(answer) > limit {
		answer.Ticket = nil
		answer.Truncated = append(answer.Truncated, "ticket")
	}
	if size := sizeOf(answer); size > limit {
		room := limit - size + sizeOf(answer.Slots) - len(`,"slots"`)
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
