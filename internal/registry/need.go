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
	Run  string // the first one that Need is of; empty with NeedSlot and NeedNone
}

// Demand is what runs want of components whatever their statuses are, so that it
// changes only with what is registered. It goes by the places of components among names.
type Demand struct {
	components int
	slots      []slotDemand
}

// slotDemand is that of one slot: the places of the components that it names, the
// primary first; then the first run that has it, and the first that requires it, of
// which either may be empty.
type slotDemand struct {
	places        []int
	has, requires string
}

// Demand returns what runs want of components, of which names, sorted, are all.
func (r *Registered) Demand(names []string) *Demand {
	of := &Demand{components: len(names), slots: make([]slotDemand, len(r.Slots))}
	bySlot := make(map[string]*slotDemand, len(r.Slots))
	for i := range r.Slots {
		slot := &of.slots[i]
		bySlot[r.Slots[i].Name] = slot
		for _, name := range r.Slots[i].Components() {
			if place, is := slices.BinarySearch(names, name); is {
				slot.places = append(slot.places, place)
			}
		}
	}
	for i := range r.Runs {
		for _, each := range r.Runs[i].Slots {
			if slot := bySlot[each.Slot]; slot != nil {
				slot.wantedBy(&r.Runs[i], each.Required)
			}
		}
	}
	return of
}

func (d *slotDemand) wantedBy(run *Run, required bool) {
	if d.has == "" {
		d.has = run.Name
	}
	if required && d.requires == "" {
		d.requires = run.Name
	}
}

// Wants tells what runs want of each component by its place, given which fit: nothing of
// those that do.
func (d *Demand) Wants(fit func(place int) Fit) []Wanted {
	wants := slices.Repeat([]Wanted{{Need: NeedNone}}, d.components)
	var fits []Fit
	for i := range d.slots {
		slot := &d.slots[i]
		fits = fits[:0]
		for _, place := range slot.places {
			fits = append(fits, fit(place))
		}
		nothingFits := !slices.ContainsFunc(fits, func(fit Fit) bool { return fit != FitsNot })
		for at, place := range slot.places {
			if wanted := slot.want(at == 0, fits[at], nothingFits); wanted.Need < wants[place].Need {
				wants[place] = wanted
			}
		}
	}
	return wants
}

// want is what is wanted of one component of the slot.
func (d *slotDemand) want(isPrimary bool, fits Fit, nothingFits bool) Wanted {
	switch {
	case fits == Fits:
		return Wanted{Need: NeedNone}
	case nothingFits && d.requires != "":
		return Wanted{NeedRefuses, d.requires}
	case fits == FitsNot && !nothingFits && isPrimary && d.has != "":
		return Wanted{NeedFallback, d.has}
	}
	return Wanted{Need: NeedSlot}
}
