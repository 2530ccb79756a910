// Package task owns tasks, their criteria, claims and verdicts: the state
// machine, the order in which a call is refused, and the form of the record.
//
// It is pure: it knows no database, no transport and no clock of its own. Its
// one idea is that a task moves forward only, and that the agent who claimed it
// done is never the one who gives the verdict.
package task

import "context"

// ID identifies a task: a UUIDv7 (RFC 9562, section 5.7) in lower case, so that
// ids in descending order are tasks from the newest to the oldest.
type ID string

// AgentID is an agent's declared id in its normal form: trimmed, lower-cased,
// ^[a-z0-9][a-z0-9._-]{0,63}$. ParseAgentID makes one.
type AgentID string

// Principal is who or what stands behind an agent.
type Principal struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Caller is on whose behalf an operation is called. Lock is the agent that the
// connection is locked to, empty when it is not locked.
type Caller struct {
	Principal Principal
	Lock      AgentID
}

// Status is where a task is.
type Status string

// The statuses. Verified and Rejected are terminal.
const (
	Pending  Status = "pending"
	Claimed  Status = "claimed"
	Verified Status = "verified"
	Rejected Status = "rejected"
)

// Kind says what a transition did.
type Kind string

// The kinds of transition; creation is the first of a task.
const (
	KindCreated  Kind = "created"
	KindClaimed  Kind = "claimed"
	KindVerified Kind = "verified"
	KindRejected Kind = "rejected"
)

// Operations is what transports need of the task gate. Each method's fault
// codes stand at Gate's method of the same name. The arguments are the raw ones
// of the caller: Gate validates and normalises them, a transport only decodes.
// Every result marshals to the JSON object of the contract.
type Operations interface {
	Create(ctx context.Context, caller Caller, request CreateRequest) (Created, error)
	Claim(ctx context.Context, caller Caller, request ClaimRequest) (ClaimRecorded, error)
	Verify(ctx context.Context, caller Caller, request VerifyRequest) (Decided, error)
	Task(ctx context.Context, id string) (Task, error)
	List(ctx context.Context, query Query) (Page, error)
}

// CreateRequest asks for a new task. A nil pointer is an absent argument.
type CreateRequest struct {
	Title              string   `json:"title"`
	AcceptanceCriteria []string `json:"acceptance_criteria"`
	CreatedBy          *string  `json:"created_by"`
	Supersedes         *string  `json:"supersedes"`
	IdempotencyKey     *string  `json:"idempotency_key"`
}

// ClaimRequest claims a pending task done.
type ClaimRequest struct {
	TaskID         string  `json:"task_id"`
	AgentID        *string `json:"agent_id"`
	Evidence       string  `json:"evidence"`
	IdempotencyKey *string `json:"idempotency_key"`
}

// VerifyRequest gives a verdict on a claimed task.
type VerifyRequest struct {
	TaskID          string  `json:"task_id"`
	VerifierAgentID *string `json:"verifier_agent_id"`
	Verdict         string  `json:"verdict"`
	Notes           string  `json:"notes"`
	IdempotencyKey  *string `json:"idempotency_key"`
}

// The orders of a list of tasks.
const (
	OrderNewest = "newest" // the task created last comes first
	OrderOldest = "oldest" // the task that has been in its status for longest comes first
)

// Query selects a page of tasks. A nil pointer is no filter; filters combine.
// Filters are not identities and are never held against a lock.
type Query struct {
	Status       *string `json:"status"`
	CreatedBy    *string `json:"created_by"`
	ClaimedBy    *string `json:"claimed_by"`
	VerifiableBy *string `json:"verifiable_by"`
	Supersedes   *string `json:"supersedes"`
	Order        *string `json:"order"` // OrderNewest, the default, or OrderOldest, which needs a status
	Limit        *int    `json:"limit"`
	Cursor       *string `json:"cursor"`
}

// Created is the record of a creation.
type Created struct {
	TaskID    ID     `json:"task_id"`
	Status    Status `json:"status"`
	CreatedAt Time   `json:"created_at"`
}

// ClaimRecorded is the record of a claim.
type ClaimRecorded struct {
	TaskID    ID      `json:"task_id"`
	Status    Status  `json:"status"`
	ClaimedBy AgentID `json:"claimed_by"`
	ClaimedAt Time    `json:"claimed_at"`
}

// Decided is the record of a verdict.
type Decided struct {
	TaskID     ID      `json:"task_id"`
	Status     Status  `json:"status"`
	VerifiedBy AgentID `json:"verified_by"`
	DecidedAt  Time    `json:"decided_at"`
}

// Task is the whole of a task.
type Task struct {
	TaskID             ID       `json:"task_id"`
	Title              string   `json:"title"`
	Status             Status   `json:"status"`
	AcceptanceCriteria []string `json:"acceptance_criteria"`
	CreatedBy          AgentID  `json:"created_by"`
	CreatedAt          Time     `json:"created_at"`
	ClaimedBy          AgentID  `json:"claimed_by,omitempty"`
	ClaimedAt          *Time    `json:"claimed_at,omitempty"`
	Evidence           string   `json:"evidence,omitempty"`
	VerifiedBy         AgentID  `json:"verified_by,omitempty"`
	DecidedAt          *Time    `json:"decided_at,omitempty"`
	Verdict            Status   `json:"verdict,omitempty"`
	Notes              string   `json:"notes,omitempty"`
	Supersedes         ID       `json:"supersedes,omitempty"`
	SupersededBy       ID       `json:"superseded_by,omitempty"`
	History            []Change `json:"history"`
	Truncated          []string `json:"truncated,omitempty"`
}

// Change is a transition as get_task tells it; the texts stand once, outside.
type Change struct {
	Number int     `json:"number"`
	Kind   Kind    `json:"kind"`
	From   *Status `json:"from"`
	To     Status  `json:"to"`
	Agent  AgentID `json:"agent"`
	At     Time    `json:"at"`
}

// Summary is a task in a list.
type Summary struct {
	TaskID        ID      `json:"task_id"`
	Title         string  `json:"title"`
	Status        Status  `json:"status"`
	CreatedBy     AgentID `json:"created_by"`
	CreatedAt     Time    `json:"created_at"`
	ClaimedBy     AgentID `json:"claimed_by,omitempty"`
	UpdatedAt     Time    `json:"updated_at"`
	CriteriaCount int     `json:"criteria_count"`
	Supersedes    ID      `json:"supersedes,omitempty"`
}

// Page is one page of a list, and how many tasks there are of each status,
// each counted up to CountsCappedAt.
//
// Only a page without NextCursor is the last one. To find its tasks, a page looks at
// no more than MaxLookedAt tasks: it can hold fewer than its limit,
// even none, and have a cursor, from which the next page looks further (as
// https://google.aip.dev/158 allows). So it is with VerifiableBy, with CreatedBy
// beside ClaimedBy, and with an agent in the order OrderOldest of tasks that were
// claimed or decided.
type Page struct {
	Tasks          []Summary `json:"tasks"`
	NextCursor     string    `json:"next_cursor,omitempty"`
	Counts         Counts    `json:"counts"`
	CountsCappedAt int       `json:"counts_capped_at"`
}

// Counts is how many tasks have each status.
type Counts struct {
	Pending  int `json:"pending"`
	Claimed  int `json:"claimed"`
	Verified int `json:"verified"`
	Rejected int `json:"rejected"`
}
