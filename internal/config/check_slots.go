package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of slots and runs. All components of a run are probed at once.
const (
	MaxSlots     = 1000
	MaxFallbacks = 15 // of a slot
	MaxRuns      = 1000
	MaxRunSlots  = 100 // of a run
)

func (c *checker) slots(written *document, components []registry.Component) []registry.Slot {
	if len(written.Slots) > MaxSlots {
		c.complain("slots", fmt.Sprintf("there are more than %d slots", MaxSlots), "Split them over several files.")
		return nil
	}
	f := filler{checker: c, names: slices.Sorted(maps.Keys(written.Components)), kinds: map[string]registry.Kind{}}
	for _, each := range components {
		if each.Spec != nil {
			f.kinds[each.Name] = each.Kind()
		}
	}
	var slots []registry.Slot
	for _, name := range inOrder(c, "slots", written.Slots) {
		slots = append(slots, f.slot(name, written.Slots[name]))
	}
	return slots
}

// filler checks what fills slots.
type filler struct {
	*checker

	names []string                 // of all components of the file, sorted
	kinds map[string]registry.Kind // of those whose kind is known
}

func (f *filler) slot(name string, written slot) registry.Slot {
	p := path("slots").child(name)
	unread := f.broken[p]
	f.named(p, name)
	made := registry.Slot{
		Name: name, Primary: written.Primary, Fallbacks: written.Fallbacks,
		RequireTools: f.texts(p.child("require_tools"), written.RequireTools),
		MinVersion:   f.text(p.child("min_version"), written.MinVersion),
		MaxAge:       f.duration(p.child("max_age"), written.MaxAge, minInterval, maxTTL),
	}
	if unread {
		return made
	}
	if made.MinVersion != "" && !registry.IsVersion(made.MinVersion) && !f.broken[p.child("min_version")] {
		f.complain(p.child("min_version"), "this is not a version", `Write numbers joined by dots in quotes, such as "7.80".`)
	}
	f.required(p, "primary")
	if len(made.Fallbacks) > MaxFallbacks {
		f.complain(p.child("fallbacks"), fmt.Sprintf("there are more than %d fallbacks", MaxFallbacks), "Keep those that are most likely to hold.")
		return made
	}
	f.fill(p, made)
	return made
}

// fill refuses a component that is not there, that stands in the slot already, or
// that is of another kind than those before it.
func (f *filler) fill(p path, made registry.Slot) {
	seen, kindOf := map[string]bool{}, registry.Kind("")
	for i, component := range made.Components() {
		at := p.child("primary")
		if i > 0 {
			at = p.child("fallbacks").child(strconv.Itoa(i - 1))
		}
		if !f.has(at) || f.broken[at] {
			continue
		}
		kind := f.kinds[component]
		switch {
		case !f.refers(f.places[at].value, at, "component", component, f.names):
		case seen[component]:
			f.complain(at, "the slot names "+component+" a second time", "Keep the first.")
		case kind != "" && kindOf != "" && kind != kindOf:
			f.complain(at, fmt.Sprintf("%s is of the kind %s, and what stands before it is of the kind %s", component, kind, kindOf),
				"Name components of one kind.")
		case kindOf == "":
			kindOf = kind
		}
		seen[component] = true
	}
	f.demands(p, kindOf)
}

// demands refuses those that no component of the slot's kind can meet.
func (f *filler) demands(p path, of registry.Kind) {
	if _, known := f.decoder.kinds.of(string(of)); !known || of.HasTools() {
		return
	}
	for _, each := range []struct{ key, what string }{{"require_tools", "tools"}, {"min_version", "version of a server"}} {
		if f.has(p.child(each.key)) {
			f.complainOfKey(p.child(each.key), fmt.Sprintf("a component of the kind %s has no %s", of, each.what), "Leave it out.")
		}
	}
}

// refers reports whether one of the names is there, which are sorted; where is the
// place of the one that is looked for.
func (c *checker) refers(where position, p path, what, name string, names []string) bool {
	if _, found := slices.BinarySearch(names, name); found {
		return true
	}
	message, hint := "there is no such "+what, "Declare it, or name one that is declared."
	if registry.IsName(name) {
		message = fmt.Sprintf("there is no %s %q", what, name)
	}
	if len(c.problems) < MaxProblems { // the search takes time in the product of what is wrong and what is there
		if near := registry.Nearest(name, names); near != "" {
			hint = "Did you mean " + near + "?"
		}
	}
	c.add(where, p, message, hint)
	return false
}

func (c *checker) runs(written *document) []registry.Run {
	if len(written.Runs) > MaxRuns {
		c.complain("runs", fmt.Sprintf("there are more than %d runs", MaxRuns), "Split them over several files.")
		return nil
	}
	slots := slices.Sorted(maps.Keys(written.Slots))
	var runs []registry.Run
	for _, name := range inOrder(c, "runs", written.Runs) {
		runs = append(runs, c.run(name, written.Runs[name], slots))
	}
	return runs
}

// run checks a run; the names of all slots are sorted.
func (c *checker) run(name string, written run, slots []string) registry.Run {
	p := path("runs").child(name)
	made, below := registry.Run{Name: name}, p.child("slots")
	unread := c.broken[p] || c.broken[below]
	c.named(p, name)
	switch {
	case unread:
		return made
	case len(written.Slots) == 0:
		c.complainOfKey(p, "the run names no slot", "Add slots: {NAME: required}.")
	case len(written.Slots) > MaxRunSlots:
		c.complain(below, fmt.Sprintf("the run has more than %d slots", MaxRunSlots), "Split it into several runs.")
		return made
	}
	for _, slot := range inOrder(c, below, written.Slots) {
		at := below.child(slot)
		need := written.Slots[slot]
		if !c.broken[at] && need != "" && need != slotRequired && need != slotOptional {
			c.complain(at, "this is neither required nor optional", "Write optional when the run can start without the slot, else required.")
		}
		c.refers(c.places[at].key, at, "slot", slot, slots)
		made.Slots = append(made.Slots, registry.RunSlot{Slot: slot, Required: need != slotOptional})
	}
	return made
}

// What a run says of a slot; nothing means required.
const (
	slotRequired = need("required")
	slotOptional = need("optional")
)
