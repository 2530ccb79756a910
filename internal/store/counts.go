package store

import (
	"context"
	"database/sql"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/task"
)

// maxSince bounds the events since the roll-up that are counted for a list. Where it
// runs there are fewer; where it does not, tasks are counted themselves.
const maxSince = 100

const (
	selectTotals = `SELECT turn, number, created, claimed, verified, rejected FROM totals WHERE id = 1`

	// selectSince is completed by dialect.later, dialect.order and ofSince.
	selectSince = `SELECT what, count(*) FROM (SELECT what FROM feed WHERE `
	ofSince     = ` LIMIT $3) AS since GROUP BY what`

	selectCounts = `SELECT
	(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE status = 'pending' LIMIT $1) AS p),
	(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE status = 'claimed' LIMIT $1) AS c),
	(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE status = 'verified' LIMIT $1) AS v),
	(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE status = 'rejected' LIMIT $1) AS r)`
)

// sinceStatement counts the events after the position $1 and $2, up to $3 of them.
func (d *Database) sinceStatement() string {
	return selectSince + d.dialect.later + ` ORDER BY ` + d.dialect.order + ofSince
}

// totals is what the roll-up has counted, and up to which event.
type totals struct {
	position feed.Position
	tally    task.Tally
}

func scanTotals(from row) (totals, error) {
	var t totals
	err := from.Scan(&t.position.Turn, &t.position.Number, &t.tally.Created, &t.tally.Claimed, &t.tally.Verified, &t.tally.Rejected)
	return t, err
}

// since is how many events had an outcome. Those of tasks are statuses, those of
// others are none.
type since struct {
	what   task.Status
	events int64
}

func scanSince(from row) (since, error) {
	var s since
	err := from.Scan(&s.what, &s.events)
	return s, err
}

func scanCounts(from row) (task.Counts, error) {
	var c task.Counts
	err := from.Scan(&c.Pending, &c.Claimed, &c.Verified, &c.Rejected)
	return c, err
}

// Counts implements task.Store. What the roll-up has counted, and the few events
// since, tell how many tasks have each status; else they are counted in an index.
func (d *Database) Counts(ctx context.Context, limit int) (task.Counts, error) {
	var counts task.Counts
	err := d.read(ctx, func(ctx context.Context, in session) error {
		told, ok, err := d.toldByEvents(ctx, in)
		if err == nil && !ok {
			told, ok, err = first(ctx, in, scanCounts, selectCounts, limit)
		}
		if err == nil && !ok {
			err = sql.ErrNoRows
		}
		counts = task.Counts{
			Pending: min(told.Pending, limit), Claimed: min(told.Claimed, limit),
			Verified: min(told.Verified, limit), Rejected: min(told.Rejected, limit),
		}
		return err
	})
	return counts, d.explained("count tasks", err)
}

// toldByEvents counts tasks by their events, and reports whether it could. Every
// transition has its event, none of which is removed before it is counted: so each
// counts once, whatever is counted between the two statements.
func (d *Database) toldByEvents(ctx context.Context, in session) (task.Counts, bool, error) {
	rolledUp, found, err := first(ctx, in, scanTotals, selectTotals)
	if err != nil || !found {
		return task.Counts{}, false, err
	}
	later, err := all(ctx, in, scanSince, d.sinceStatement(), rolledUp.position.Turn, rolledUp.position.Number, maxSince)
	tally, events := rolledUp.tally, int64(0)
	for _, each := range later {
		events += each.events
		switch each.what {
		case task.Pending:
			tally.Created += each.events
		case task.Claimed:
			tally.Claimed += each.events
		case task.Verified:
			tally.Verified += each.events
		case task.Rejected:
			tally.Rejected += each.events
		}
	}
	return task.Counts{
		Pending:  int(tally.Created - tally.Claimed),
		Claimed:  int(tally.Claimed - tally.Verified - tally.Rejected),
		Verified: int(tally.Verified),
		Rejected: int(tally.Rejected),
	}, events < maxSince, err
}
