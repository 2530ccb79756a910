package examiner

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Preflight says whether a run may start. It probes every component of every slot
// of the run now, all at once, and judges the fresh results; a stored one counts
// only within the maximum age that every slot of the component in the run states,
// and only when it is a pass of the component as it is now. Simultaneous
// preflights share probes. What it rests on is recorded before it answers, and so
// is the answer.
//
// That a run may not start is an answer. Faults: NotFound for an unknown run,
// Unavailable when ctx ends before, when the database cannot be written, and when
// the run may start but the key that signs the ticket cannot be had: a start that
// no ticket shows cannot be held against the present later.
func (e *Examiner) Preflight(ctx context.Context, run string) (registry.Preflight, error) {
	return aboutPresent(e, func(present *present) (registry.Preflight, error) {
		asked := present.whole.Run(run)
		if asked == nil {
			return registry.Preflight{}, unknown("run", run, runNames(present.whole))
		}
		slots, err := present.slotsOf(asked)
		if err != nil {
			return registry.Preflight{}, err
		}
		found, err := e.prove(ctx, present, namesIn(slots), reuse(e, slots))
		if err != nil {
			return registry.Preflight{}, err
		}
		return e.concluded(ctx, present, asked, judged(present, asked, slots, found))
	})
}

// Runs are the names of the runs that may be asked for.
func (e *Examiner) Runs(context.Context) ([]string, error) { return runNames(e.Registered()), nil }

func runNames(whole *registry.Registered) []string {
	var names []string
	for _, run := range whole.Runs {
		names = append(names, run.Name)
	}
	return names
}

// judged fills the slots of a run.
func judged(present *present, run *registry.Run, slots []*registry.Slot, found map[string]registry.Probed) []registry.SlotResult {
	results := make([]registry.SlotResult, 0, len(slots))
	for i, slot := range slots {
		var attempts []registry.Attempt
		for _, name := range slot.Components() {
			attempts = append(attempts, slot.Judge(present.entries[name].component, found[name]))
		}
		results = append(results, slot.Fill(run.Slots[i].Required, attempts))
	}
	return results
}

// verdictKey is what a preflight rests on.
type verdictKey struct {
	present *present
	run     string
	results string // the id of each attempt, and whether it passed
}

// concluded signs, records and announces the verdict. Preflights of one run that
// rest on the same results at the same time are one, with one ticket.
func (e *Examiner) concluded(ctx context.Context, present *present, run *registry.Run, slots []registry.SlotResult) (registry.Preflight, error) {
	var rests strings.Builder
	for i := range slots {
		for _, attempt := range slots[i].Attempts {
			fmt.Fprintf(&rests, "%s %t ", attempt.ResultID, attempt.Passed)
		}
	}
	made, err := e.verdicts.do(ctx, verdictKey{present, run.Name, rests.String()},
		func() *registry.Preflight { return &registry.Preflight{} }, func(*registry.Preflight) {},
		func(ctx context.Context, made *registry.Preflight, _ func()) error {
			*made = registry.NewPreflight(run, slots)
			return e.conclude(ctx, present, made)
		})
	switch {
	case errors.Is(err, errLeft):
		return registry.Preflight{}, leaving(ctx, "the preflight was not recorded")
	case err != nil:
		return registry.Preflight{}, err
	}
	return *made, nil
}

func (e *Examiner) conclude(ctx context.Context, present *present, made *registry.Preflight) error {
	at := e.now()
	if made.Allowed {
		key, err := e.key()
		if err != nil {
			return err
		}
		if made.Ticket, err = registry.NewTicket(made, present.whole.Component, at, key); err != nil {
			return fmt.Errorf("sign the ticket of run %s: %w", made.Run, err)
		}
	}
	if err := e.Store.KeepPreflight(ctx, at, made); err != nil {
		return refused(err, "the preflight cannot be recorded, so it does not count")
	}
	e.announce(ctx, made)
	return nil
}

// slotsOf returns the slots of a run, in its order.
func (p *present) slotsOf(run *registry.Run) ([]*registry.Slot, error) {
	slots := make([]*registry.Slot, 0, len(run.Slots))
	for _, named := range run.Slots {
		slot, ok := p.slotOf[named.Slot]
		if !ok {
			return nil, fmt.Errorf("run %s names the slot %s, which is not registered", run.Name, named.Slot)
		}
		slots = append(slots, slot)
	}
	return slots, nil
}

// namesIn returns the components of slots, each once.
func namesIn(slots []*registry.Slot) []string {
	var names []string
	seen := map[string]bool{}
	for _, slot := range slots {
		for _, name := range slot.Components() {
			if !seen[name] {
				names = append(names, name)
			}
			seen[name] = true
		}
	}
	return names
}

// reuse says of which components the newest result will do: of those whose slots
// all reuse it. It is nil when no slot reuses anything.
func reuse(e *Examiner, slots []*registry.Slot) func(string, registry.Seen) bool {
	if !slices.ContainsFunc(slots, func(slot *registry.Slot) bool { return slot.MaxAge > 0 }) {
		return nil
	}
	return func(name string, last registry.Seen) bool {
		now := e.now()
		return !slices.ContainsFunc(slots, func(slot *registry.Slot) bool {
			return slices.Contains(slot.Components(), name) && !slot.Reuses(last, now)
		})
	}
}

// key has the key that signs tickets. Fault: Unavailable.
func (e *Examiner) key() (ed25519.PrivateKey, error) {
	key, err := e.Key()
	if err == nil && len(key) != ed25519.PrivateKeySize {
		err = errors.New("it is no Ed25519 key")
	}
	if err == nil {
		return key, nil
	}
	refusal := fault.New(fault.Unavailable, "the key that signs tickets cannot be had: %v", err).
		WithHint("See to the file signing.key in the folder of the configuration.")
	if why, is := fault.Of(err); is {
		refusal = fault.New(fault.Unavailable, "the key that signs tickets cannot be had: %s", why.Message).WithHint("%s", why.Hint)
	}
	return nil, refusal.WithCause(err)
}

// announce logs what a run must not start without: that it starts on a fallback,
// or without an optional slot, and that it does not start.
func (e *Examiner) announce(ctx context.Context, made *registry.Preflight) {
	log := e.Log.With("run", made.Run)
	for i := range made.Slots {
		slot := &made.Slots[i]
		reason := ""
		if len(slot.Attempts) > 0 {
			reason = slot.Attempts[0].Reason // of the primary
		}
		switch {
		case slot.OK && slot.Fallback:
			log.WarnContext(ctx, "a slot is filled by a fallback", "slot", slot.Slot, "component", slot.Component, "reason", reason)
		case !slot.OK:
			log.WarnContext(ctx, "a slot has nothing that holds", "slot", slot.Slot, "required", slot.Required, "reason", reason)
		}
	}
	log.InfoContext(ctx, "preflight", "allowed", made.Allowed)
}
