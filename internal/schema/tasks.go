package schema

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/task"
)

// CreateTask returns what a creation takes on a connection that is locked to an
// agent; lock is empty when it is not.
func CreateTask(lock task.AgentID) Operation[task.CreateRequest] {
	return Operation[task.CreateRequest]{"create_task", []Argument[task.CreateRequest]{
		{
			"title", fmt.Sprintf("What is to be done, in one line of at most %d characters.", task.MaxTitle), Required,
			func(q *task.CreateRequest) any { return &q.Title }, nil,
		},
		{
			"acceptance_criteria", fmt.Sprintf("What must hold, one checkable statement each; 1 to %d, each at most %d characters, together at most %d KiB.",
				task.MaxCriteria, task.MaxCriterion, task.MaxCriteriaBytes>>10), Checked,
			func(q *task.CreateRequest) any { return &q.AcceptanceCriteria }, atLeastOne,
		},
		callerArgument("created_by", lock, func(q *task.CreateRequest) any { return &q.CreatedBy }),
		{
			"supersedes", "Id of the rejected task that this one replaces. A rejected task has at most one successor.", Optional,
			func(q *task.CreateRequest) any { return &q.Supersedes }, nil,
		},
		keyArgument(func(q *task.CreateRequest) any { return &q.IdempotencyKey }),
	}}
}

// ClaimDone returns what a claim takes on a connection that is locked to an agent;
// lock is empty when it is not.
func ClaimDone(lock task.AgentID) Operation[task.ClaimRequest] {
	return Operation[task.ClaimRequest]{"claim_done", []Argument[task.ClaimRequest]{
		taskArgument(func(q *task.ClaimRequest) any { return &q.TaskID }),
		callerArgument("agent_id", lock, func(q *task.ClaimRequest) any { return &q.AgentID }),
		{
			"evidence", fmt.Sprintf("For each criterion: what was done, where it is (files, commits, URLs) and how to check it (commands and what they print). At most %d KiB.",
				task.MaxEvidence>>10), Checked,
			func(q *task.ClaimRequest) any { return &q.Evidence }, nil,
		},
		keyArgument(func(q *task.ClaimRequest) any { return &q.IdempotencyKey }),
	}}
}

// Verify returns what a verdict takes on a connection that is locked to an agent;
// lock is empty when it is not.
func Verify(lock task.AgentID) Operation[task.VerifyRequest] {
	return Operation[task.VerifyRequest]{"verify", []Argument[task.VerifyRequest]{
		taskArgument(func(q *task.VerifyRequest) any { return &q.TaskID }),
		callerArgument("verifier_agent_id", lock, func(q *task.VerifyRequest) any { return &q.VerifierAgentID }),
		{
			"verdict", "verified only if every criterion holds.", Required,
			func(q *task.VerifyRequest) any { return &q.Verdict }, oneOf(task.Verified, task.Rejected),
		},
		{
			"notes", fmt.Sprintf("What you checked and found, criterion by criterion. Required when rejected: name the gap. At most %d KiB.", task.MaxNotes>>10), Optional,
			func(q *task.VerifyRequest) any { return &q.Notes }, nil,
		},
		keyArgument(func(q *task.VerifyRequest) any { return &q.IdempotencyKey }),
	}}
}

// TaskQuery names one task.
type TaskQuery struct{ TaskID string }

// GetTask returns what the reading of a task takes.
func GetTask() Operation[TaskQuery] {
	return Operation[TaskQuery]{"get_task", []Argument[TaskQuery]{
		taskArgument(func(q *TaskQuery) any { return &q.TaskID }),
	}}
}

// ListTasks returns what a list of tasks takes.
func ListTasks() Operation[task.Query] {
	return Operation[task.Query]{"list_tasks", []Argument[task.Query]{
		{
			"status", "Only tasks with this status.", Optional, func(q *task.Query) any { return &q.Status },
			oneOf(task.Pending, task.Claimed, task.Verified, task.Rejected),
		},
		{"created_by", "Only tasks that this agent created.", Optional, func(q *task.Query) any { return &q.CreatedBy }, nil},
		{"claimed_by", "Only tasks that this agent claimed.", Optional, func(q *task.Query) any { return &q.ClaimedBy }, nil},
		{"verifiable_by", "Only tasks whose verdict this agent may give.", Optional, func(q *task.Query) any { return &q.VerifiableBy }, nil},
		{"supersedes", "Only the successor of this task.", Optional, func(q *task.Query) any { return &q.Supersedes }, nil},
		{"limit", fmt.Sprintf("Tasks on a page; %d when left out.", task.DefaultPage), Optional, func(q *task.Query) any { return &q.Limit }, within(1, task.MaxPage)},
		cursorArgument(func(q *task.Query) any { return &q.Cursor }),
	}}
}

// OrderTasks returns what a list of tasks takes whose order can be chosen.
func OrderTasks() Operation[task.Query] {
	return ListTasks().with(Argument[task.Query]{
		"order", "By creation, newest first, which is what it is when left out; or by how long they have been in the status, longest first, which needs a status.", Optional,
		func(q *task.Query) any { return &q.Order }, oneOf(task.OrderNewest, task.OrderOldest),
	})
}

func taskArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"task_id", "Id of the task, as create_task or list_tasks gave it.", Required, place, nil}
}

func keyArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"idempotency_key", fmt.Sprintf("Makes a repeated call safe: the same key and arguments get the first answer again. At most %d characters.", task.MaxKey), Optional, place, nil}
}

func cursorArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"cursor", "next_cursor of the page before.", Optional, place, nil}
}

// callerArgument is the argument that names who calls. On a connection that is
// locked to an agent it may be left out.
func callerArgument[Q any](name string, lock task.AgentID, place func(*Q) any) Argument[Q] {
	if lock != "" {
		return Argument[Q]{name, fmt.Sprintf("You are %s on this connection: leave it out.", lock), Optional, place, nil}
	}
	return Argument[Q]{name, fmt.Sprintf("Your own agent id: 1 to %d of a-z 0-9 . _ - beginning with a letter or digit.", task.MaxAgentID), Checked, place, nil}
}
