package registry

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Status says whether a component can be relied on. It is computed when it is
// read, from results, configuration and the clock, and is never stored.
type Status string

// The statuses.
const (
	Probing     Status = "probing"     // no result yet
	Available   Status = "available"   // the latest results passed
	Unavailable Status = "unavailable" // the latest results failed
	Unknown     Status = "unknown"     // no result that still counts; never green
)

// Statuses returns every status, in the order in which they are documented.
func Statuses() []Status { return []Status{Probing, Available, Unavailable, Unknown} }

// Policy is how results become a status. Every field is set: see
// Component.Policy.
type Policy struct {
	Rise, Fall      int           // results in a row that change a settled status
	Interval        time.Duration // from probe to probe
	TTL             time.Duration // how long a result counts, from the beginning of its probe
	ProbingDeadline time.Duration // how long a component may be probing
}

// How far clocks are trusted.
const (
	// MaxSkew is how far ahead of the reader's clock a result may be dated and
	// still count.
	MaxSkew = time.Minute
	// MaxLate is how much older than the newest result one may be that merely
	// came late, unless its time to live is longer. One that is older still shows
	// that the clock was set back.
	MaxLate = time.Hour
)

// Window is over how many results flapping is judged.
const Window = 20

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
	ChangedAt    time.Time // of the latest Change; zero while there was none

	Last    Seen    // the newest result; its ID is empty when there is none
	Failure Failure // the newest one, while Settled is Unavailable
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

// Failure is why a result failed. It is shown as long as passes have yet to make
// the component available again.
type Failure struct {
	Causes []Cause
	Reason string // untrusted text
}

// SeenOf is what a status shows of a result that is kept under an id.
func SeenOf(id string, s Summary) Seen {
	return Seen{ID: id, ProbedAt: s.ProbedAt, Outcome: s.Outcome, Causes: s.Causes, Reason: s.Reason, Degraded: s.Degraded}
}

// After returns the standing when one more result has come. A result that is
// older than the newest one, or is the newest one, changes nothing; of two of the
// same time that with the greater id is the newer. A result without an id or a
// time changes nothing either.
//
// Results count from the beginning of their probes: when the newest one had
// outlived its time to live before the probe of the next began, the component
// was unknown in between, and the next decides alone.
func (s Standing) After(next Seen, policy Policy) Standing {
	after, _, _ := s.fold(next, policy)
	return after
}

// fold is After, with the changes of status that the result brings or brings to
// light, and whether it counts.
func (s Standing) fold(next Seen, policy Policy) (after Standing, changes []Change, counts bool) {
	if !s.follows(next, policy) {
		return s, nil, false
	}
	from := s.held()
	if end := s.ends(policy); from != Unknown && (next.ProbedAt.After(end) || s.setBack(next, policy)) {
		at := end
		if next.ProbedAt.Before(end) {
			at = next.ProbedAt
		}
		changes = append(changes, Change{At: at, From: from, To: Unknown, Causes: []Cause{}, ResultID: s.Last.ID})
		from = Unknown
		s = s.settle("")
	}
	s = s.take(next, policy)
	if to := s.held(); to != from {
		changes = append(changes, Change{
			At: next.ProbedAt, From: from, To: to, Causes: append([]Cause{}, next.Causes...), ResultID: next.ID,
		})
	}
	if len(changes) > 0 {
		s.ChangedAt = changes[len(changes)-1].At
	}
	return s, changes, true
}

// held is the status as far as it does not depend on the clock.
func (s Standing) held() Status {
	switch {
	case s.Settled != "":
		return s.Settled
	case s.Last.ID == "":
		return Probing
	}
	return Unknown
}

// ends is when the status becomes unknown if no further result comes.
func (s Standing) ends(policy Policy) time.Time {
	if s.Last.ID == "" {
		return s.RegisteredAt.Add(policy.ProbingDeadline)
	}
	return s.Last.ProbedAt.Add(policy.TTL)
}

// follows reports whether a result is newer than the newest one so far.
func (s Standing) follows(next Seen, policy Policy) bool {
	switch {
	case next.ID == "" || next.ProbedAt.IsZero() || next.ID == s.Last.ID:
		return false
	case s.Last.ID == "" || s.setBack(next, policy):
		return true
	}
	return cmp.Or(next.ProbedAt.Compare(s.Last.ProbedAt), strings.Compare(next.ID, s.Last.ID)) > 0
}

