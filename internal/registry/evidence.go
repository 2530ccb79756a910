package registry

import (
	"encoding/json"
	"slices"
	"time"
)

// Result is the evidence of one probe of a component of any kind. It has no field
// that says "passed": Passed is computed from its parts each time it is asked,
// and the zero value has not passed.
type Result interface {
	json.Marshaler
	Passed() bool
	Summary() Summary
}

// Outcome is what one result says of its component.
type Outcome string

// A result that is undecided says nothing about the component: Countersign could
// not carry out the probe, may not dial the address, or has spent its budget.
const (
	OutcomePassed    Outcome = "passed"
	OutcomeFailed    Outcome = "failed"
	OutcomeUndecided Outcome = "undecided"
)

// past says it of a result that counts no more.
func (o Outcome) past() string {
	switch o {
	case OutcomePassed, OutcomeFailed:
		return "had " + string(o)
	case OutcomeUndecided:
	}
	return "was " + string(OutcomeUndecided)
}

// Summary is what results of every kind have in common. What a server said in it
// is untrusted text.
type Summary struct {
	ProbedAt time.Time // when the probe began
	Outcome  Outcome
	Causes   []Cause // of the gates that failed, in their order, each once; not nil
	Reason   string  // why it did not pass, or why a pass is degraded; at most MaxDetail bytes
	Degraded bool    // it passed, and something optional did not
	Latency  time.Duration
	Parts    []PartTime      // the gates, or what the kind has instead, in their order
	Sessions Opened          // what was opened with the server
	Proof    json.RawMessage // an object of what Passed is computed from; the database computes it again

	Tools          []string // the names of the tools, sorted; nil where there are none
	ServerVersion  string
	ToolsDigest    string
	ImageDigest    string
	ContentVersion string
}

// outcomeOf is what a result says that has passed or has these causes: nothing
// when all of them are ours.
func outcomeOf(passed bool, causes []Cause) Outcome {
	switch {
	case passed:
		return OutcomePassed
	case len(causes) > 0 && !slices.ContainsFunc(causes, func(c Cause) bool { return !c.IsOurs() }):
		return OutcomeUndecided
	}
	return OutcomeFailed
}
