package web

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/words"
)

// taskView is the page of one task.
type taskView struct {
	task.Task

	Since      moment // it has its status
	Waits      bool   // it is claimed, and has waited for long
	Altered    string // what the record says against the task; empty when it holds
	Doubt      task.Doubt
	Missing    missing
	Command    string // what a person may call next
	Steps      []taskStep
	Lineage    []lineageRow // newest first; empty when the task stands alone
	LineageCut bool         // there may be more of it
}

// lineageRow is a task of the lineage.
type lineageRow struct {
	task.Summary

	Since moment // it has its status
	Here  bool   // it is the one that the page shows
}

// taskStep is a transition on the timeline. Principal and Digest are empty when the
// record was altered.
type taskStep struct {
	task.Change

	When      moment
	Principal string
	Digest    string
	After     string // since the step before, in words; empty for the first
}

// Decided reports whether the task has the status that it will keep.
func (v taskView) Decided() bool { return v.DecidedAt != nil }

// ShortDigest is the beginning of the digest, to be compared at a glance.
func (s taskStep) ShortDigest() string { return s.Digest[:min(len(s.Digest), shortDigest)] }

// shortDigest is how many characters of a digest are shown.
const shortDigest = 12

// missing is what a task waits for, in one sentence, with the task where its work
// goes on, if it does elsewhere.
type missing struct {
	Sentence  string
	Successor task.ID
}

// showTask shows one task. A record that was altered does not hide it: the page says
// so.
func (s *site) showTask(r *http.Request) (frame, error) {
	told, transitions, err := s.Tasks.TaskOnRecord(r.Context(), r.PathValue("id"))
	altered := ""
	if coded, _ := fault.Of(err); task.IsAltered(err) {
		s.Log.ErrorContext(r.Context(), "the record of a task was altered", slog.Any("cause", err))
		altered = coded.Message
		told, err = s.Tasks.Task(r.Context(), r.PathValue("id"))
	}
	if err != nil {
		return frame{}, fmt.Errorf("read task %s: %w", r.PathValue("id"), forPeople(err))
	}
	view := taskView{
		Task: told, Altered: altered, Missing: missingOf(told, altered != ""), Command: nextCommand(told, altered != ""), Steps: s.stepsOf(told, transitions),
		Doubt: task.DoubtOf(transitions),
	}
	since := sinceOf(told)
	view.Since, view.Waits = s.at(since.Time()), s.waits(told.Status, since)
	topics := []string{topicTask(told.TaskID)}
	if s.Agents != nil && (told.Supersedes != "" || told.SupersededBy != "") {
		lineage, err := s.Agents.Lineage(r.Context(), string(told.TaskID))
		if err != nil {
			return frame{}, fmt.Errorf("read the lineage of task %s: %w", told.TaskID, err)
		}
		view.LineageCut = len(lineage) >= task.MaxLineage
		for _, one := range lineage {
			view.Lineage = append(view.Lineage, lineageRow{Summary: one, Since: s.at(one.UpdatedAt.Time()), Here: one.TaskID == told.TaskID})
			if one.TaskID != told.TaskID {
				topics = append(topics, topicTask(one.TaskID))
			}
		}
	}
	return frame{Title: told.Title, Topics: topics, Content: view}, nil
}

// topicTask is the topic of the events of one task.
func topicTask(id task.ID) string { return topicTasks + ":" + string(id) }

// sinceOf is when the task reached its status.
func sinceOf(told task.Task) task.Time {
	switch {
	case told.DecidedAt != nil:
		return *told.DecidedAt
	case told.ClaimedAt != nil:
		return *told.ClaimedAt
	}
	return told.CreatedAt
}

// missingOf says what is still missing until the task is verified.
func missingOf(told task.Task, altered bool) missing {
	if altered {
		return missing{Sentence: "Nobody can say: what this task tells is not what was recorded."}
	}
	switch told.Status {
	case task.Pending:
		return missing{Sentence: "A claim with evidence, by any agent."}
	case task.Claimed:
		return missing{Sentence: fmt.Sprintf("The verdict of another agent than %s: verified, or rejected.", told.ClaimedBy)}
	case task.Verified:
		return missing{Sentence: fmt.Sprintf("Nothing: %s did it, and %s countersigned.", told.ClaimedBy, told.VerifiedBy)}
	case task.Rejected:
		if told.SupersededBy != "" {
			return missing{Sentence: "Nothing: rejected is final. The work goes on in", Successor: told.SupersededBy}
		}
		return missing{Sentence: "Nothing: rejected is final. Go on with a new task that supersedes it:"}
	}
	return missing{Sentence: "Nobody knows: this status is none of a task."}
}

// nextCommand is what a person may call next. It is ready to paste but for what is in
// angle brackets, which ends the line, so that a shell refuses it as it stands.
func nextCommand(told task.Task, altered bool) string {
	show := func(id task.ID) string { return "countersign task show " + string(id) }
	if altered {
		return show(told.TaskID)
	}
	switch told.Status {
	case task.Pending:
		return fmt.Sprintf("countersign task claim %s --agent-id <your-agent-id> --evidence-file <file>", told.TaskID)
	case task.Claimed:
		return fmt.Sprintf("countersign task verify %s --agent-id <your-agent-id> --notes <what-you-found> --verdict <verified|rejected>", told.TaskID)
	case task.Rejected:
		if told.SupersededBy != "" {
			return show(told.SupersededBy)
		}
		return fmt.Sprintf("countersign task create --agent-id <your-agent-id> --supersedes %s --title <title> --criterion <criterion>", told.TaskID)
	case task.Verified:
	}
	return show(told.TaskID)
}

// stepsOf is the timeline: from the transitions on record, or without them from
// what the task says of itself.
func (s *site) stepsOf(told task.Task, transitions []task.Transition) []taskStep {
	steps := make([]taskStep, len(told.History))
	for i, change := range told.History {
		steps[i].Change, steps[i].When = change, s.at(change.At.Time())
		if i < len(transitions) {
			steps[i].Digest = transitions[i].Digest
			steps[i].Principal = transitions[i].Principal.Kind + " " + transitions[i].Principal.ID
		}
		if i > 0 {
			steps[i].After = words.Age(change.At.Time().Sub(told.History[i-1].At.Time()))
		}
	}
	return steps
}
