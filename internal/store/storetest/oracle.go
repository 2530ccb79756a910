package storetest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/internal/task"
)

// Oracle is a naive task.Store in memory: what a database must do, readable in
// a minute. Tests hold the databases against it.
type Oracle struct {
	mu    sync.Mutex
	tasks map[task.ID]*kept
	keys  map[scope]remembered
}

// kept is a task and what the record says of it.
type kept struct {
	task        task.Task
	transitions []task.Transition
}

// scope is what an idempotency key is unique in.
type scope struct {
	agent task.AgentID
	tool  string
	key   string
}

type remembered struct {
	content string
	made    task.Transition
}

// The oracle is a store.
var _ task.Store = (*Oracle)(nil)

// NewOracle returns an empty oracle.
func NewOracle() *Oracle {
	return &Oracle{tasks: map[task.ID]*kept{}, keys: map[scope]remembered{}}
}

// Create implements task.Store.
func (o *Oracle) Create(_ context.Context, created task.NewTask) (task.Transition, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if made, seen, err := o.replay(created.Agent, created.Kind, created.Key); seen || err != nil {
		return made, err
	}
	if created.Supersedes != "" {
		old, ok := o.tasks[created.Supersedes]
		if !ok {
			return task.Transition{}, task.NotFound(created.Supersedes)
		}
		if err := task.RefuseSupersede(created.Supersedes, old.task.Status, old.task.SupersededBy); err != nil {
			return task.Transition{}, err
		}
		old.task.SupersededBy = created.TaskID
	}
	o.tasks[created.TaskID] = &kept{task: task.Task{
		TaskID:             created.TaskID,
		Title:              created.Title,
		AcceptanceCriteria: slices.Clone(created.Criteria),
		CreatedBy:          created.Agent,
		CreatedAt:          created.At,
		Supersedes:         created.Supersedes,
	}}
	return o.append(created.Record), nil
}

// Claim implements task.Store.
func (o *Oracle) Claim(_ context.Context, claimed task.Record) (task.Transition, error) {
	return o.change(claimed, func(t *task.Task) {
		t.ClaimedBy, t.ClaimedAt, t.Evidence = claimed.Agent, &claimed.At, claimed.Text
	})
}

// Decide implements task.Store.
func (o *Oracle) Decide(_ context.Context, decided task.Record) (task.Transition, error) {
	return o.change(decided, func(t *task.Task) {
		t.VerifiedBy, t.DecidedAt, t.Notes = decided.Agent, &decided.At, decided.Text
		t.Verdict = task.Status(decided.Kind)
	})
}

func (o *Oracle) change(record task.Record, write func(*task.Task)) (task.Transition, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if made, seen, err := o.replay(record.Agent, record.Kind, record.Key); seen || err != nil {
		return made, err
	}
	found, ok := o.tasks[record.TaskID]
	if !ok {
		return task.Transition{}, task.NotFound(record.TaskID)
	}
	if err := task.RefuseTransition(record, found.task.Status, found.task.ClaimedBy); err != nil {
		return task.Transition{}, err
	}
	write(&found.task)
	return o.append(record), nil
}

// append records a transition of a task that permits it.
func (o *Oracle) append(record task.Record) task.Transition {
	made := record.Transition()
	changed := o.tasks[record.TaskID]
	changed.task.Status = made.To
	changed.task.History = append(changed.task.History, made.Change())
	changed.transitions = append(changed.transitions, made)
	if record.Key != nil {
		o.keys[scope{record.Agent, record.Kind.Tool(), record.Key.Key}] = remembered{record.Key.Content, made}
	}
	return made
}

// Replay implements task.Store.
func (o *Oracle) Replay(_ context.Context, agent task.AgentID, kind task.Kind, key task.IdempotencyKey) (task.Transition, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.replay(agent, kind, &key)
}

func (o *Oracle) replay(agent task.AgentID, kind task.Kind, key *task.IdempotencyKey) (task.Transition, bool, error) {
	if key == nil {
		return task.Transition{}, false, nil
	}
	seen, ok := o.keys[scope{agent, kind.Tool(), key.Key}]
	if ok && seen.content != key.Content {
		return task.Transition{}, false, task.IdempotencyConflict(key.Key)
	}
	return seen.made, ok, nil
}

// Task implements task.Store.
func (o *Oracle) Task(_ context.Context, id task.ID) (task.Task, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.tasks[id]
	if !ok {
		return task.Task{}, task.NotFound(id)
	}
	whole := found.task
	whole.History = slices.Clone(whole.History)
	return whole, nil
}

// Transitions implements task.Store.
func (o *Oracle) Transitions(_ context.Context, id task.ID) ([]task.Transition, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found, ok := o.tasks[id]; ok {
		return slices.Clone(found.transitions), nil
	}
	return nil, nil
}

// List implements task.Store.
func (o *Oracle) List(_ context.Context, filter task.Filter) ([]task.Summary, task.Place, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var page []task.Summary
	for _, candidate := range o.tasks {
		if matches(candidate.task, filter) {
			page = append(page, summary(candidate.task))
		}
	}
	slices.SortFunc(page, func(a, b task.Summary) int {
		if filter.OldestFirst {
			return cmp.Or(cmp.Compare(a.UpdatedAt, b.UpdatedAt), cmp.Compare(a.TaskID, b.TaskID))
		}
		return cmp.Compare(b.TaskID, a.TaskID)
	})
	if len(page) > filter.Limit {
		last := page[filter.Limit-1]
		return page[:filter.Limit], task.Place{At: last.UpdatedAt, ID: last.TaskID}, nil
	}
	return page, task.Place{}, nil
}

func matches(t task.Task, filter task.Filter) bool {
	return (filter.Status == "" || t.Status == filter.Status) &&
		(filter.CreatedBy == "" || t.CreatedBy == filter.CreatedBy) &&
		(filter.ClaimedBy == "" || t.ClaimedBy == filter.ClaimedBy) &&
		(filter.VerifiableBy == "" || t.Status == task.Claimed && t.ClaimedBy != filter.VerifiableBy) &&
		(filter.Supersedes == "" || t.Supersedes == filter.Supersedes) &&
		(filter.Before == "" || t.TaskID < filter.Before) &&
		(!filter.OldestFirst || filter.After.ID == "" || comesAfter(summary(t), filter.After))
}

func comesAfter(t task.Summary, place task.Place) bool {
	return t.UpdatedAt > place.At || t.UpdatedAt == place.At && t.TaskID > place.ID
}

func summary(t task.Task) task.Summary {
	return task.Summary{
		TaskID:        t.TaskID,
		Title:         t.Title,
		Status:        t.Status,
		CreatedBy:     t.CreatedBy,
		CreatedAt:     t.CreatedAt,
		ClaimedBy:     t.ClaimedBy,
		UpdatedAt:     t.History[len(t.History)-1].At,
		CriteriaCount: len(t.AcceptanceCriteria),
		Supersedes:    t.Supersedes,
	}
}

// Counts implements task.Store.
func (o *Oracle) Counts(_ context.Context, limit int) (task.Counts, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := map[task.Status]int{}
	for _, counted := range o.tasks {
		of[counted.task.Status] = min(of[counted.task.Status]+1, limit)
	}
	return task.Counts{
		Pending:  of[task.Pending],
		Claimed:  of[task.Claimed],
		Verified: of[task.Verified],
		Rejected: of[task.Rejected],
	}, nil
}
