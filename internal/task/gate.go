package task

import (
	"context"
	"time"
)

// Gate is the task gate: it validates and normalises what a caller asks for,
// refuses in the fixed order of precedence, and leaves the transition itself to
// the Store. It holds no state of its own and is safe for concurrent use.
//
// The order: (1) shape and size of the arguments, (2) form of the agent id, (3)
// identity lock, (4) an idempotency key seen before, (5) empty criteria or
// evidence, (6) no such task, (7) wrong status, (8) self-verification, (9)
// missing notes. A refused call changes nothing.
type Gate struct {
	store Store
	clock func() time.Time
}

// The gate is what transports call.
var _ Operations = (*Gate)(nil)

// NewGate returns the gate in front of a store. The clock tells the time of
// each transition.
func NewGate(store Store, clock func() time.Time) *Gate {
	return &Gate{store: store, clock: clock}
}

// Create records a new pending task.
// Faults: InvalidArgument, TooLarge, InvalidAgentID, IdentityMismatch,
// IdempotencyConflict, EmptyCriteria, NotFound, WrongState and
// AlreadySuperseded (the last three of the superseded task), Unavailable.
func (g *Gate) Create(ctx context.Context, caller Caller, request CreateRequest) (Created, error) {
	agent, err := admit(caller, fieldCreatedBy, request.CreatedBy, request.IdempotencyKey,
		checkTitle(request.Title), checkCriteria(request.AcceptanceCriteria))
	if err != nil {
		return Created{}, err
	}
	supersedes, isUUID := ID(""), true
	if request.Supersedes != nil {
		supersedes, isUUID = ParseID(*request.Supersedes)
	}
	key, err := createKey(request, agent, supersedes)
	if err != nil {
		return Created{}, err
	}
	record := Record{Kind: KindCreated, Agent: agent, Principal: caller.Principal, Key: key}
	if refusal := first(requireCriteria(request.AcceptanceCriteria), requireID(supersedes, isUUID)); refusal != nil {
		made, err := g.replayOr(ctx, record, refusal)
		return createdOf(made), err
	}
	if record.TaskID, record.At, err = NewID(g.clock()); err != nil {
		return Created{}, err
	}
	created, err := NewTask{
		Record: record, Title: request.Title, Criteria: request.AcceptanceCriteria, Supersedes: supersedes,
	}.Sealed()
	if err != nil {
		return Created{}, err
	}
	made, err := g.store.Create(ctx, created)
	return createdOf(made), err
}

// Claim records that an agent says a pending task is done.
// Faults: InvalidArgument, TooLarge, InvalidAgentID, IdentityMismatch,
// IdempotencyConflict, EmptyEvidence, NotFound, WrongState, Unavailable.
func (g *Gate) Claim(ctx context.Context, caller Caller, request ClaimRequest) (ClaimRecorded, error) {
	agent, err := admit(caller, fieldAgentID, request.AgentID, request.IdempotencyKey,
		checkBytes(fieldEvidence, request.Evidence, LimitEvidence))
	if err != nil {
		return ClaimRecorded{}, err
	}
	id, isUUID := ParseID(request.TaskID)
	key, err := claimKey(request, agent, id)
	if err != nil {
		return ClaimRecorded{}, err
	}
	record := Record{
		TaskID: id, Kind: KindClaimed, Agent: agent, Principal: caller.Principal,
		At: At(g.clock()), Text: request.Evidence, Key: key,
	}
	if refusal := first(requireEvidence(request.Evidence), requireID(id, isUUID)); refusal != nil {
		made, err := g.replayOr(ctx, record, refusal)
		return claimOf(made), err
	}
	claimed, err := record.Sealed()
	if err != nil {
		return ClaimRecorded{}, err
	}
	made, err := g.store.Claim(ctx, claimed)
	return claimOf(made), err
}

// Verify records the verdict on a claimed task.
// Faults: InvalidArgument, TooLarge, InvalidAgentID, IdentityMismatch,
// IdempotencyConflict, NotFound, WrongState, SelfVerify, MissingNotes,
// Unavailable.
func (g *Gate) Verify(ctx context.Context, caller Caller, request VerifyRequest) (Decided, error) {
	kind, badVerdict := parseVerdict(request.Verdict)
	agent, err := admit(caller, fieldVerifier, request.VerifierAgentID, request.IdempotencyKey,
		badVerdict, checkBytes(fieldNotes, request.Notes, LimitNotes))
	if err != nil {
		return Decided{}, err
	}
	if blank(request.Notes) {
		request.Notes = ""
	}
	id, isUUID := ParseID(request.TaskID)
	key, err := verdictKey(request, agent, id)
	if err != nil {
		return Decided{}, err
	}
	record := Record{
		TaskID: id, Kind: kind, Agent: agent, Principal: caller.Principal,
		At: At(g.clock()), Text: request.Notes, Key: key,
	}
	if refusal := requireID(id, isUUID); refusal != nil {
		made, err := g.replayOr(ctx, record, refusal)
		return decidedOf(made), err
	}
	if kind == KindRejected && request.Notes == "" {
		made, err := g.replayOr(ctx, record, g.refusalWithoutNotes(ctx, record))
		return decidedOf(made), err
	}
	decided, err := record.Sealed()
	if err != nil {
		return Decided{}, err
	}
	made, err := g.store.Decide(ctx, decided)
	return decidedOf(made), err
}

// refusalWithoutNotes finds the fault of a rejection without notes. It cannot
// succeed, so the task is only read, and whatever comes before the missing
// notes is told first.
func (g *Gate) refusalWithoutNotes(ctx context.Context, rejected Record) error {
	current, err := g.store.Task(ctx, rejected.TaskID)
	if err != nil {
		return err
	}
	if refusal := RefuseTransition(rejected, current.Status, current.ClaimedBy); refusal != nil {
		return refusal
	}
	return MissingNotes(rejected.TaskID)
}

// replayOr refuses a record that cannot be appended, unless its key was seen
// before: then it is that key's first answer again, or the conflict.
func (g *Gate) replayOr(ctx context.Context, record Record, refusal error) (Transition, error) {
	if record.Key == nil {
		return Transition{}, refusal
	}
	seen, found, err := g.store.Replay(ctx, record.Agent, record.Kind, *record.Key)
	if err != nil || found {
		return seen, err
	}
	return Transition{}, refusal
}

func createdOf(t Transition) Created {
	return Created{TaskID: t.TaskID, Status: t.To, CreatedAt: t.At}
}

func claimOf(t Transition) ClaimRecorded {
	return ClaimRecorded{TaskID: t.TaskID, Status: t.To, ClaimedBy: t.Agent, ClaimedAt: t.At}
}

func decidedOf(t Transition) Decided {
	return Decided{TaskID: t.TaskID, Status: t.To, VerifiedBy: t.Agent, DecidedAt: t.At}
}
