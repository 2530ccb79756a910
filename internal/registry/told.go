package registry

// MaxRecent is how many of the latest results of a component are shown of each
// when many components are.
const MaxRecent = 20

// ShownPreflights is how many preflights are shown with a run.
const ShownPreflights = 20

// Told returns the result as it is told.
func (k *Kept) Told() KeptResult {
	return KeptResult{
		ResultID: k.ID, Component: k.Component, Kind: k.Kind, ProbedAt: Timestamp(k.Seen.ProbedAt),
		Outcome: k.Seen.Outcome, Degraded: k.Seen.Degraded, Causes: append([]Cause{}, k.Seen.Causes...), Reason: k.Seen.Reason,
		LatencyMs: Milliseconds(k.Latency), Result: k.Document,
	}
}

// View returns the slot as it is told, with the readings of those of its
// components that readings has.
func (s *Slot) View(readings map[string]Reading) SlotView {
	view := SlotView{
		Slot: s.Name, Primary: s.Primary, Fallbacks: append([]string{}, s.Fallbacks...), RequireTools: s.RequireTools,
		MinVersion: s.MinVersion, MaxAgeMs: s.MaxAge.Milliseconds(), Components: []Reading{},
	}
	for _, name := range s.Components() {
		if reading, ok := readings[name]; ok {
			view.Components = append(view.Components, reading)
			if view.Fills == "" && reading.Fit() == Fits {
				view.Fills = name
			}
		}
	}
	return view
}

// Fit says whether a component fills a slot, going by its status. A preflight does not
// go by it: it probes.
type Fit int

// The fits.
const (
	FitsNot   Fit = iota // it is unavailable or blocked
	FitUnsure            // nobody knows; a preflight finds out
	Fits
)

// Fit says whether the component fills a slot.
func (r *Reading) Fit() Fit {
	switch {
	case r.Status == Unavailable || r.Blocked():
		return FitsNot
	case r.Status == Available:
		return Fits
	}
	return FitUnsure
}

// Blocked reports whether no preflight takes the component, whatever its status, until
// somebody has accepted its tools.
func (r *Reading) Blocked() bool { return r.Drifting == DriftBlocks }

// MarkBlocked is the mark of a component that is blocked.
const MarkBlocked = "blocked"

// Marks are the words beside a status that ask for attention, the gravest first.
func (r *Reading) Marks() []string {
	var marks []string
	for _, each := range []struct {
		is   bool
		mark string
	}{{r.Blocked(), MarkBlocked}, {r.Drifting == DriftWarns, "tools changed"}, {r.Flapping, "flapping"}, {r.Degraded, "degraded"}} {
		if each.is {
			marks = append(marks, each.mark)
		}
	}
	return marks
}

// Summary is what a list tells of the preflight.
func (k *KeptPreflight) Summary() PreflightSummary {
	made := PreflightSummary{At: k.At, Allowed: k.Preflight.Allowed, Fallbacks: []string{}, Unfilled: []string{}}
	for i := range k.Preflight.Slots {
		switch slot := &k.Preflight.Slots[i]; {
		case !slot.OK:
			made.Unfilled = append(made.Unfilled, slot.Slot)
		case slot.Fallback:
			made.Fallbacks = append(made.Fallbacks, slot.Slot)
		}
	}
	return made
}

// Urgency orders readings by how soon a person should look; the least comes first.
type Urgency int

// The urgencies.
const (
	UrgentUnavailable Urgency = iota
	UrgentUnknown
	UrgentTools  // its tools are not the accepted ones
	UrgentMarked // it is degraded, or flapping
	UrgentProbing
	NotUrgent // it is available, and nothing speaks against it
)

// Urgencies returns every urgency, the most pressing first.
func Urgencies() []Urgency {
	return []Urgency{UrgentUnavailable, UrgentUnknown, UrgentTools, UrgentMarked, UrgentProbing, NotUrgent}
}

// Urgency says how soon a person should look at the component.
func (r *Reading) Urgency() Urgency {
	switch {
	case r.Status == Unavailable:
		return UrgentUnavailable
	case r.Status == Unknown:
		return UrgentUnknown
	case r.Drifting != "":
		return UrgentTools
	case r.Degraded, r.Flapping:
		return UrgentMarked
	case r.Status == Probing:
		return UrgentProbing
	}
	return NotUrgent
}

// Count counts a component.
func (c *StatusCounts) Count(status Status, urgency Urgency) {
	switch status {
	case Probing:
		c.Probing++
	case Available:
		c.Available++
	case Unavailable:
		c.Unavailable++
	case Unknown:
		c.Unknown++
	}
	if urgency != NotUrgent {
		c.Attention++
	}
}
