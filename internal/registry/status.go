package registry

import (
	"slices"
	"strings"
	"time"
)

// Status says whether a component can be relied on. It is computed when it is
// read, from results, configuration and the clock, and is never stored.
type Status string

// The statuses.
const (
	Probing     Status = "probing"     // no decided result yet
	Available   Status = "available"   // the latest results passed
	Unavailable Status = "unavailable" // the latest results failed
	Unknown     Status = "unknown"     // no result that still counts; never green
)

// Policy is how results become a status. Every field is set: see
// Component.Policy.
type Policy struct {
	Rise, Fall      int           // results in a row that change a settled status
	Interval        time.Duration // from probe to probe
	TTL             time.Duration // how long a result counts
	ProbingDeadline time.Duration // how long a component may be probing
}

// Window is over how many results flapping is judged.
const Window = 20

// Flapping is raised when more than flapRaise, and cleared when less than
// flapClear, of the Window-1 possible changes from result to result happened.
const (
	flapRaise = 0.50
	flapClear = 0.25
)

// Marks of outcomes in Standing.Outcomes.
const (
	markPassed    = 'p'
	markFailed    = 'f'
	markUndecided = 'u'
)

// Standing is what the results of a component add up to so far. It is a
// projection of them, made by After; with a policy and the clock it gives the
// status. The zero value but for RegisteredAt is a component without results.
type Standing struct {
	RegisteredAt time.Time // when it was first registered as what it is now
	Settled      Status    // Available or Unavailable, or empty while no result decides
	Streak       int       // the latest results in a row that contradict Settled
	Outcomes     string    // marks of the latest results, the newest last, at most Window
	Flapping     bool
	ChangedAt    time.Time // when Settled last changed; zero while it never has

	Last Seen // the newest result; its ID is empty when there is none
}

// Seen is what a status shows of a result.
type Seen struct {
	ID       string
	ProbedAt time.Time
	Outcome  Outcome
	Causes   []Cause
	Reason   string
	Degraded bool
}

// SeenOf is what a status shows of a result that is kept under an id.
func SeenOf(id string, s Summary) Seen {
	return Seen{ID: id, ProbedAt: s.ProbedAt, Outcome: s.Outcome, Causes: s.Causes, Reason: s.Reason, Degraded: s.Degraded}
}

// After returns the standing when one more result has come. A result that is
// older than the newest one changes nothing.
func (s Standing) After(next Seen, policy Policy) Standing {
	if s.Last.ID != "" && next.ProbedAt.Before(s.Last.ProbedAt) {
		return s
	}
	if s.Last.ID != "" && next.ProbedAt.Sub(s.Last.ProbedAt) > policy.TTL {
		s.settle("", s.Last.ProbedAt.Add(policy.TTL)) // it was unknown in between
	}
	switch next.Outcome {
	case OutcomePassed:
		s.decide(Available, policy.Rise, next.ProbedAt)
		s.mark(markPassed)
	case OutcomeFailed:
		s.decide(Unavailable, policy.Fall, next.ProbedAt)
		s.mark(markFailed)
	case OutcomeUndecided:
		s.settle("", next.ProbedAt)
		s.mark(markUndecided)
	}
	s.Last = next
	return s
}

// decide counts a result that speaks for a status.
func (s *Standing) decide(spoken Status, needed int, at time.Time) {
	switch {
	case s.Settled == spoken:
		s.Streak = 0
	case s.Settled == "", s.Streak+1 >= needed:
		s.settle(spoken, at)
	default:
		s.Streak++
	}
}

func (s *Standing) settle(status Status, at time.Time) {
	if s.Settled != status {
		s.Settled, s.ChangedAt = status, at
	}
	s.Streak = 0
}

// mark appends an outcome to the window and judges flapping.
func (s *Standing) mark(outcome byte) {
	s.Outcomes += string(outcome)
	s.Outcomes = s.Outcomes[max(0, len(s.Outcomes)-Window):]
	changes := 0
	for i := 1; i < len(s.Outcomes); i++ {
		if s.Outcomes[i] != s.Outcomes[i-1] {
			changes++
		}
	}
	switch share := float64(changes) / (Window - 1); {
	case share > flapRaise:
		s.Flapping = true
	case share < flapClear:
		s.Flapping = false
	}
}

// Fresh reports whether the newest result still counts.
func (s Standing) Fresh(now time.Time, policy Policy) bool {
	return s.Last.ID != "" && now.Sub(s.Last.ProbedAt) <= policy.TTL
}

// Reading is the status of a component at one moment.
type Reading struct {
	Name     string  `json:"name"`
	Kind     Kind    `json:"kind"`
	Status   Status  `json:"status"`
	Degraded bool    `json:"degraded"`
	Reason   string  `json:"reason,omitempty"` // untrusted text
	Flapping bool    `json:"flapping"`
	Causes   []Cause `json:"causes"`
	AgeMs    *int64  `json:"age_ms"`    // of the result, in milliseconds; null when there is none
	ResultID *string `json:"result_id"` // null when there is none
	Since    string  `json:"since,omitempty"`
}

// Read computes the status of a component at a moment.
func (c *Component) Read(s Standing, now time.Time) Reading {
	policy := c.Policy()
	reading := Reading{Name: c.Name, Kind: c.Kind(), Flapping: s.Flapping, Causes: []Cause{}}
	if !s.ChangedAt.IsZero() {
		reading.Since = s.ChangedAt.UTC().Format(timeForm)
	}
	if s.Last.ID == "" {
		reading.Status, reading.Reason = Probing, "it has not been probed yet"
		if now.Sub(s.RegisteredAt) > policy.ProbingDeadline {
			reading.Status, reading.Reason = Unknown, "it should have been probed by now: does a patrol run?"
		}
		return reading
	}
	age := now.Sub(s.Last.ProbedAt).Milliseconds()
	reading.AgeMs, reading.ResultID = &age, &s.Last.ID
	reading.Causes, reading.Reason = slices.Clone(s.Last.Causes), s.Last.Reason
	switch {
	case !s.Fresh(now, policy):
		reading.Status = Unknown
		reading.Reason = strings.TrimSuffix("the newest result is too old to count; it was "+string(s.Last.Outcome)+": "+s.Last.Reason, ": ")
	case s.Settled == "":
		reading.Status = Unknown
	default:
		reading.Status = s.Settled
		reading.Degraded = s.Last.Degraded || s.Settled == Available && s.Last.Outcome == OutcomeFailed ||
			s.Settled == Unavailable && s.Last.Outcome == OutcomePassed
	}
	return reading
}
