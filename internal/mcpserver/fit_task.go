package mcpserver

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/task"
)

// fitTask returns the task with its longest texts cut so that the whole is at
// most limit bytes as JSON. It names in Truncated what was cut.
func fitTask(whole task.Task, limit int) task.Task {
	size := sizeOf(whole)
	if size <= limit {
		return whole
	}
	whole.AcceptanceCriteria = slices.Clone(whole.AcceptanceCriteria)
	clippings := []clipping{textClipping("evidence", &whole.Evidence), textClipping("notes", &whole.Notes)}
	for i := range whole.AcceptanceCriteria {
		clippings = append(clippings, textClipping(criterionName(i), &whole.AcceptanceCriteria[i]))
	}
	whole.Truncated = clip(size, limit, clippings)
	return whole
}

// criterionName names one criterion by its position from 0.
func criterionName(i int) string { return fmt.Sprintf("acceptance_criteria[%d]", i) }
