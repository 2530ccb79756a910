package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// insertTransition appends a claim or a verdict if the task has the status
	// before it and another agent claimed it: the check and the write are one
	// statement. The database projects it onto the task's row.
	insertTransition = `INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
	principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
SELECT id, $2, $3, status, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM tasks
WHERE id = $1 AND status = $4 AND (claimed_by IS NULL OR claimed_by <> $6)`

	transitionColumns = `task_id, number, kind, coalesce(from_status, ''), to_status, agent_id,
	principal_kind, principal_id, at, body, digest, coalesce(idempotency_content, '')`

	selectTransition = `SELECT ` + transitionColumns + ` FROM transitions WHERE task_id = $1 AND number = $2`

	selectTransitions = `SELECT ` + transitionColumns + ` FROM transitions WHERE task_id = $1 ORDER BY number`

	selectReplay = `SELECT ` + transitionColumns + ` FROM transitions
WHERE agent_id = $1 AND number = $2 AND idempotency_key = $3`

	selectStanding = `SELECT status, coalesce(claimed_by, ''),
	coalesce((SELECT s.id FROM tasks AS s WHERE s.supersedes = tasks.id), '')
FROM tasks WHERE id = $1`
)

// stored is a transition with the content that its idempotency key was used with.
type stored struct {
	task.Transition
	content string
}

func scanStored(from row) (stored, error) {
	var s stored
	err := from.Scan(&s.TaskID, &s.Number, &s.Kind, &s.From, &s.To, &s.Agent,
		&s.Principal.Kind, &s.Principal.ID, &s.At, &s.Body, &s.Digest, &s.content)
	return s, err
}

// standing is what decides whether a task permits a transition or a successor.
type standing struct {
	status    task.Status
	claimedBy task.AgentID
	successor task.ID
}

func scanStanding(from row) (standing, error) {
	var s standing
	err := from.Scan(&s.status, &s.claimedBy, &s.successor)
	return s, err
}

// recordArguments are the arguments of insertTransition, in its order.
func recordArguments(r task.Record) []any {
	made := r.Transition()
	key, content := keyArguments(r.Key)
	return []any{
		r.TaskID, made.Number, r.Kind, made.From, made.To, r.Agent,
		r.Principal.Kind, r.Principal.ID, r.At, r.Text, r.Body, r.Digest, key, content,
	}
}

func keyArguments(key *task.IdempotencyKey) (name, content sql.NullString) {
	if key == nil {
		return name, content
	}
	return sql.NullString{String: key.Key, Valid: true}, sql.NullString{String: key.Content, Valid: true}
}

// Claim implements task.Store.
func (d *Database) Claim(ctx context.Context, claimed task.Record) (task.Transition, error) {
	return d.append(ctx, claimed, task.KindClaimed)
}

// Decide implements task.Store.
func (d *Database) Decide(ctx context.Context, decided task.Record) (task.Transition, error) {
	return d.append(ctx, decided, task.KindVerified, task.KindRejected)
}

// append stores a transition of a task that exists, of one of the kinds given.
func (d *Database) append(ctx context.Context, record task.Record, kinds ...task.Kind) (task.Transition, error) {
	if !slices.Contains(kinds, record.Kind) {
		return task.Transition{}, fmt.Errorf("a record of kind %q was given where one of %v belongs", record.Kind, kinds)
	}
	made := record.Transition()
	err := d.write(ctx, func(ctx context.Context, in session, attempt int) error {
		result, err := in.ExecContext(ctx, insertTransition+d.dialect.lockClause, recordArguments(record)...)
		if err == nil {
			var appended int64
			if appended, err = result.RowsAffected(); err == nil && appended == 1 {
				return nil
			}
		}
		if err != nil && d.Violated(err) == "" {
			return err
		}
		made, err = d.explain(ctx, in, record, attempt, err, refuseRecord(record))
		return err
	})
	if err != nil {
		return task.Transition{}, d.explained(fmt.Sprintf("store the transition %s of task %s", record.Kind, record.TaskID), err)
	}
	return made, nil
}

