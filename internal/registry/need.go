package registry

import "slices"

// Need orders components that press alike by what runs want of them, going by their
// statuses; the least comes first.
type Need int

// The needs.
const (
	NeedRefuses  Need = iota // nothing that a run requires it for, or in its place, is healthy
	NeedFallback             // a run starts with a fallback in its place
	NeedSlot                 // a slot names it
	NeedNone
)

// Needs returns every need, the most pressing first.
func Needs() []Need { return []Need{NeedRefuses, NeedFallback, NeedSlot, NeedNone} }

// Wanted is what a run wants of a component that is not healthy.
type Wanted struct {
	Need Need
	Slot string // that it is named by; empty with NeedNone
	Run  string // the first one that Need is of; empty with NeedSlot and NeedNone
}

// Wants tells what runs want of the components that cannot fill a slot going by their
// statuses, where that is more than nothing. A preflight does not go by the statuses: it
// probes, and judges.
func (r *Registered) Wants(canFill func(name string) bool) map[string]Wanted {
	wants := map[string]Wanted{}
	runs := r.wantingRuns()
	for i := range r.Slots {
		slot := &r.Slots[i]
		anyFills := slices.ContainsFunc(slot.Components(), canFill)
		by := runs[slot.Name]
		for _, name := range slot.Components() {
			if canFill(name) {
				continue
			}
			wanted := Wanted{Need: NeedSlot, Slot: slot.Name}
			switch {
			case !anyFills && by.requires != "":
				wanted.Need, wanted.Run = NeedRefuses, by.requires
			case anyFills && name == slot.Primary && by.has != "":
				wanted.Need, wanted.Run = NeedFallback, by.has
			}
			if before, is := wants[name]; !is || wanted.Need < before.Need {
				wants[name] = wanted
			}
		}
	}
	return wants
}

// wantingRun is the first run that has a slot, and the first that requires it; either
// may be empty.
type wantingRun struct{ has, requires string }

// wantingRuns returns them by slots.
func (r *Registered) wantingRuns() map[string]wantingRun {
	runs := make(map[string]wantingRun, len(r.Slots))
	for i := range r.Runs {
		for _, each := range r.Runs[i].Slots {
			by := runs[each.Slot]
			if by.has == "" {
				by.has = r.Runs[i].Name
			}
			if by.requires == "" && each.Required {
				by.requires = r.Runs[i].Name
			}
			runs[each.Slot] = by
		}
	}
	return runs
}
