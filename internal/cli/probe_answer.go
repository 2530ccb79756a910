package cli

import (
	"errors"

	"github.com/countersign-dev/countersign/internal/registry"
)

// errUndecided is returned by a command that has printed what it found, which is no
// answer: the question could not be asked.
var errUndecided = errors.New("the answer is undecided")

// outcomeOf is what one gate says.
func outcomeOf(got registry.GateResult) registry.Outcome {
	switch {
	case got.OK:
		return registry.OutcomePassed
	case got.Cause.IsOurs():
		return registry.OutcomeUndecided
	}
	return registry.OutcomeFailed
}

// outcomeAt is what a result says at these gates; by all that makes a pass when none
// is named.
func outcomeAt(result *registry.ProbeResult, only []registry.Gate) registry.Outcome {
	if len(only) == 0 {
		return result.Summary().Outcome
	}
	outcomes := make([]registry.Outcome, len(only))
	for i, gate := range only {
		outcomes[i] = outcomeOf(result.Gate(gate))
	}
	return together(outcomes)
}

// together is the answer of several: failed when one failed, else undecided when one is.
func together(outcomes []registry.Outcome) registry.Outcome {
	whole := registry.OutcomePassed
	for _, outcome := range outcomes {
		switch outcome {
		case registry.OutcomePassed:
		case registry.OutcomeFailed:
			return outcome
		case registry.OutcomeUndecided:
			whole = outcome
		}
	}
	return whole
}

// answered ends a command that has printed what it found with the exit code of that.
func answered(outcome registry.Outcome) error {
	switch outcome {
	case registry.OutcomePassed:
		return nil
	case registry.OutcomeUndecided:
		return errUndecided
	case registry.OutcomeFailed:
	}
	return errNo
}
