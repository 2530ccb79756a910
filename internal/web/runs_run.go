package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// runView is the page of one run.
type runView struct {
	Run        string
	Outcome    outcome // of the newest preflight
	Why        string
	When       moment
	Slots      []slotView
	Preflights []preflightView // the newest first
	Shown      int             // at most so many preflights are shown
	Command    string          // that asks for a preflight
}

// pin is what a ticket holds against the present.
type pin struct{ Name, Value string }

// Short is the beginning of the pin, to be compared at a glance.
func (p pin) Short() string {
	return cutText(strings.TrimPrefix(p.Value, "sha256:"), shortDigest)
}

// Pins are what a ticket holds against the present of the component of a slot.
func (runView) Pins(slot registry.TicketSlot) []pin {
	var pins []pin
	for _, each := range []pin{{"tools", slot.ToolsDigest}, {"image", slot.ImageDigest}, {"content", slot.ContentVersion}} {
		if each.Value != "" {
			pins = append(pins, each)
		}
	}
	return pins
}

// slotView is a slot of the run as it is now.
type slotView struct {
	Slot     string
	Required bool
	Filler   string // the component that fills it, going by the statuses; empty for none
	Fallback bool   // that is not the primary
	Demands  string // what the slot demands of a component beside a pass, in words
	Fillers  []fillerView
}

// Lamp is how the slot looks.
func (s slotView) Lamp() string {
	switch {
	case s.Filler == "" && s.Required:
		return lampOf("refused")
	case s.Filler == "" || s.Fallback:
		return lampOf("allowed_on_fallback")
	}
	return lampOf("allowed")
}

// fillerView is a component that may fill a slot.
type fillerView struct {
	registry.Reading

	Role   string   // the primary, or which fallback
	Age    string   // of its newest result, in words; empty when there is none
	Causes []string // in sentences
	Marks  []string
	Fills  bool // it fills the slot, going by the statuses
}

// preflightView is a preflight that was kept.
type preflightView struct {
	ID      string // on the page
	When    moment
	Outcome outcome
	Why     string
	Slots   []slotFound
	Ticket  *registry.Ticket // nil for one that was refused
	Issued  moment
	JSON    string // of the ticket
}

// slotFound is what a preflight found of a slot.
type slotFound struct {
	registry.SlotResult

	Attempts []attemptView
}

// Lamp is how the slot looks.
func (s slotFound) Lamp() string {
	return slotView{Required: s.Required, Filler: s.Component, Fallback: s.Fallback}.Lamp()
}

// attemptView is what a preflight found of a component.
type attemptView struct {
	registry.Attempt

	Causes []string // in sentences
}

// Marks are the words beside an attempt that ask for attention.
func (a attemptView) Marks() []string {
	var marks []string
	for _, each := range []struct {
		is   bool
		mark string
	}{{a.Degraded, "degraded"}, {a.Drifting != "", "tools changed"}, {a.Trusted, "tools accepted at first sight"}, {a.Reused, "not probed anew"}} {
		if each.is {
			marks = append(marks, each.mark)
		}
	}
	return marks
}

// showRun shows one run.
func (s *site) showRun(r *http.Request) (frame, error) {
	name := r.PathValue("name")
	told, err := s.Runs.RunView(r.Context(), name)
	if err != nil {
		return frame{}, fmt.Errorf("read run %s: %w", name, err)
	}
	view, topics := runView{Run: told.Run, Shown: registry.ShownPreflights, Command: "countersign preflight " + told.Run}, []string{topicRuns + ":" + told.Run}
	for i := range told.Slots {
		view.Slots = append(view.Slots, viewSlot(&told.Slots[i]))
		for _, reading := range told.Slots[i].Components {
			topics = append(topics, topicComponents+":"+reading.Name)
		}
	}
	for i := range told.Preflights {
		preflight, err := s.viewPreflight(&told.Preflights[i])
		if err != nil {
			return frame{}, fmt.Errorf("read run %s: %w", name, err)
		}
		if i > 0 && preflight.When == view.Preflights[i-1].When {
			preflight.ID = view.Preflights[i-1].ID + "-too" // Two of one moment.
		}
		view.Preflights = append(view.Preflights, preflight)
	}
	view.Outcome = neverChecked()
	if len(view.Preflights) > 0 {
		last := view.Preflights[0]
		view.Outcome, view.Why, view.When = last.Outcome, last.Why, last.When
	}
	return frame{Title: told.Run, Topics: topics, Content: view}, nil
}

// viewSlot says who fills a slot, going by the statuses. A preflight does not: it
// probes anew, and judges the results.
func viewSlot(told *registry.RunSlotView) slotView {
	slot := slotView{Slot: told.Slot, Required: told.Required, Demands: demandsOf(&told.SlotView)}
	for i, reading := range told.Components {
		filler := fillerView{Reading: reading, Role: roleOf(i, len(told.Components)), Causes: sentencesOf(reading.Causes), Marks: marksOf(reading)}
		if reading.AgeMs != nil {
			filler.Age = inWords(milliseconds(*reading.AgeMs))
		}
		if slot.Filler == "" && reading.Status == registry.Available && reading.Drifting != registry.DriftBlocks {
			slot.Filler, slot.Fallback, filler.Fills = reading.Name, reading.Name != told.Primary, true
		}
		slot.Fillers = append(slot.Fillers, filler)
	}
	return slot
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// roleOf is what the component at a place of a slot is to it.
func roleOf(place, all int) string {
	switch {
	case place == 0:
		return "primary"
	case all == 2:
		return "fallback"
	}
	return fmt.Sprintf("fallback %d", place)
}

// demandsOf says what a slot demands.
func demandsOf(slot *registry.SlotView) string {
	demands := []string{"a pass"}
	if len(slot.RequireTools) > 0 {
		demands = append(demands, "the tools "+strings.Join(slot.RequireTools, ", "))
	}
	if slot.MinVersion != "" {
		demands = append(demands, "version "+slot.MinVersion+" or newer")
	}
	if slot.MaxAgeMs > 0 {
		demands = append(demands, "probed within the last "+inWords(milliseconds(slot.MaxAgeMs)))
	} else {
		demands = append(demands, "probed at the preflight")
	}
	return strings.Join(demands, "; ")
}

// viewPreflight lays a kept preflight out.
func (s *site) viewPreflight(kept *registry.KeptPreflight) (preflightView, error) {
	summary := kept.Summary()
	view := preflightView{
		ID: fmt.Sprintf("preflight-%d", kept.At.UnixMilli()), When: s.at(kept.At),
		Outcome: outcomeOf(summary), Why: whyOf(summary), Ticket: kept.Preflight.Ticket,
	}
	for _, result := range kept.Preflight.Slots {
		found := slotFound{SlotResult: result}
		for _, attempt := range result.Attempts {
			found.Attempts = append(found.Attempts, attemptView{Attempt: attempt, Causes: sentencesOf(attempt.Causes)})
		}
		view.Slots = append(view.Slots, found)
	}
	if view.Ticket == nil {
		return view, nil
	}
	document, err := json.MarshalIndent(view.Ticket, "", "  ")
	if err != nil {
		return preflightView{}, fmt.Errorf("write a ticket as JSON: %w", err)
	}
	view.JSON, view.Issued = string(document), s.parsed(view.Ticket.IssuedAt)
	return view, nil
}
