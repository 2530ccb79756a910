package fault_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
)

func TestNamed_callsToolsByTheirOtherNames(t *testing.T) {
	names := map[string]string{"get_task": "task show", "get_task on": "task show", "verify": "task verify", "list_tasks": "task list"}
	for text, want := range map[string]string{
		"Call get_task to see the task.":                       "Run task show to see the task.",
		"Call get_task on 17 and go on.":                       "Run task show 17 and go on.",
		"Another calls get_task, and call verify.":             "Another runs task show, and run task verify.",
		"It is copied from get_task or list_tasks.":            "It is copied from task show or task list.",
		"The id, as list_tasks gave it.":                       "The id, as task list gave it.",
		"Verify it with get_task: make the same call again.":   "Verify it with get_task: make the same call again.",
		"Is it verify that is meant? That cannot be verified.": "Is it verify that is meant? That cannot be verified.",
	} {
		if got := fault.Named(text, "run", names); got != want {
			t.Errorf("%q\nis %q,\nwant %q", text, got, want)
		}
	}
	if got := fault.Named("Call verify again.", "call", map[string]string{"verify": "decideTask"}); got != "Call decideTask again." {
		t.Errorf("got %q", got)
	}
}
