package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/task"
)

// createFunc inserts a task, whole or not at all: its criteria, its first
// transition, then its row.
type createFunc func(ctx context.Context, in session, created task.NewTask) error

// The three statements of a creation, in the order in which the schema wants
// them. SQLite runs them in one transaction.
const (
	insertCriterion = `INSERT INTO criteria (task_id, number, text) VALUES ($1, $2, $3)`

	insertCreation = `INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
	principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
VALUES ($1, 1, 'created', NULL, 'pending', $2, $3, $4, $5, '', $6, $7, $8, $9)`

	insertTask = `INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count, supersedes)
VALUES ($1, $2, 'pending', $3, $4, $4, $5, $6)`
)

// createTask is the same creation as one statement, for a database where each
// statement is a round trip. Each insertion reads from the one before it, which
// fixes their order.
const createTask = `WITH stated AS (
	INSERT INTO criteria (task_id, number, text)
	SELECT $1, number, text FROM unnest(CAST($10 AS TEXT[])) WITH ORDINALITY AS given (text, number)
	RETURNING number
), made AS (
	INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
		principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
	SELECT $1, 1, 'created', NULL, 'pending', $2, $3, $4, $5, '', $6, $7, $8, $9
	FROM (SELECT count(*) FROM stated) AS counted
	RETURNING task_id, agent_id, at
)
INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count, supersedes)
SELECT task_id, $11, 'pending', agent_id, at, at, (SELECT count(*) FROM stated), $12 FROM made`

// creationArguments are the arguments $1 to $9 of insertCreation and createTask.
func creationArguments(r task.Record) []any {
	key, content := keyArguments(r.Key)
	return []any{r.TaskID, r.Agent, r.Principal.Kind, r.Principal.ID, r.At, r.Body, r.Digest, key, content}
}

// supersedesArgument is NULL for a task that supersedes nothing.
func supersedesArgument(id task.ID) any {
	if id == "" {
		return nil
	}
	return string(id)
}

// createInSteps runs the creation as three kinds of statement inside a
// transaction. What a refused one has inserted is taken back at once, so that
// the refusal is explained by what was there before.
func createInSteps(ctx context.Context, in session, created task.NewTask) error {
	if _, err := in.ExecContext(ctx, "SAVEPOINT creation"); err != nil {
		return err
	}
	err := insertSteps(ctx, in, created)
	if err != nil {
		if _, undone := in.ExecContext(ctx, "ROLLBACK TO creation"); undone != nil {
			return errors.Join(err, undone)
		}
	}
	return err
}

func insertSteps(ctx context.Context, in session, created task.NewTask) error {
	for i, criterion := range created.Criteria {
		if _, err := in.ExecContext(ctx, insertCriterion, created.TaskID, i+1, criterion); err != nil {
			return err
		}
	}
	if _, err := in.ExecContext(ctx, insertCreation, creationArguments(created.Record)...); err != nil {
		return err
	}
	_, err := in.ExecContext(ctx, insertTask, created.TaskID, created.Title, created.Agent, created.At,
		len(created.Criteria), supersedesArgument(created.Supersedes))
	return err
}

// createAtOnce runs the creation as one statement.
func createAtOnce(ctx context.Context, in session, created task.NewTask) error {
	arguments := append(creationArguments(created.Record), created.Criteria, created.Title, supersedesArgument(created.Supersedes))
	_, err := in.ExecContext(ctx, createTask, arguments...)
	return err
}

// Create implements task.Store.
func (d *Database) Create(ctx context.Context, created task.NewTask) (task.Transition, error) {
	if created.Kind != task.KindCreated {
		return task.Transition{}, fmt.Errorf("a record of kind %q was given where one of kind %s belongs", created.Kind, task.KindCreated)
	}
	made := created.Transition()
	err := d.write(ctx, func(ctx context.Context, in session, attempt int) error {
		refused := d.dialect.create(ctx, in, created)
		if refused == nil || d.Violated(refused) == "" {
			return refused
		}
		var err error
		made, err = d.explain(ctx, in, created.Record, attempt, refused, refuseSuccessor(created.Supersedes))
		return err
	})
	if err != nil {
		return task.Transition{}, d.explained("store the new task "+string(created.TaskID), err)
	}
	return made, nil
}

// refuseSuccessor reads the task that a new one supersedes.
func refuseSuccessor(superseded task.ID) refuseFunc {
	return func(ctx context.Context, in session) error {
		if superseded == "" {
			return nil
		}
		current, found, err := first(ctx, in, scanStanding, selectStanding, superseded)
		switch {
		case err != nil:
			return err
		case !found:
			return task.NotFound(superseded)
		}
		return task.RefuseSupersede(superseded, current.status, current.successor)
	}
}
