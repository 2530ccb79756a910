// Package alert owns what people are notified of without asking: that a settled
// status changed, that a run starts on a fallback, that a claim waits for too long.
//
// It must not know how alerts are kept, nor who else listens. Its one idea is that
// an alert is a state with a beginning and an end, which is kept before it is
// delivered, so that neither a crash nor a repeated event delivers it twice or never.
//
// A few words of its own: a shift is one hold of the lease with the same settings, the
// book what is kept, in memory; to take a message is to answer it with 2xx.
package alert

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// Kind says what an alert is about.
type Kind string

// The kinds. A receiver may choose among the first three; OfAlerts goes to all,
// OfTest only by Try.
const (
	OfComponent Kind = "component" // Subject is the name of a component that is unavailable
	OfRun       Kind = "run"       // Subject is the name of a run that started on a fallback
	OfTask      Kind = "task"      // Subject is the id of a task whose claim waits for its verdict, or ofMany when many wait
	OfAlerts    Kind = "alerts"    // there are more alerts than are kept
	OfTest      Kind = "test"      // nothing is wrong: somebody tries the receivers
)

// ofMany is the subject of the alert about many claims. No task has it: an id is a UUID.
const ofMany = "claims"

// Kinds returns the kinds that a receiver may choose, in the order in which they
// are documented.
func Kinds() []Kind { return []Kind{OfComponent, OfRun, OfTask} }

// urgency is where a kind stands among what is due, the lowest first: what is broken comes before what
// only waits, however much of that there is.
func (k Kind) urgency() int { return slices.Index([]Kind{OfAlerts, OfComponent, OfRun, OfTask}, k) }

// State says whether what an alert says is so, or was so.
type State string

// The states.
const (
	Firing   State = "firing"
	Resolved State = "resolved"
)

// How alerts begin and end.
const (
	// MaxOpen is how many alerts are kept at once: those that fire, and those whose
	// end is still to be delivered. What comes beyond is not alerted on its own; one alert
	// of the kind OfAlerts says so.
	MaxOpen = 10_000
	// ManyClaims is how many claims that wait may be alerted each on its own. Those beyond are one
	// alert, and so is every other one from then on, until FewClaims or fewer wait.
	ManyClaims = 20
	FewClaims  = 10
	// RunFor is how long after a start on a fallback its alert ends by itself.
	RunFor = time.Hour
	// SoonAgain is how soon after the end of its alert a component must fail again
	// for that to count as the same trouble; then SteadyFor is how long it must have
	// been available without interruption before the alert ends again.
	SoonAgain = 15 * time.Minute
	SteadyFor = 15 * time.Minute
	// DefaultClaimWaits is how long a claim waits for its verdict before that is
	// alerted, when the configuration does not say.
	DefaultClaimWaits = 24 * time.Hour
	// ForgetAfter is how long after its end an alert is kept that could not be delivered.
	ForgetAfter = GiveUpAfter + time.Hour
)

// Bounds of what an alert says.
const (
	maxFallbacks = 10  // slots of a run
	maxFailed    = 3   // components of a slot
	maxCauses    = 20  // of each
	maxReason    = 500 // bytes of untrusted text
	maxBrief     = 200 // bytes of it for each component of a slot
	maxTitle     = 300 // bytes
)

// Alert is one thing that people are notified of: while it fires, and when it has ended.
type Alert struct {
	ID        string // a UUID of version 7; another one each time that it fires
	Key       string // the kind and the subject, such as component:scanner; one alert each
	Kind      Kind
	Subject   string
	State     State
	Since     time.Time // since when what it says is so
	EndedAt   time.Time // zero while it fires
	ChangedAt time.Time // when it came into its state here
	EndsAt    time.Time // when it ends by itself; zero when it does not
	Again     int       // how often it has fired again soon after its end
	Content   Content
}

// Content is what an alert says. It is fixed when the alert fires, but for Ended;
// what has changed since is on the page that it links to.
type Content struct {
	Summary   string           `json:"summary"`
	Reason    string           `json:"reason,omitempty"` // untrusted text
	Causes    []registry.Cause `json:"causes,omitempty"`
	Component registry.Kind    `json:"component_kind,omitempty"`
	ResultID  string           `json:"result_id,omitempty"`
	Slots     []Fallback       `json:"slots,omitempty"`      // of a run
	Title     string           `json:"title,omitempty"`      // of a task; untrusted text
	ClaimedBy string           `json:"claimed_by,omitempty"` // of a task
	Ended     string           `json:"ended,omitempty"`      // how it ended

	// Replaced is no part of a message: alerts of the same key before this one that
	// receivers may think fire, at most one for each receiver and one more.
	Replaced []Replaced `json:"replaced,omitempty"`
}

// Replaced is an alert in whose place another one came before all receivers had
// taken its end: what that end needs.
type Replaced struct {
	ID        string         `json:"id"`
	Since     time.Time      `json:"since"`
	EndedAt   time.Time      `json:"ended_at"`
	Ended     string         `json:"ended"` // how it ended
	Component registry.Kind  `json:"component_kind,omitempty"`
	Cause     registry.Cause `json:"cause,omitempty"` // the first one
}

// Fallback is a slot that a run started with on a fallback.
type Fallback struct {
	Slot      string   `json:"slot"`
	Component string   `json:"component"` // that fills it
	Failed    []Failed `json:"failed"`    // what comes before it in the slot: the primary first
}

// Failed is a component that could not fill its slot.
type Failed struct {
	Component string           `json:"component"`
	Causes    []registry.Cause `json:"causes"`
	Reason    string           `json:"reason"` // untrusted text
}

// Claim is a claim that waits for its verdict.
type Claim struct {
	TaskID    task.ID
	Title     string
	ClaimedBy task.AgentID
	ClaimedAt time.Time
}

// Verdict is what became of a claim.
type Verdict struct {
	TaskID task.ID
	Status task.Status
	At     time.Time
}

// Summary is the alert in one line; untrusted texts are no part of it.
func (a *Alert) Summary() string {
	if a.State == Resolved {
		return a.Content.Ended
	}
	return a.Content.Summary
}

func keyOf(kind Kind, subject string) string { return string(kind) + ":" + subject }
