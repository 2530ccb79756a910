package examiner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// present is what is registered at one moment, and never changes.
type present struct {
	whole   *registry.Registered
	entries map[string]*entry // by name
	names   []string          // sorted
	slots   []string          // the names of all slots, sorted
	runs    []string          // those of all runs, sorted

	slotOf map[string]*registry.Slot // by name
	runOf  map[string]*registry.Run  // by name
	demand *registry.Demand          // by the places of names
}

// entry is one registered component.
type entry struct {
	component    *registry.Component
	registration registry.Registration
	slots        []string // that it may fill, in their order
}

// Use makes a set the registered one: it is made known to the store, and from
// then on every call is about it, and no probe of what was redefined begins. One
// that is under way is finished for those who wait for it; its result is recorded
// as that of the former definition. Fault: Unavailable when the store cannot be
// reached; then the set before goes on counting.
func (e *Examiner) Use(ctx context.Context, registered *registry.Registered) error {
	next, err := presentOf(registered)
	if err != nil {
		return err
	}
	registrations := make([]registry.Registration, 0, len(next.names))
	for _, name := range next.names {
		registrations = append(registrations, next.entries[name].registration)
	}
	e.changes.Lock()
	defer e.changes.Unlock()
	// A result older than the registration is of what the component was before, so
	// no probe that has begun may share its millisecond.
	at := e.now().Add(time.Millisecond)
	if err := e.Store.Register(ctx, at, registrations); err != nil {
		return refused(err, "the components cannot be registered in the database")
	}
	e.present.Store(next)
	return nil
}

// Look makes a set the registered one for who only reads: unlike Use it leaves the
// store as it is. Of what the store has another definition of, or none, a reading
// says so.
func (e *Examiner) Look(registered *registry.Registered) error {
	next, err := presentOf(registered)
	if err != nil {
		return err
	}
	e.changes.Lock()
	defer e.changes.Unlock()
	e.present.Store(next)
	return nil
}

// presentOf is a set with its names in order.
func presentOf(registered *registry.Registered) (*present, error) {
	made := &present{whole: registered, entries: make(map[string]*entry, len(registered.Components))}
	for i := range registered.Components {
		component := &registered.Components[i]
		registration, err := component.Registration()
		if err != nil {
			return nil, err
		}
		made.entries[component.Name] = &entry{component: component, registration: registration}
		made.names = append(made.names, component.Name)
	}
	made.order()
	return made, nil
}

// order puts names in order, and tells components of their slots.
func (p *present) order() {
	p.slotOf, p.runOf = map[string]*registry.Slot{}, map[string]*registry.Run{}
	for i := range p.whole.Slots {
		slot := &p.whole.Slots[i]
		p.slotOf[slot.Name] = slot
		for _, name := range slot.Components() {
			if one, ok := p.entries[name]; ok {
				one.slots = append(one.slots, slot.Name)
			}
		}
	}
	for i := range p.whole.Runs {
		p.runOf[p.whole.Runs[i].Name] = &p.whole.Runs[i]
	}
	slices.Sort(p.names)
	p.demand = p.whole.Demand(p.names)
	p.slots, p.runs = slices.Sorted(maps.Keys(p.slotOf)), slices.Sorted(maps.Keys(p.runOf))
}

// Registered is the set that counts. It is not to be changed.
func (e *Examiner) Registered() *registry.Registered { return e.present.Load().whole }

// errRedefined says that a component was redefined, or is no longer registered,
// before a probe of it began.
var errRedefined = errors.New("the component has been redefined")

// maxRedefined is how often a call begins anew because what it is about has been
// redefined.
const maxRedefined = 3

// aboutPresent makes a call about the registered set, and makes it again when that
// was replaced before the call could get hold of it.
func aboutPresent[T any](e *Examiner, call func(*present) (T, error)) (T, error) {
	for range maxRedefined {
		answer, err := call(e.present.Load())
		if !errors.Is(err, errRedefined) {
			return answer, err
		}
	}
	var none T
	return none, fault.New(fault.Unavailable, "the configuration is replaced over and over, so nothing could be probed").
		WithHint("Try again when it has come to rest.")
}

// begin returns when a probe begins, unless the component was redefined.
func (e *Examiner) begin(one *entry) (time.Time, error) {
	e.changes.RLock()
	defer e.changes.RUnlock()
	now, ok := e.present.Load().entries[one.component.Name]
	if !ok || now.registration != one.registration {
		return time.Time{}, errRedefined
	}
	return e.now(), nil
}

// entry returns the component of a name. Fault: NotFound.
func (p *present) entry(name string) (*entry, error) {
	if one, ok := p.entries[name]; ok {
		return one, nil
	}
	return nil, unknown("component", name, p.names)
}

// unknown is the fault of a name that nothing has, with the nearest that something
// has.
func unknown(what, name string, known []string) error {
	none := fault.New(fault.NotFound, "there is no %s %q", what, registry.Shorten(name, registry.MaxName))
	if len(known) == 0 {
		return none.WithHint("The configuration names no %s; add it there.", what)
	}
	if nearest := registry.Nearest(name, known); nearest != "" {
		return none.WithHint("Is it %s that is meant?", nearest)
	}
	return none.WithHint("The configuration names %s, for example.", known[0])
}

// refused says what came of it that the store refused something. A fault of its
// own stays what it is; an error that is none is a defect.
func refused(err error, what string) error {
	why, is := fault.Of(err)
	switch {
	case !is:
		return fmt.Errorf("%s: %w", what, err)
	case why.Code != fault.Unavailable:
		return err
	}
	return fault.New(fault.Unavailable, "%s: %s", what, why.Message).WithHint("%s", why.Hint).WithCause(err)
}
