package task

import "time"

// From when on a verifier has a Mark.
const (
	// MarkFrom is how many verdicts a verifier has given before anything is said of them.
	MarkFrom = 10
	// HastyMean is below which mean time from the claim to the verdict a verifier is hasty.
	HastyMean = time.Minute
	// OneProverPercent is from which share of the verdicts on the claims of one prover
	// on the two may be a pair.
	OneProverPercent = 80
)

// Mark says why a verifier may be a rubber stamp, and leaves the judgement to who
// reads.
type Mark string

// The marks, in the order in which they are told.
const (
	NeverRejects Mark = "never_rejects"
	Hasty        Mark = "hasty"
	OneProver    Mark = "one_prover"
)

// Marks returns every mark.
func Marks() []Mark { return []Mark{NeverRejects, Hasty, OneProver} }

// Verdicts is how many verdicts the agent has given.
func (a *AgentTally) Verdicts() int64 { return a.Verified + a.Rejected }

// MarkBy sets the marks of an agent that gave its verdicts on the claims of these
// provers, most first.
func (a *AgentTally) MarkBy(verifies []PairTally) {
	a.Marks = []Mark{}
	given := a.Verdicts()
	if given < MarkFrom {
		return
	}
	if a.Rejected == 0 {
		a.Marks = append(a.Marks, NeverRejects)
	}
	if a.MeanVerdictMs != nil && *a.MeanVerdictMs < HastyMean.Milliseconds() {
		a.Marks = append(a.Marks, Hasty)
	}
	if len(verifies) > 0 && (verifies[0].Verified+verifies[0].Rejected)*100 >= given*OneProverPercent {
		a.Marks = append(a.Marks, OneProver)
	}
}
