package cli

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/task"
)

// Over HTTP all callers share one principal, which says nothing against them.
func TestTaskShow_tellsThatNobodyWasAuthenticatedWithoutAWarning(t *testing.T) {
	t.Parallel()
	nobody := task.Anonymous().Principal
	whole := task.Task{History: make([]task.Change, 3)}
	got := wholeTask(painter{on: true}, whole, []task.Transition{{Principal: nobody}, {Principal: nobody}, {Principal: nobody}})
	if !strings.Contains(got, "  nobody was authenticated over HTTP, so") || strings.Contains(got, "the same principal") || strings.Contains(got, "\x1b[31m") {
		t.Errorf("it is shown as\n%q", got)
	}
	one := task.Principal{Kind: "session", ID: "s"}
	got = wholeTask(painter{on: true}, whole, []task.Transition{{Principal: nobody}, {Principal: one}, {Principal: one}})
	if !strings.Contains(got, "\x1b[31mprover and verifier have different names and the same principal") {
		t.Errorf("one principal behind two names is shown as\n%q", got)
	}
}
