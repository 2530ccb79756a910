package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// exhaustive is up to how many results the histories have of which every one is
// tried.
const exhaustive = 6

// TestStatus_isThatOfTheDefinitionForEveryShortHistory tries every history of up
// to six results, each of which passed, failed or is undecided and came in time or
// after a gap, under every rise and fall from 1 to 3, read at ages around the time
// to live. The definition is declarative and looks at the whole history; the code
// folds one result after the other.
func TestStatus_isThatOfTheDefinitionForEveryShortHistory(t *testing.T) {
	t.Parallel()
	for rise := 1; rise <= 3; rise++ {
		for fall := 1; fall <= 3; fall++ {
			walk := &walk{t: t, component: component(rise, fall)}
			walk.from("", registry.Standing{RegisteredAt: began()}, began())
			if want := 55986; walk.histories != want {
				t.Errorf("rise %d, fall %d: %d histories, want %d", rise, fall, walk.histories, want)
			}
		}
	}
}

// walk is the tree of histories. In a history a capital came after a gap.
type walk struct {
	t         *testing.T
	component *registry.Component
	histories int
}

func (w *walk) from(history string, standing registry.Standing, last time.Time) {
	if len(history) == exhaustive {
		return
	}
	policy := w.component.Policy()
	for _, letter := range "pfuPFU" {
		at := last.Add(policy.TTL)
		if letter < 'a' {
			at = at.Add(time.Millisecond)
		}
		seen := registry.Seen{ID: history + "x", ProbedAt: at, Outcome: outcomes()[letter|0x20]}
		next := history + string(letter)
		after := standing.After(seen, policy)
		w.histories++
		w.read(next, after, at)
		w.from(next, after, at)
	}
}

// read holds the status at each age against the definition.
func (w *walk) read(history string, standing registry.Standing, at time.Time) {
	policy := w.component.Policy()
	want, wantDegraded := defined(history, policy)
	for _, row := range [...]struct {
		age    time.Duration
		counts bool
	}{
		{-registry.MaxSkew - time.Millisecond, false},
		{-registry.MaxSkew, true},
		{0, true},
		{policy.TTL, true},
		{policy.TTL + time.Millisecond, false},
		{1000 * policy.TTL, false},
	} {
		status, degraded := want, wantDegraded
		if !row.counts {
			status, degraded = registry.Unknown, false
		}
		if got := w.component.Read(standing, at.Add(row.age)); got.Status != status || got.Degraded != degraded {
			w.t.Fatalf("rise %d, fall %d, %q at %s: %s, degraded %v, want %s, %v",
				policy.Rise, policy.Fall, history, row.age, got.Status, got.Degraded, status, degraded)
		}
	}
}

// defined is the status of a fresh history by definition. Only what follows the
// last gap and the last undecided result counts. Of that the status is the outcome
// of the latest result with which as many of its kind in a row were reached as
// change a status; where there never were so many, it is that of the first.
func defined(history string, policy registry.Policy) (status registry.Status, degraded bool) {
	if gap := strings.LastIndexAny(history, "PFU"); gap >= 0 {
		history = history[gap:]
	}
	history = strings.ToLower(history)
	history = history[strings.LastIndexByte(history, 'u')+1:]
	if history == "" {
		return registry.Unknown, false
	}
	settled := history[0]
	passes, failures := strings.Repeat("p", policy.Rise), strings.Repeat("f", policy.Fall)
	rose, fell := strings.LastIndex(history, passes)+policy.Rise, strings.LastIndex(history, failures)+policy.Fall
	switch hasRisen, hasFallen := strings.Contains(history, passes), strings.Contains(history, failures); {
	case hasRisen && (!hasFallen || rose > fell):
		settled = 'p'
	case hasFallen:
		settled = 'f'
	}
	degraded = history[len(history)-1] != settled
	if settled == 'p' {
		return registry.Available, degraded
	}
	return registry.Unavailable, degraded
}

// TestStatus_isProbingUntilItsDeadlineAndThenUnknown is the table of a component
// without any result.
func TestStatus_isProbingUntilItsDeadlineAndThenUnknown(t *testing.T) {
	t.Parallel()
	c := component(1, 1)
	deadline := c.Policy().ProbingDeadline
	for age, want := range map[time.Duration]registry.Status{
		-registry.MaxSkew - time.Millisecond: registry.Unknown,
		-registry.MaxSkew:                    registry.Probing,
		0:                                    registry.Probing,
		deadline:                             registry.Probing,
		deadline + time.Millisecond:          registry.Unknown,
		1000 * deadline:                      registry.Unknown,
	} {
		got := c.Read(registry.Standing{RegisteredAt: began()}, began().Add(age))
		if got.Status != want || got.Reason == "" || got.Degraded || got.AgeMs != nil {
			t.Errorf("at %s: %+v, want %s", age, got, want)
		}
	}
}
