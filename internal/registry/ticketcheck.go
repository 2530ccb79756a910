package registry

import (
	"cmp"
	"fmt"
	"slices"
)

// In finds what the ticket speaks of among what is registered now. A reason says
// why the component can no longer fill the slot; then both are nil.
func (t TicketSlot) In(registered *Registered) (*Slot, *Component, string) {
	slot, component := registered.Slot(t.Slot), registered.Component(t.Component)
	switch {
	case slot == nil:
		return nil, nil, fmt.Sprintf("there is no slot %q any more", t.Slot)
	case component == nil:
		return nil, nil, fmt.Sprintf("there is no component %q any more", t.Component)
	case !slices.Contains(slot.Components(), t.Component):
		return nil, nil, fmt.Sprintf("%s does not fill the slot any more", t.Component)
	case component.Kind() != t.Kind:
		return nil, nil, fmt.Sprintf("%s is of the kind %s now", t.Component, component.Kind())
	}
	return slot, component, ""
}

// Gone is the check of a slot that nothing can be probed for, and why.
func (t TicketSlot) Gone(reason string) TicketCheck {
	return TicketCheck{Slot: t.Slot, Component: t.Component, Causes: []Cause{}, Reason: reason}
}

// Compare holds what a ticket says of a slot against an attempt made now: it
// passed, and nothing is other than it was. What a failed probe did not come to
// see is not called changed.
func (t TicketSlot) Compare(now Attempt) TicketCheck {
	check := TicketCheck{
		Slot: t.Slot, Component: t.Component, Causes: append([]Cause{}, now.Causes...),
		Reason: now.Reason, ResultID: now.ResultID,
	}
	is := cmp.Or(now.pins, &pins{})
	for _, pin := range []struct{ name, was, is string }{
		{"tools_digest", t.ToolsDigest, is.tools},
		{"image_digest", t.ImageDigest, is.image},
		{"content_version", t.ContentVersion, is.content},
	} {
		if pin.is != pin.was && (pin.is != "" || now.Passed) {
			check.Changed = append(check.Changed, pin.name)
		}
	}
	if slices.Contains(check.Changed, "tools_digest") && !slices.Contains(check.Causes, ToolsChanged) {
		check.Causes = append(check.Causes, ToolsChanged)
	}
	check.OK = now.Passed && now.Component == t.Component && len(check.Changed) == 0
	return check
}

// NewTicketReport says whether a ticket holds whose signature is good: there is a
// check of each of its slots, and each is ok.
func NewTicketReport(ticket *Ticket, checks []TicketCheck) TicketReport {
	report := TicketReport{Run: ticket.Run, IssuedAt: ticket.IssuedAt, Slots: append([]TicketCheck{}, checks...), Holds: len(checks) == len(ticket.Slots)}
	for i := range checks {
		report.Holds = report.Holds && checks[i].OK && checks[i].Slot == ticket.Slots[i].Slot
	}
	return report
}
