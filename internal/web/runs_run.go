package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// runView is the page of one run.
type runView struct {
	Run          string
	Unregistered bool    // it is no longer registered
	Outcome      outcome // of the newest preflight
	Why          string
	When         moment
	Slots        []slotView
	MoreSlots    int             // that are not shown
	Preflights   []preflightView // one page of them, the newest first
	Pager        pager
	Command      string // that asks for a preflight
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
			each.Value = shortReason(each.Value)
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

	MoreFillers int // that are not shown
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
	Probed moment   // when the probe of its newest result began
	Causes []string // in sentences
	Marks  []string
	Fills  bool // it fills the slot, going by the statuses
}

// Lamp is how its status looks: one that no preflight takes is not green.
func (f fillerView) Lamp() string { return lampFor(f.Reading) }

// preflightView is a preflight that was kept.
type preflightView struct {
	ID      string // on the page
	When    moment
	Outcome outcome
	Why     string
	Slots   []slotFound
	Ticket  *registry.Ticket // nil for one that was refused
	Issued  moment
	JSON    string // of the ticket; empty where there is no room for it

	MoreSlots       int // that are not shown
	TicketSlots     []registry.TicketSlot
	MoreTicketSlots int // that are not shown
}

// slotFound is what a preflight found of a slot.
type slotFound struct {
	registry.SlotResult

	Attempts     []attemptView
	MoreAttempts int // that are not shown
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
	view := runView{
		Run: told.Run, Unregistered: told.Unregistered, Outcome: neverChecked(), Command: "countersign preflight " + told.Run,
	}
	if len(told.Preflights) > 0 {
		newest := told.Preflights[0]
		made := newest.Summary()
		view.Outcome, view.Why, view.When = outcomeOf(made), whyOf(made), s.at(newest.At)
	}
	for i := range told.Slots {
		view.Slots = append(view.Slots, s.viewSlot(&told.Slots[i]))
	}
	view.Slots, view.MoreSlots = atMost(view.Slots, slotsShown, func(slot slotView) int { return urgencyOf(slot.Lamp()) })
	if err := s.addPreflights(r, &view); err != nil {
		return frame{}, err
	}
	return frame{Title: told.Run, Topics: topicsOf(&told), Content: view}, nil
}

// addPreflights adds one page of the preflights. Faults: NotFound, InvalidArgument,
// Unavailable.
func (s *site) addPreflights(r *http.Request, view *runView) error {
	page, err := s.Runs.Preflights(r.Context(), view.Run, registry.PageQuery{Limit: preflightsShown, Cursor: r.URL.Query().Get(paramCursor)})
	if err != nil {
		return fmt.Errorf("list the preflights: %w", err)
	}
	view.Pager = pagerOf(r, page.NextCursor).at("preflights")
	room := ticketsShown
	for i := range page.Preflights {
		most := olderFound
		if i == 0 {
			most = newestFound
		}
		preflight, err := s.viewPreflight(&page.Preflights[i], most)
		if err != nil {
			return fmt.Errorf("read the preflights of %s: %w", view.Run, err)
		}
		if len(preflight.JSON) > room {
			preflight.JSON = ""
		}
		room -= len(preflight.JSON)
		if i > 0 && preflight.When == view.Preflights[i-1].When {
			preflight.ID = view.Preflights[i-1].ID + "-too" // Two of one moment.
		}
		view.Preflights = append(view.Preflights, preflight)
	}
	return nil
}

// topicsOf are the run and the components that may fill its slots.
func topicsOf(told *registry.RunView) []string {
	topics := []string{topicRuns + ":" + told.Run}
	for i := range told.Slots {
		for _, reading := range told.Slots[i].Components {
			topic := topicComponents + ":" + reading.Name
			if slices.Contains(topics, topic) {
				continue
			}
			if len(topics) > topicsShown {
				return []string{topics[0], topicComponents}
			}
			topics = append(topics, topic)
		}
	}
	return topics
}

// urgencyOf ranks what a person must see first by how it looks.
func urgencyOf(lamp string) int {
	return placeOf([]string{lampOf("refused"), lampOf("allowed_on_fallback")}, lamp)
}

// viewSlot says who fills a slot, going by the statuses.
func (s *site) viewSlot(told *registry.RunSlotView) slotView {
	slot := slotView{
		Slot: told.Slot, Required: told.Required, Demands: demandsOf(&told.SlotView),
		Filler: told.Fills, Fallback: told.Fills != "" && told.Fills != told.Primary,
	}
	for i, reading := range told.Components {
		reading.Reason = shortReason(reading.Reason)
		filler := fillerView{Reading: reading, Role: roleOf(i, len(told.Components)), Causes: sentencesOf(reading.Causes), Marks: reading.Marks(), Probed: s.probed(reading)}
		filler.Fills = reading.Name == told.Fills
		slot.Fillers = append(slot.Fillers, filler)
	}
	slot.Fillers, slot.MoreFillers = atMost(slot.Fillers, fillersShown, func(one fillerView) int { return lastUnless(one.Fills) })
	return slot
}

// lastUnless ranks what is shown in any case before all else.
func lastUnless(always bool) int {
	if always {
		return 0
	}
	return 1
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
	demands := []string{"a fresh probe that passes"}
	if slot.MaxAgeMs > 0 {
		demands = []string{"a probe that passed within the last " + words.Age(milliseconds(slot.MaxAgeMs))}
	}
	switch len(slot.RequireTools) {
	case 0:
	case 1:
		demands = append(demands, "tool "+slot.RequireTools[0])
	default:
		demands = append(demands, "tools "+someOf(slot.RequireTools))
	}
	if slot.MinVersion != "" {
		demands = append(demands, "version "+slot.MinVersion+" or newer")
	}
	return strings.Join(demands, "; ")
}

// viewPreflight lays a kept preflight out, with the most pressing of its slots.
func (s *site) viewPreflight(kept *registry.KeptPreflight, most int) (preflightView, error) {
	summary := kept.Summary()
	view := preflightView{
		ID: fmt.Sprintf("preflight-%d", kept.At.UnixMilli()), When: s.at(kept.At),
		Outcome: outcomeOf(summary), Why: whyOf(summary), Ticket: kept.Preflight.Ticket,
	}
	for _, result := range kept.Preflight.Slots {
		found := slotFound{SlotResult: result}
		for _, attempt := range result.Attempts {
			attempt.Reason = shortReason(attempt.Reason)
			found.Attempts = append(found.Attempts, attemptView{Attempt: attempt, Causes: sentencesOf(attempt.Causes)})
		}
		found.Attempts, found.MoreAttempts = atMost(found.Attempts, attemptsShown, func(one attemptView) int { return lastUnless(one.Component == result.Component) })
		view.Slots = append(view.Slots, found)
	}
	view.Slots, view.MoreSlots = atMost(view.Slots, most, func(slot slotFound) int { return urgencyOf(slot.Lamp()) })
	if view.Ticket == nil {
		return view, nil
	}
	view.TicketSlots = view.Ticket.Slots[:min(len(view.Ticket.Slots), most)]
	view.MoreTicketSlots = len(view.Ticket.Slots) - len(view.TicketSlots)
	document, err := json.MarshalIndent(view.Ticket, "", "  ")
	if err != nil {
		return preflightView{}, fmt.Errorf("write a ticket as JSON: %w", err)
	}
	view.JSON, view.Issued = string(document), s.parsed(view.Ticket.IssuedAt)
	return view, nil
}
