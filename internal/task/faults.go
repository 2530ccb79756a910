package task

import (
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Names of the details that the faults of tasks carry beside those of fault.
const (
	detailTaskID       = "task_id"
	detailClaimedBy    = "claimed_by"
	detailSupersededBy = "superseded_by"
	detailLockedTo     = "locked_to"
	detailUnit         = "unit"
)

// maxQuoted is how many characters of a caller's own text a message repeats.
const maxQuoted = 80

// NotFound says that no task has this id; the id may be any text at all.
func NotFound(id ID) *fault.Error {
	return fault.New(fault.NotFound, "there is no task %s", quote(string(id))).
		With(detailTaskID, clip(string(id))).
		WithHint("Call list_tasks to see which tasks exist; an id is copied whole from create_task or list_tasks.")
}

// WrongState says that a task's status does not permit the transition.
func WrongState(id ID, wanted Kind, current Status) *fault.Error {
	rule, _ := RuleOf(wanted)
	act := "a verdict"
	if wanted == KindClaimed {
		act = "a claim"
	}
	return fault.New(fault.WrongState, "task %s is %s; %s needs a task that is %s", id, current, act, rule.From).
		With(detailTaskID, id).
		With(fault.CurrentStatus, current).
		WithHint("%s", wayOn(current))
}

// NotRejected says that a task cannot be superseded because it is not rejected.
func NotRejected(id ID, current Status) *fault.Error {
	return fault.New(fault.WrongState, "task %s is %s; only a rejected task can be superseded", id, current).
		With(detailTaskID, id).
		With(fault.CurrentStatus, current).
		WithHint("%s", wayOn(current))
}

// wayOn says what can be done with a task of this status.
func wayOn(current Status) string {
	switch current {
	case Pending:
		return "When the work is done, call claim_done with evidence for each criterion."
	case Claimed:
		return "It waits for a verdict: an agent other than the one who claimed it calls get_task, checks each criterion, then calls verify."
	case Verified:
		return "The task is finished and never changes. For more work call create_task without supersedes."
	case Rejected:
		return "The verdict is final. To try again call create_task with supersedes set to this task's id."
	}
	return "Call get_task to see the task."
}

// SelfVerify says that the agent who claimed a task tried to give its verdict.
func SelfVerify(id ID, prover AgentID) *fault.Error {
	return fault.New(fault.SelfVerify, "agent %s claimed task %s and may not give its verdict, neither verified nor rejected", prover, id).
		With(detailTaskID, id).
		With(detailClaimedBy, prover).
		With(fault.CurrentStatus, Claimed).
		WithHint("Have a different agent call get_task, check each criterion against the real system, and call verify. The claim stands unchanged.")
}

// AlreadySuperseded says that a rejected task has its one successor.
func AlreadySuperseded(id, successor ID) *fault.Error {
	return fault.New(fault.AlreadySuperseded, "task %s is already superseded by task %s", id, successor).
		With(detailTaskID, id).
		With(detailSupersededBy, successor).
		With(fault.CurrentStatus, Rejected).
		WithHint("Call get_task on %s and go on with that task.", successor)
}

// IdempotencyConflict says that this agent used the key before, for the same
// tool and with other arguments.
func IdempotencyConflict(key string) *fault.Error {
	return fault.New(fault.IdempotencyConflict, "the idempotency key %s was used before with other arguments", quote(key)).
		With(fault.Field, "idempotency_key").
		WithHint("Repeat the first call exactly to get its answer again, or use a new key for a new call.")
}

// Unavailable says that the database could not answer in time. Nothing changed.
// The cause is for the log; it is not shown.
func Unavailable(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "the database could not answer in time; nothing changed").
		WithHint("Make the same call again, with the same idempotency_key if it had one.").
		WithCause(cause)
}

// Altered says that a task is not what its record says, and what differs.
func Altered(id ID, cause error) *fault.Error {
	return fault.New(fault.Internal, "the record of task %s was altered by something other than Countersign: %v", id, cause).
		With(detailTaskID, id).
		WithHint("Trust nothing of this task. Find out who can write to the database, and compare with a backup.").
		WithCause(altered{cause})
}

// altered is the cause of a fault of Altered.
type altered struct{ error }

// Unwrap gives what differs.
func (a altered) Unwrap() error { return a.error }

// IsAltered reports whether err is or wraps a fault of Altered.
func IsAltered(err error) bool {
	_, is := errors.AsType[altered](err)
	return is
}

// MissingNotes says that a rejection came without notes.
func MissingNotes(id ID) *fault.Error {
	return fault.New(fault.MissingNotes, "a rejection needs notes that are not blank").
		With(detailTaskID, id).
		With(fault.Field, "notes").
		With(fault.CurrentStatus, Claimed).
		WithHint("Call verify again with notes that name each criterion that fails and what was found instead.")
}

// EmptyCriteria says that a task came without criteria, or that the criterion
// called field is blank.
func EmptyCriteria(field string) *fault.Error {
	message := "a task needs at least one acceptance criterion, and none may be blank"
	if field != fieldCriteria {
		message = field + " is blank"
	}
	return fault.New(fault.EmptyCriteria, "%s", message).
		With(fault.Field, field).
		WithHint("Call create_task with criteria that someone who did not do the work can decide, such as \"GET /healthz returns 200\".")
}

// EmptyEvidence says that a claim came without evidence.
func EmptyEvidence() *fault.Error {
	return fault.New(fault.EmptyEvidence, "a claim needs evidence that is not blank").
		With(fault.Field, "evidence").
		WithHint("Call claim_done again and say for each criterion what was done and how it can be checked.")
}

// InvalidAgentID says that the argument called field has not the form of an agent id.
func InvalidAgentID(field, given string) *fault.Error {
	return fault.New(fault.InvalidAgentID, "%s %s is no agent id", field, quote(given)).
		With(fault.Field, field).
		WithHint("An agent id has 1 to %d of the characters a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit.", MaxAgentID)
}

// IdentityMismatch says that the argument called field names another agent than
// the one the connection is locked to.
func IdentityMismatch(field string, given, lock AgentID) *fault.Error {
	return fault.New(fault.IdentityMismatch, "%s is %s, but this connection is locked to agent %s", field, given, lock).
		With(fault.Field, field).
		With(detailLockedTo, lock).
		WithHint("Leave %s out, or give %s. Another agent uses a connection of its own.", field, lock)
}

// InvalidArgument says what is wrong with the argument called field.
func InvalidArgument(field, format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidArgument, "%s %s", field, fmt.Sprintf(format, args...)).
		With(fault.Field, field)
}

// TooLarge says that the argument called field passes the limit.
func TooLarge(field string, name LimitName) *fault.Error {
	limit := limitOf(name)
	message := fmt.Sprintf("%s is over the limit of %d %s", field, limit.Max, limit.Unit)
	if name == LimitCriteriaBytes {
		message = fmt.Sprintf("%s is over the limit of %d %s for all criteria together", field, limit.Max, limit.Unit)
	}
	return fault.New(fault.TooLarge, "%s", message).
		With(fault.Field, field).
		With(fault.Limit, limit.Max).
		With(detailUnit, limit.Unit).
		WithHint("Shorten it: name files, commands and commits instead of pasting them.")
}

// quote repeats a caller's own text in a message, bounded and in one line.
func quote(text string) string { return fmt.Sprintf("%q", clip(text)) }

// clip bounds a text to what a message repeats.
func clip(text string) string {
	count := 0
	for at := range text {
		if count == maxQuoted {
			return strings.ToValidUTF8(text[:at], "\uFFFD") + "…"
		}
		count++
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