// setBack reports whether a result is so much older than the newest one that the
// clock must have been set back. Without it, one result from the future would
// keep all others from counting until that future has come. A result that did
// come so late has outlived its time to live, so that it can turn nothing green.
func (s Standing) setBack(next Seen, policy Policy) bool {
	return s.Last.ID != "" && s.Last.ProbedAt.Sub(next.ProbedAt) > max(policy.TTL, MaxLate)
}

// take counts a result that is the newest.
func (s Standing) take(next Seen, policy Policy) Standing {
	s.Last = next
	switch next.Outcome {
	case OutcomePassed:
		s = s.decide(Available, policy.Rise).mark(markPassed)
	case OutcomeFailed:
		s = s.decide(Unavailable, policy.Fall).mark(markFailed)
	case OutcomeUndecided:
		s = s.settle("").mark(markUndecided)
	}
	switch {
	case s.Settled != Unavailable:
		s.Failure = Failure{}
	case next.Outcome == OutcomeFailed:
		s.Failure = Failure{Causes: next.Causes, Reason: next.Reason}
	}
	return s
}

// decide counts a result that speaks for a status.
func (s Standing) decide(spoken Status, needed int) Standing {
	switch {
	case s.Settled == spoken:
		s.Streak = 0
	case s.Settled == "", s.Streak+1 >= needed:
		return s.settle(spoken)
	default:
		s.Streak++
	}
	return s
}

func (s Standing) settle(status Status) Standing {
	s.Settled, s.Streak = status, 0
	return s
}

// mark appends an outcome to the window and judges flapping: raised when more
// than a half, and cleared when less than a quarter, of the changes that a full
// window has room for happened. A change is one from a pass to a failure or back;
// undecided results between the two are passed over, since they say nothing of
// the component.
func (s Standing) mark(outcome byte) Standing {
	s.Outcomes += string(outcome)
	s.Outcomes = s.Outcomes[max(0, len(s.Outcomes)-Window):]
	decided := strings.ReplaceAll(s.Outcomes, string(markUndecided), "")
	changes := strings.Count(decided, "pf") + strings.Count(decided, "fp")
	switch room := Window - 1; {
	case 2*changes > room:
		s.Flapping = true
	case 4*changes < room:
		s.Flapping = false
	}
	return s
}

// Fresh reports whether the newest result still counts: it is not older than the
// time to live, and not dated more than MaxSkew ahead of now.
func (s Standing) Fresh(now time.Time, policy Policy) bool {
	age := now.Sub(s.Last.ProbedAt)
	return s.Last.ID != "" && age <= policy.TTL && age >= -MaxSkew
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
	AgeMs    *int64  `json:"age_ms"`          // of the result, in milliseconds; null when there is none
	ResultID *string `json:"result_id"`       // of the newest result; null when there is none
	Since    string  `json:"since,omitempty"` // when the status began, RFC 3339 in UTC; absent when no clock tells

	// Drifting says what becomes of a component whose tools are not the accepted
	// ones; empty while they are.
	Drifting Drifting `json:"drifting,omitempty"`
}

// ReadKnown is Read, and tells whether the tools are the accepted ones.
func (c *Component) ReadKnown(known Known, now time.Time) Reading {
	reading := c.Read(known.Standing, now)
	if !known.Drifted() {
		return reading
	}
	said := "its tools are not the accepted ones"
	if reading.Drifting = c.drifting(); reading.Drifting == DriftBlocks {
		said += ", so a preflight refuses it"
	}
	if reading.Reason != "" {
		said = Shorten(reading.Reason, MaxDetail-len("; ")-len(said)) + "; " + said
	}
	reading.Reason = said
	return reading
}

// ReadAs is ReadKnown of a component that is registered as that. What is known of it
// under another registration says nothing about it, but when it was registered; where
// it is not, the reading says so.
func (c *Component) ReadAs(as Registration, known Known, now time.Time) Reading {
	if known.Registration == as {
		return c.ReadKnown(known, now)
	}
	reading := c.Read(known.Standing.unproven(), now)
	reading.Reason = "the database has another definition of it, from another file or from before a change of this one: is it the right database?"
	if known.Registration == (Registration{}) {
		reading.Reason = "the database knows nothing of it yet: is it the right one?"
	}
	return reading
}