// refuseFunc reads why the state of a task refuses a record. It returns nil when
// nothing it reads does.
type refuseFunc func(ctx context.Context, in session) error

// explain tells why a record was not stored: because it is stored already, under
// its key or by an attempt whose outcome was lost, and then it returns that
// transition; or the fault with which it is refused. Refused is the error of the
// database, nil when it only found nothing to do.
func (d *Database) explain(ctx context.Context, in session, record task.Record, attempt int, refused error,
	refuse refuseFunc,
) (task.Transition, error) {
	if attempt > 1 {
		own, found, err := first(ctx, in, scanStored, selectTransition, record.TaskID, record.Transition().Number)
		if err != nil || found && own.Digest == record.Digest {
			return own.Transition, err
		}
	}
	if record.Key != nil {
		replayed, found, err := replay(ctx, in, record.Agent, record.Kind, *record.Key)
		if err != nil || found {
			return replayed, err
		}
	}
	if err := refuse(ctx, in); err != nil {
		return task.Transition{}, err
	}
	if refused == nil {
		return task.Transition{}, errStale
	}
	return task.Transition{}, refusal(d.Violated(refused), record, refused)
}

// refuseRecord reads the task of a claim or a verdict.
func refuseRecord(record task.Record) refuseFunc {
	return func(ctx context.Context, in session) error {
		current, found, err := first(ctx, in, scanStanding, selectStanding, record.TaskID)
		switch {
		case err != nil:
			return err
		case !found:
			return task.NotFound(record.TaskID)
		}
		return task.RefuseTransition(record, current.status, current.claimedBy)
	}
}

// replay returns the transition that an agent's key made, if any.
func replay(ctx context.Context, in session, agent task.AgentID, kind task.Kind, key task.IdempotencyKey) (task.Transition, bool, error) {
	rule, ok := task.RuleOf(kind)
	if !ok {
		return task.Transition{}, false, fmt.Errorf("no transition is called %q", kind)
	}
	found, ok, err := first(ctx, in, scanStored, selectReplay, agent, rule.Number, key.Key)
	switch {
	case err != nil || !ok:
		return task.Transition{}, false, err
	case found.content != key.Content:
		return task.Transition{}, false, task.IdempotencyConflict(key.Key)
	}
	return found.Transition, true, nil
}

// Replay implements task.Store.
func (d *Database) Replay(ctx context.Context, agent task.AgentID, kind task.Kind, key task.IdempotencyKey) (task.Transition, bool, error) {
	var made task.Transition
	var found bool
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		made, found, err = replay(ctx, in, agent, kind, key)
		return err
	})
	return made, found, d.explained("look up an idempotency key", err)
}

// Transitions implements task.Store.
func (d *Database) Transitions(ctx context.Context, id task.ID) ([]task.Transition, error) {
	var transitions []task.Transition
	err := d.read(ctx, func(ctx context.Context, in session) error {
		found, err := all(ctx, in, scanStored, selectTransitions, id)
		transitions = nil
		for _, next := range found {
			transitions = append(transitions, next.Transition)
		}
		return err
	})
	return transitions, d.explained("read the transitions of task "+string(id), err)
}

// explained turns an error into what a caller is given: a fault as it is, a
// database that cannot serve as Unavailable, anything else with what was tried.
func (d *Database) explained(attempted string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := fault.Of(err); ok {
		return err
	}
	resolvable := errors.Is(err, errStale) || ended(err) || d.dialect.transient(err)
	if resolvable || d.dialect.passes(err) {
		err = passing{err}
	}
	if unavailable := d.dialect.unavailable(err); unavailable != nil {
		return unavailable
	}
	if resolvable {
		return task.Unavailable(err)
	}
	return fmt.Errorf("%s in %s: %w", attempted, d.location, err)
}
