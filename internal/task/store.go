package task

import "context"

// Store keeps tasks and their transitions. The database behind it enforces the
// invariants; a Store explains each refusal as a fault, and nothing changes
// when it returns one. It is safe for concurrent use by any number of processes.
type Store interface {
	// Create appends transition 1 and the task with its criteria.
	// When new.Record.Key was used before by the same agent it returns the
	// transition it made (same content) or fault.IdempotencyConflict.
	// Faults: IdempotencyConflict, NotFound, WrongState and AlreadySuperseded
	// (of new.Supersedes), Unavailable.
	Create(ctx context.Context, created NewTask) (Transition, error)
	// Claim appends transition 2 if the task is pending.
	// Faults: IdempotencyConflict, NotFound, WrongState, Unavailable.
	Claim(ctx context.Context, claimed Record) (Transition, error)
	// Decide appends transition 3 if the task is claimed by another agent.
	// Faults: IdempotencyConflict, NotFound, WrongState, SelfVerify, Unavailable.
	Decide(ctx context.Context, decided Record) (Transition, error)
	// Replay returns the transition that this agent's key made, if any.
	// Faults: IdempotencyConflict when it was made with other content, Unavailable.
	Replay(ctx context.Context, agent AgentID, kind Kind, key IdempotencyKey) (Transition, bool, error)
	// Task returns a task whole. Faults: NotFound, Unavailable.
	Task(ctx context.Context, id ID) (Task, error)
	// Transitions returns the transitions of a task in order, none when there is
	// no such task. Faults: Unavailable.
	Transitions(ctx context.Context, id ID) ([]Transition, error)
	// List returns up to filter.Limit tasks, newest first or in the order of
	// filter.OldestFirst, and the place after which the next page begins: zero after
	// the last page. It may look at no more than MaxLookedAt tasks; then there may be
	// further tasks although it returns fewer than the limit, even none. When that is,
	// Page tells. Faults: Unavailable.
	List(ctx context.Context, filter Filter) (tasks []Summary, next Place, err error)
	// Counts counts the tasks of each status, each up to limit. Faults: Unavailable.
	Counts(ctx context.Context, limit int) (Counts, error)
}

// Record is a transition about to be appended. Its number and its statuses
// follow from its kind (see Transitions). Body is the canonical body that
// commits to all of it, Digest that body's SHA-256 in lower-case hex.
type Record struct {
	TaskID    ID
	Kind      Kind
	Agent     AgentID
	Principal Principal
	At        Time
	Text      string // the evidence of a claim, the notes of a verdict
	Body      string
	Digest    string
	Key       *IdempotencyKey
}

// NewTask is a task about to be created.
type NewTask struct {
	Record
	Title      string
	Criteria   []string
	Supersedes ID // empty when it supersedes nothing
}

// Transition is a transition as it is stored.
type Transition struct {
	TaskID    ID
	Number    int
	Kind      Kind
	From      Status // empty at creation
	To        Status
	Agent     AgentID
	Principal Principal
	At        Time
	Body      string
	Digest    string
}

// IdempotencyKey is a caller's key for one operation and the SHA-256, in hex, of
// the normalised arguments it was used with. It is scoped by agent and tool.
type IdempotencyKey struct {
	Key     string
	Content string
}

// Filter is a validated Query: empty fields filter nothing.
type Filter struct {
	Status       Status
	CreatedBy    AgentID
	ClaimedBy    AgentID
	VerifiableBy AgentID // claimed, by somebody else
	Supersedes   ID
	Before       ID // newest first: only ids below this one, the ID of a Place; empty for the first page
	// OldestFirst has the tasks come by when they reached their status, those of the
	// same moment by their ids; pending tasks by their ids alone, which tell the same.
	// It needs a Status.
	OldestFirst bool
	After       Place // only tasks after it, a place of the same list; zero for the first page
	Limit       int
}

// Place is where a task stands in a list. At means something only in a list of the
// oldest first.
type Place struct {
	At Time // when it reached its status
	ID ID
}
