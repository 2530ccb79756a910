package registry

import "slices"

// Need orders components by what runs want of them, going by their statuses; the least
// comes first.
type Need int

// The needs.
const (
	NeedRefuses  Need = iota // a run requires a slot, and nothing that the slot names fits
	NeedFallback             // a run has a slot whose primary it is, and can but start on a fallback
	NeedSlot                 // a slot names it
	NeedNone
)

// Needs returns every need, the most pressing first.
func Needs() []Need { return []Need{NeedRefuses, NeedFallback, NeedSlot, NeedNone} }

// Wanted is what a run wants of a component that is not healthy.
type Wanted struct {
	Need Need
	Run  string // the first one that Need is of; empty with NeedSlot
}

// Wants tells what runs want of the components that are not known to fit, where that is
// more than nothing.
func (r *Registered) Wants(fit func(name string) Fit) map[string]Wanted {
	wants, runs := map[string]Wanted{}, r.wantingRuns()
	for i := range r.Slots {
		slot := &r.Slots[i]
		names, by := slot.Components(), runs[r.Slots[i].Name]
		nothingFits := !slices.ContainsFunc(names, func(name string) bool { return fit(name) != FitsNot })
		for _, name := range names {
			wanted := Wanted{Need: NeedSlot}
			switch fits := fit(name); {
			case fits == Fits:
				continue
			case nothingFits && by.requires != "":
				wanted = Wanted{NeedRefuses, by.requires}
			case fits == FitsNot && !nothingFits && name == slot.Primary && by.has != "":
				wanted = Wanted{NeedFallback, by.has}
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
