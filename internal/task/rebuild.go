package task

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Texts are the long texts of a task, which its transitions hold by hash only.
type Texts struct {
	Criteria []string
	Evidence string
	Notes    string
}

// TaskOnRecord returns a task whole, like Task, and its transitions, after every
// word of it was held against their canonical bodies and these against their
// digests. Faults: those of Task, and Internal when the record was altered by
// something other than Countersign.
func (g *Gate) TaskOnRecord(ctx context.Context, id string) (Task, []Transition, error) {
	told, err := g.Task(ctx, id)
	if err != nil {
		return Task{}, nil, err
	}
	transitions, err := g.store.Transitions(ctx, told.TaskID)
	if err != nil {
		return Task{}, nil, err
	}
	// A transition made since the task was read is none of its history.
	transitions = transitions[:min(len(transitions), len(told.History))]
	built, err := Rebuild(transitions, Texts{Criteria: told.AcceptanceCriteria, Evidence: told.Evidence, Notes: told.Notes})
	if err != nil {
		return Task{}, nil, Altered(told.TaskID, err)
	}
	built.SupersededBy = told.SupersededBy
	if !reflect.DeepEqual(built, told) {
		return Task{}, nil, Altered(told.TaskID, errors.New("the task says other than its transitions"))
	}
	return told, transitions, nil
}

// Rebuild makes a task from its transitions, in order, and its long texts. It
// is what the task's row must say (invariant 6), SupersededBy excepted: that
// stands in another task's transition. It returns an error that names the first
// disagreement: a transition that is missing, out of order or altered, or a
// text whose hash is not the recorded one.
func Rebuild(transitions []Transition, texts Texts) (Task, error) {
	if len(transitions) == 0 {
		return Task{}, fmt.Errorf("rebuild a task: it has no transition")
	}
	var built Task
	for i, transition := range transitions {
		content, err := readBody(transition)
		if err != nil {
			return Task{}, fmt.Errorf("rebuild: %w", err)
		}
		if err := built.apply(i+1, transition, content, texts); err != nil {
			return Task{}, fmt.Errorf("rebuild: transition %d of task %s: %w", i+1, transition.TaskID, err)
		}
	}
	if built.Status == Pending && texts.Evidence != "" || built.Verdict == "" && texts.Notes != "" {
		return Task{}, fmt.Errorf("rebuild: task %s is %s and has a text that no transition recorded", built.TaskID, built.Status)
	}
	return built, nil
}

// apply appends one transition to the task built so far.
func (t *Task) apply(number int, transition Transition, content body, texts Texts) error {
	if transition.Number != number || transition.From != t.Status || number > 1 && transition.TaskID != t.TaskID {
		return fmt.Errorf("number %d of task %s from %q does not follow", transition.Number, transition.TaskID, transition.From)
	}
	at := transition.At
	switch transition.Kind {
	case KindCreated:
		if !slices.Equal(content.CriteriaSHA256, hashTexts(texts.Criteria)) {
			return fmt.Errorf("the criteria are not the recorded ones")
		}
		t.TaskID, t.Title, t.Supersedes = transition.TaskID, content.Title, content.Supersedes
		t.AcceptanceCriteria = slices.Clone(texts.Criteria)
		t.CreatedBy, t.CreatedAt = transition.Agent, at
	case KindClaimed:
		if content.EvidenceSHA256 != hashText(texts.Evidence) {
			return fmt.Errorf("the evidence is not the recorded one")
		}
		t.ClaimedBy, t.ClaimedAt, t.Evidence = transition.Agent, &at, texts.Evidence
	case KindVerified, KindRejected:
		if err := t.applyVerdict(transition, content, texts.Notes); err != nil {
			return err
		}
	}
	t.Status = transition.To
	t.History = append(t.History, transition.Change())
	return nil
}

func (t *Task) applyVerdict(transition Transition, content body, notes string) error {
	recorded := ""
	if notes != "" {
		recorded = hashText(notes)
	}
	switch {
	case content.NotesSHA256 != recorded:
		return fmt.Errorf("the notes are not the recorded ones")
	case transition.Agent == t.ClaimedBy:
		return fmt.Errorf("agent %s gave the verdict on its own claim", transition.Agent)
	case transition.Kind == KindRejected && notes == "":
		return fmt.Errorf("a rejection without notes")
	}
	at := transition.At
	t.VerifiedBy, t.DecidedAt, t.Verdict, t.Notes = transition.Agent, &at, content.Verdict, notes
	return nil
}
