package web

import (
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/words"
)

// From when on a page says that a verifier may be a rubber stamp. It says why, and
// leaves the judgement to who reads.
const (
	// MarkFrom is how many verdicts a verifier has given before anything is said of them.
	MarkFrom = 10
	// HastyMean is below which mean time from the claim to the verdict a verifier is hasty.
	HastyMean = time.Minute
	// OneProverPercent is from which share of the verdicts on the claims of one prover
	// on the two may be a pair.
	OneProverPercent = 80
)

// verdicts is how many verdicts an agent has given.
func verdicts(of task.AgentTally) int64 { return of.Verified + of.Rejected }

// rubberStamp says in words what of a verifier's verdicts suggests that nothing was
// checked; none when nothing does. Most is the prover on whose claims it gave the
// most verdicts.
func rubberStamp(of task.AgentTally, most task.PairTally) []string {
	given := verdicts(of)
	if given < MarkFrom {
		return nil
	}
	var marks []string
	if of.Rejected == 0 {
		marks = append(marks, "never rejects")
	}
	if of.MeanVerdictMs != nil && *of.MeanVerdictMs < HastyMean.Milliseconds() {
		marks = append(marks, "decides in under "+words.Age(HastyMean))
	}
	if on := most.Verified + most.Rejected; on*100 >= given*OneProverPercent {
		marks = append(marks, fmt.Sprintf("%s of its %d verdicts are on %s", percent(on, given), given, most.Prover))
	}
	return marks
}

// percent is a share in words. Only nothing is 0 %, and only all is 100 %.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0\u00a0%"
	}
	return fmt.Sprintf("%d\u00a0%%", percentOf(part, whole))
}

// percentOf is a share from 0 to 100, rounded to the nearest, but 0 only for
// nothing and 100 only for all.
func percentOf(part, whole int64) int64 {
	rounded := (part*100 + whole/2) / whole
	switch {
	case part > 0 && rounded == 0:
		return 1
	case part < whole && rounded == 100:
		return 99
	}
	return rounded
}
