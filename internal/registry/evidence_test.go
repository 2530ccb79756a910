package registry

import "testing"

// TestOutcomeOf_isUndecidedOnlyForCausesThatAreOurs is about results of every
// kind, those to come included: one without a cause has failed all the same.
func TestOutcomeOf_isUndecidedOnlyForCausesThatAreOurs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		passed bool
		causes []Cause
		want   Outcome
	}{
		{true, nil, OutcomePassed},
		{false, nil, OutcomeFailed},
		{false, []Cause{}, OutcomeFailed},
		{false, []Cause{""}, OutcomeFailed},
		{false, []Cause{NotOK}, OutcomeFailed},
		{false, []Cause{Denied}, OutcomeUndecided},
		{false, []Cause{Denied, Overloaded}, OutcomeUndecided},
		{false, []Cause{Denied, NotOK}, OutcomeFailed},
	} {
		if got := outcomeOf(row.passed, row.causes); got != row.want {
			t.Errorf("passed %v, causes %v: %s, want %s", row.passed, row.causes, got, row.want)
		}
	}
	for _, entry := range GateCauses() {
		if want := entry.Cause == Denied || entry.Cause == Overloaded; entry.Cause.IsOurs() != want {
			t.Errorf("%s is ours: %v, want %v", entry.Cause, !want, want)
		}
	}
}
