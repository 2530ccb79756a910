package registry

import "time"

// Slot is a role in a run, filled by its primary component or else by the first
// of its fallbacks that holds. All of them are of one kind.
type Slot struct {
	Name         string
	Primary      string
	Fallbacks    []string // in order
	RequireTools []string // that the component must list, beside those that it requires itself
	MinVersion   string   // of the server, as IsVersion wants it; empty for any
	// MaxAge lets a preflight rely on a stored pass that is not older; 0 wants a
	// probe now.
	MaxAge time.Duration
}

// Reuses reports whether a preflight at a moment may rely on a stored result for
// the slot instead of a probe: only on a pass, and only where the slot states a
// maximum age that the result has not passed. A result that is dated ahead of now
// is not relied on.
func (s *Slot) Reuses(last Seen, now time.Time) bool {
	age := now.Sub(last.ProbedAt)
	return s.MaxAge > 0 && last.ID != "" && last.Outcome == OutcomePassed && age >= 0 && age <= s.MaxAge
}

// Components returns the names of the primary and the fallbacks, in order.
func (s *Slot) Components() []string { return append([]string{s.Primary}, s.Fallbacks...) }

// Run is a named set of slots.
type Run struct {
	Name  string
	Slots []RunSlot // in the order of the file
}

// RunSlot is a slot of a run: without a required one the run does not start.
type RunSlot struct {
	Slot     string
	Required bool
}

// Registered is everything that a configuration registers, as one unchanging
// whole. Names refer only to what is there.
type Registered struct {
	Components []Component // in the order of the file
	Slots      []Slot
	Runs       []Run
	Network    Network
}

// Component returns the component of a name; nil when there is none.
func (r *Registered) Component(name string) *Component {
	for i := range r.Components {
		if r.Components[i].Name == name {
			return &r.Components[i]
		}
	}
	return nil
}

// Slot returns the slot of a name; nil when there is none.
func (r *Registered) Slot(name string) *Slot {
	for i := range r.Slots {
		if r.Slots[i].Name == name {
			return &r.Slots[i]
		}
	}
	return nil
}

// Run returns the run of a name; nil when there is none.
func (r *Registered) Run(name string) *Run {
	for i := range r.Runs {
		if r.Runs[i].Name == name {
			return &r.Runs[i]
		}
	}
	return nil
}
