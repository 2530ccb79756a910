package examiner

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Check holds a ticket against the present: the key that signs here has signed it,
// the run still wants no more than it says, and each component of it, probed now,
// passes and is as it was. That it does not hold is an answer. Faults:
// InvalidArgument when the document is no ticket, Unavailable when ctx ends
// before, and when the database or the key cannot be had.
func (e *Examiner) Check(ctx context.Context, document []byte) (registry.TicketReport, error) {
	ticket, err := registry.ParseTicket(document)
	if err != nil {
		return registry.TicketReport{}, fault.New(fault.InvalidArgument, "%s", registry.Shorten(err.Error(), registry.MaxDetail)).
			WithCause(err).WithHint("Give the file that preflight --ticket wrote, as it is.")
	}
	key, err := e.key()
	if err != nil {
		return registry.TicketReport{}, err
	}
	refused := registry.TicketReport{Run: ticket.Run, Slots: []registry.TicketCheck{}}
	public, _ := key.Public().(ed25519.PublicKey)
	if !ticket.Signed(public) {
		refused.Reason = unsigned(ticket.KeyID, registry.KeyID(public))
		return refused, nil
	}
	refused.IssuedAt = ticket.IssuedAt
	return aboutPresent(e, func(present *present) (registry.TicketReport, error) {
		run := present.whole.Run(ticket.Run)
		if run == nil {
			refused.Reason = fmt.Sprintf("there is no run %q any more", ticket.Run)
			return refused, nil
		}
		return e.held(ctx, present, run, ticket)
	})
}

// unsigned says that a ticket, which names the key by, does not bear the signature
// of the key here.
func unsigned(by, here string) string {
	said := "its signature is not that of the key here, " + here
	if by == here {
		return said + ", which it names: it was changed"
	}
	return said + ": by its own account " + registry.Shorten(by, registry.MaxName) + " signed it"
}

// held probes what a signed ticket speaks of.
func (e *Examiner) held(ctx context.Context, present *present, run *registry.Run, ticket *registry.Ticket) (registry.TicketReport, error) {
	checks := make([]registry.TicketCheck, len(ticket.Slots))
	slots := make([]*registry.Slot, len(ticket.Slots)) // nil where there is nothing to probe
	var names []string
	for i, said := range ticket.Slots {
		slot, component, gone := said.In(present.whole)
		if gone == "" && !slices.ContainsFunc(run.Slots, func(of registry.RunSlot) bool { return of.Slot == said.Slot }) {
			gone = "the slot is no part of the run any more"
		}
		if gone != "" {
			checks[i] = said.Gone(gone)
			continue
		}
		slots[i] = slot
		if !slices.Contains(names, component.Name) {
			names = append(names, component.Name)
		}
	}
	found, err := e.prove(ctx, present, names, nil)
	if err != nil {
		return registry.TicketReport{}, err
	}
	for i, said := range ticket.Slots {
		if slots[i] != nil {
			checks[i] = said.Compare(slots[i].Judge(present.entries[said.Component].component, found[said.Component]))
		}
	}
	report := registry.NewTicketReport(ticket, checks)
	if missing := wantedNow(run, ticket); missing != "" {
		report.Holds, report.Reason = false, fmt.Sprintf("the run requires the slot %s now, which the ticket does not fill", missing)
	}
	return report, nil
}

// wantedNow is the first slot that a run requires and a ticket does not fill;
// empty when there is none.
func wantedNow(run *registry.Run, ticket *registry.Ticket) string {
	for _, slot := range run.Slots {
		fills := func(said registry.TicketSlot) bool { return said.Slot == slot.Slot }
		if slot.Required && !slices.ContainsFunc(ticket.Slots, fills) {
			return slot.Slot
		}
	}
	return ""
}
