package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// selectTask reads all of a task that can change, in one statement and so
	// from one snapshot: a row for each transition.
	selectTask = `SELECT tasks.id, tasks.title, coalesce(tasks.supersedes, ''),
	coalesce((SELECT s.id FROM tasks AS s WHERE s.supersedes = tasks.id), ''),
	transitions.number, transitions.kind, coalesce(transitions.from_status, ''), transitions.to_status,
	transitions.agent_id, transitions.at, transitions.text
FROM tasks JOIN transitions ON transitions.task_id = tasks.id
WHERE tasks.id = $1 ORDER BY transitions.number`

	// selectCriteria may be read apart from the rest: criteria never change.
	selectCriteria = `SELECT text FROM criteria WHERE task_id = $1 ORDER BY number`

	selectSummaries = `SELECT id, title, status, created_by, created_at, coalesce(claimed_by, ''), updated_at,
	criteria_count, coalesce(supersedes, '') FROM tasks`

	updateHeartbeat = `UPDATE heartbeat SET beats = beats + 1 WHERE id = 1 RETURNING beats`
	selectHeartbeat = `SELECT beats FROM heartbeat WHERE id = 1`
)

// step is a transition of a task beside what the task's row says.
type step struct {
	task       task.Task // id, title and lineage
	transition task.Transition
	text       string
}

func scanStep(from row) (step, error) {
	var s step
	err := from.Scan(&s.task.TaskID, &s.task.Title, &s.task.Supersedes, &s.task.SupersededBy,
		&s.transition.Number, &s.transition.Kind, &s.transition.From, &s.transition.To,
		&s.transition.Agent, &s.transition.At, &s.text)
	return s, err
}

// Task implements task.Store. The history is the truth: the task is told from
// its transitions.
func (d *Database) Task(ctx context.Context, id task.ID) (task.Task, error) {
	var steps []step
	var criteria []string
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		steps, err = all(ctx, in, scanStep, selectTask, id)
		if err != nil || len(steps) == 0 {
			return err
		}
		criteria, err = all(ctx, in, scanValue[string], selectCriteria, id)
		return err
	})
	if err != nil {
		return task.Task{}, d.explained("read task "+string(id), err)
	}
	if len(steps) == 0 {
		return task.Task{}, task.NotFound(id)
	}
	told := steps[0].task
	told.AcceptanceCriteria = criteria
	for _, next := range steps {
		tell(&told, next)
	}
	return told, nil
}

// tell adds a transition to the task told so far.
func tell(told *task.Task, next step) {
	made := next.transition
	switch made.Kind {
	case task.KindCreated:
		told.CreatedBy, told.CreatedAt = made.Agent, made.At
	case task.KindClaimed:
		told.ClaimedBy, told.ClaimedAt, told.Evidence = made.Agent, &made.At, next.text
	case task.KindVerified, task.KindRejected:
		told.VerifiedBy, told.DecidedAt, told.Verdict, told.Notes = made.Agent, &made.At, made.To, next.text
	}
	told.Status = made.To
	told.History = append(told.History, made.Change())
}

func scanSummary(from row) (task.Summary, error) {
	var s task.Summary
	err := from.Scan(&s.TaskID, &s.Title, &s.Status, &s.CreatedBy, &s.CreatedAt, &s.ClaimedBy, &s.UpdatedAt,
		&s.CriteriaCount, &s.Supersedes)
	return s, err
}

func scanPlace(from row) (task.Place, error) {
	var p task.Place
	err := from.Scan(&p.At, &p.ID)
	return p, err
}

// List implements task.Store. One row more than the page tells whether there is
// another page. Where a page may pass over entries of an index, the place where it
// ends is found first, by a statement of its own: whatever happens between the two,
// each task from the page before to that place is shown or passed over.
func (d *Database) List(ctx context.Context, filter task.Filter) ([]task.Summary, task.Place, error) {
	if filter.Limit < 1 || filter.Limit > task.MaxPage {
		return nil, task.Place{}, fmt.Errorf("a page of %d tasks was asked for; the limit is %d", filter.Limit, task.MaxPage)
	}
	if filter.OldestFirst && filter.Status == "" {
		return nil, task.Place{}, errors.New("the oldest tasks were asked for without a status")
	}
	if len(statusesOf(filter)) == 0 {
		return nil, task.Place{}, nil
	}
	var found []task.Summary
	var end task.Place
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		if end, err = d.endOf(ctx, in, filter); err != nil {
			return err
		}
		text, arguments := pageStatement(d.dialect.leads, filter, end)
		found, err = all(ctx, in, scanSummary, text, arguments...)
		return err
	})
	if err != nil {
		return nil, task.Place{}, d.explained("list tasks", err)
	}
	if len(found) > filter.Limit {
		last := found[filter.Limit-1]
		return found[:filter.Limit], task.Place{At: last.UpdatedAt, ID: last.TaskID}, nil
	}
	return found, end, nil
}

// endOf is the place where the page of a filter ends; zero where it shows all that
// there is, or as many as it may.
func (d *Database) endOf(ctx context.Context, in session, filter task.Filter) (task.Place, error) {
	if !passesOver(filter) {
		return task.Place{}, nil
	}
	text, arguments := endStatement(d.dialect.leads, filter, d.lookAt)
	end, _, err := first(ctx, in, scanPlace, text, arguments...)
	return end, err
}