// unproven is what remains of a standing that is another component's.
func (s Standing) unproven() Standing { return Standing{RegisteredAt: s.RegisteredAt} }

// ReadUnregistered is what is read of a component that is no longer registered, so that
// who reads does not probe it: its status is unknown, with the newest result beside it.
func (k Known) ReadUnregistered(now time.Time) Reading {
	reading := Reading{Name: k.Registration.Name, Kind: k.Registration.Kind, Status: Unknown, Causes: []Cause{}, Reason: "it is no longer registered"}
	if last := k.Standing.Last; last.ID != "" {
		age := max(now.Sub(last.ProbedAt), 0).Milliseconds()
		reading.AgeMs, reading.ResultID = &age, &last.ID
		reading.Causes, reading.Reason = append(reading.Causes, last.Causes...), because(reading.Reason+"; before that it "+last.Outcome.past(), last.Reason)
	}
	return reading
}

// UntilAs is when the clock alone changes the status of ReadAs, or what it is
// because of, if nothing happens after now; zero when it never does.
func (c *Component) UntilAs(as Registration, known Known, now time.Time) time.Time {
	s := known.Standing
	if known.Registration != as {
		s = s.unproven()
	}
	from, end := s.RegisteredAt, s.ends(c.Policy())
	if s.Last.ID != "" {
		from = s.Last.ProbedAt
	}
	switch {
	case from.Sub(now) > MaxSkew:
		return from.Add(-MaxSkew)
	case now.After(end):
		return time.Time{}
	}
	return end.Add(1) // It counts to the end.
}

// Read computes the status of a component at a moment.
func (c *Component) Read(s Standing, now time.Time) Reading {
	policy := c.Policy()
	reading := Reading{Name: c.Name, Kind: c.Kind(), Flapping: s.Flapping, Causes: []Cause{}}
	if s.Last.ID == "" {
		reading.unprobed(s, now, policy)
		return reading
	}
	age := max(now.Sub(s.Last.ProbedAt), 0).Milliseconds()
	reading.AgeMs, reading.ResultID = &age, &s.Last.ID
	reading.Causes, reading.Reason = append(reading.Causes, s.Last.Causes...), s.Last.Reason
	since := s.ChangedAt
	switch {
	case s.Last.ProbedAt.Sub(now) > MaxSkew:
		reading.Status, since = Unknown, time.Time{}
		reading.Reason = "the newest result is dated ahead of this clock: is the time right here, and where it was probed?"
	case !s.Fresh(now, policy):
		reading.Status = Unknown
		reading.Reason = because("the newest result is too old to count: no countersign serve has probed it since. It "+s.Last.Outcome.past(), s.Last.Reason)
		if s.Settled != "" {
			since = s.ends(policy)
		}
	default:
		reading.Status = s.held()
		reading.between(s, policy)
	}
	reading.began(since)
	return reading
}

// unprobed reads the status of a component that has no result.
func (r *Reading) unprobed(s Standing, now time.Time, policy Policy) {
	deadline := s.ends(policy)
	switch {
	case s.RegisteredAt.Sub(now) > MaxSkew:
		r.Status, r.Reason = Unknown, "it was registered ahead of this clock: is the time right?"
	case now.After(deadline):
		r.Status, r.Reason = Unknown, "it should have been probed by now: no countersign serve has done so"
		if !s.RegisteredAt.IsZero() {
			r.began(deadline)
		}
	default:
		r.Status, r.Reason = Probing, "it has not been probed yet"
		r.began(s.RegisteredAt)
	}
}

// between says of a settled status what speaks against it.
func (r *Reading) between(s Standing, policy Policy) {
	switch {
	case s.Settled == Available:
		r.Degraded = s.Last.Degraded || s.Last.Outcome == OutcomeFailed
	case s.Settled == Unavailable && s.Last.Outcome == OutcomePassed:
		r.Degraded = true
		r.Causes = append([]Cause{}, s.Failure.Causes...)
		r.Reason = because(fmt.Sprintf("passed %d of the %d times in a row that it takes; before that", s.Streak, policy.Rise), s.Failure.Reason)
	}
}

func (r *Reading) began(at time.Time) {
	if !at.IsZero() {
		r.Since = Timestamp(at)
	}
}

// because joins what is said with the reason that a result gives, if it does.
func because(said, reason string) string {
	if reason == "" {
		return said
	}
	return Shorten(said+": "+reason, MaxDetail)
}
