package task_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestFaults_sayWhatToDoNext(t *testing.T) {
	told := map[fault.Code]bool{}
	for _, c := range []struct {
		fault *fault.Error
		hint  string
	}{
		{task.NotFound(firstID), "call list_tasks"},
		{task.WrongState(firstID, task.KindVerified, task.Pending), "call claim_done"},
		{task.WrongState(firstID, task.KindClaimed, task.Claimed), "calls verify"},
		{task.WrongState(firstID, task.KindClaimed, task.Verified), "call create_task without supersedes"},
		{task.WrongState(firstID, task.KindClaimed, task.Rejected), "call create_task with supersedes"},
		{task.NotRejected(firstID, task.Claimed), "calls verify"},
		{task.SelfVerify(firstID, "dev"), "have a different agent"},
		{task.AlreadySuperseded(firstID, secondID), "call get_task on " + string(secondID)},
		{task.IdempotencyConflict("k"), "use a new key"},
		{task.Unavailable(errors.New("secret")), "make the same call again"},
		{task.MissingNotes(firstID), "call verify again with notes"},
		{task.EmptyCriteria("acceptance_criteria"), "call create_task with criteria"},
		{task.EmptyEvidence(), "call claim_done again"},
		{task.InvalidAgentID("agent_id", "!"), "begins with a letter or digit"},
		{task.IdentityMismatch("agent_id", "a", "b"), "leave agent_id out"},
		{task.TooLarge("title", task.LimitTitle), "shorten it"},
	} {
		told[c.fault.Code] = true
		if !strings.Contains(strings.ToLower(c.fault.Hint), c.hint) {
			t.Errorf("%s hints %q, want %q in it", c.fault.Code, c.fault.Hint, c.hint)
		}
		shown, err := json.Marshal(c.fault)
		if err != nil || strings.Contains(string(shown), "secret") {
			t.Errorf("%s is shown as %s (%v)", c.fault.Code, shown, err)
		}
	}
	for _, code := range fault.Codes() {
		if !told[code] && code != fault.InvalidArgument && code != fault.Internal {
			t.Errorf("no fault of code %s is tested", code)
		}
	}
}

func TestNotFound_repeatsLittleOfWhatItWasGiven(t *testing.T) {
	for _, id := range []string{strings.Repeat("é", 1<<16), "\xff\xfe\x00", strings.Repeat("\xff", 100)} {
		coded := task.NotFound(task.ID(id))
		if len(coded.Message) > 600 || !utf8.ValidString(coded.Message) || strings.ContainsAny(coded.Message, "\x00\n") {
			t.Errorf("the message has %d bytes: %.100q", len(coded.Message), coded.Message)
		}
	}
}

func TestTransitions_areForwardOnly(t *testing.T) {
	reached := []task.Status{""}
	for _, rule := range task.Transitions() {
		if !slices.Contains(reached, rule.From) || rule.From == task.Verified || rule.From == task.Rejected {
			t.Errorf("%s leaves %q, which is terminal or never reached", rule.Kind, rule.From)
		}
		if slices.Contains(reached, rule.To) {
			t.Errorf("%s enters %q, which was reached before", rule.Kind, rule.To)
		}
		reached = append(reached, rule.To)
		if rule.Kind.Tool() == "" {
			t.Errorf("%s is made by no tool", rule.Kind)
		}
	}
	if got := reached[1:]; !slices.Equal(got, task.Statuses()) {
		t.Errorf("the table reaches %v, the statuses are %v", got, task.Statuses())
	}
}
