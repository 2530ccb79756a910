package task_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestRebuild_givesTheTaskAgain(t *testing.T) {
	for _, status := range task.Statuses() {
		h := newHouse()
		id := h.in(t, status)
		want, err := h.Task(t.Context(), string(id))
		if err != nil {
			t.Fatal(err)
		}
		got, err := task.Rebuild(recorded(t, h, id), textsOf(want))
		if err != nil {
			t.Errorf("%s: %v", status, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}

// recorded is what stands in the record of a task.
func recorded(t interface {
	Helper()
	Fatal(args ...any)
}, h house, id task.ID,
) []task.Transition {
	t.Helper()
	transitions, err := h.oracle.Transitions(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return transitions
}

func TestTaskOnRecord_tellsTheTask(t *testing.T) {
	for _, status := range task.Statuses() {
		h := newHouse()
		id := h.in(t, status)
		want, err := h.Task(t.Context(), string(id))
		if err != nil {
			t.Fatal(err)
		}
		got, transitions, err := h.TaskOnRecord(t.Context(), string(id))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(transitions) != len(want.History) {
			t.Errorf("%s: %v (-want +got):\n%s", status, err, diff)
		}
	}
	h := newHouse()
	if _, _, err := h.TaskOnRecord(t.Context(), "nothing"); !errors.Is(err, fault.NotFound) {
		t.Errorf("of no task: %v", err)
	}
}

func textsOf(t task.Task) task.Texts {
	return task.Texts{Criteria: t.AcceptanceCriteria, Evidence: t.Evidence, Notes: t.Notes}
}

func TestRebuild_refusesARecordThatDisagrees(t *testing.T) {
	h := newHouse()
	id := h.decided(t, task.Rejected)
	whole, _ := h.Task(t.Context(), string(id))
	other := recorded(t, h, h.claimed(t))
	good := recorded(t, h, id)
	decide := func(agent task.AgentID, kind task.Kind, notes string) []task.Transition {
		forged := sealRecord(t, task.Record{TaskID: id, Kind: kind, Agent: agent, At: good[2].At, Text: notes})
		return []task.Transition{good[0], good[1], forged.Transition()}
	}
	texts := textsOf(whole)
	for name, c := range map[string]struct {
		transitions []task.Transition
		texts       task.Texts
	}{
		"no transitions":           {nil, texts},
		"a missing first":          {good[1:], texts},
		"a missing middle":         {[]task.Transition{good[0], good[2]}, texts},
		"a missing last":           {good[:2], texts},
		"a claim that is gone":     {good[:1], task.Texts{Criteria: texts.Criteria, Evidence: texts.Evidence}},
		"another order":            {[]task.Transition{good[1], good[0], good[2]}, texts},
		"one transition twice":     {append(slices.Clone(good), good[2]), texts},
		"another task's claim":     {[]task.Transition{good[0], other[1], good[2]}, texts},
		"a changed criterion":      {good, task.Texts{Criteria: []string{"weaker"}, Evidence: texts.Evidence, Notes: texts.Notes}},
		"an added criterion":       {good, task.Texts{Criteria: append(slices.Clone(texts.Criteria), "more"), Evidence: texts.Evidence, Notes: texts.Notes}},
		"changed evidence":         {good, task.Texts{Criteria: texts.Criteria, Evidence: "other", Notes: texts.Notes}},
		"changed notes":            {good, task.Texts{Criteria: texts.Criteria, Evidence: texts.Evidence, Notes: "other"}},
		"notes that are gone":      {good, task.Texts{Criteria: texts.Criteria, Evidence: texts.Evidence}},
		"a verdict by the prover":  {decide("dev", task.KindRejected, texts.Notes), texts},
		"a rejection without note": {decide("rev", task.KindRejected, ""), task.Texts{Criteria: texts.Criteria, Evidence: texts.Evidence}},
	} {
		if built, err := task.Rebuild(c.transitions, c.texts); err == nil {
			t.Errorf("%s: rebuilt as %+v", name, built)
		}
	}
	if _, err := task.Rebuild(decide("rev", task.KindVerified, ""), task.Texts{Criteria: texts.Criteria, Evidence: texts.Evidence}); err != nil {
		t.Errorf("a verification without notes is refused: %v", err)
	}
}
