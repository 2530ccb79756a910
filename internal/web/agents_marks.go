package web

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/words"
)

// rubberStamp says in words what marks a verifier that gave its verdicts on the claims
// of these provers, most first.
func rubberStamp(of *task.AgentTally, verifies []task.PairTally) []string {
	var marks []string
	for _, mark := range of.Marks {
		switch mark {
		case task.NeverRejects:
			marks = append(marks, "never rejects")
		case task.Hasty:
			marks = append(marks, "decides in under "+words.Age(task.HastyMean))
		case task.OneProver:
			most, given := verifies[0], of.Verdicts()
			marks = append(marks, fmt.Sprintf("%s of its %d verdicts are on %s", percent(most.Verified+most.Rejected, given), given, most.Prover))
		}
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
