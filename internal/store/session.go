package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// session is where a statement runs: a transaction, a connection or a pool.
type session interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// preparer is a connection or a pool that prepares statements.
type preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// prepared is a session that prepares each statement once and keeps it. The
// texts are those of this package, a few dozen with every filter of a list, so
// it needs no bound of its own.
type prepared struct {
	on   preparer
	mu   sync.Mutex
	kept map[string]*sql.Stmt
}

func newPrepared(on preparer) *prepared {
	return &prepared{on: on, kept: map[string]*sql.Stmt{}}
}

func (p *prepared) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept, ok := p.kept[text]; ok {
		return kept, nil
	}
	statement, err := p.on.PrepareContext(ctx, text) //nolint:sqlclosecheck // kept for the next call; close closes it
	if err != nil {
		return nil, err
	}
	p.kept[text] = statement
	return statement, nil
}

// ExecContext runs a statement that returns no rows.
func (p *prepared) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	statement, err := p.statement(ctx, text) //nolint:sqlclosecheck // kept for the next call; close closes it
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args...)
}

// QueryContext runs a statement that returns rows.
func (p *prepared) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	statement, err := p.statement(ctx, text) //nolint:sqlclosecheck // kept for the next call; close closes it
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

// close drops the statements kept. They end with their connection.
func (p *prepared) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed error
	for _, statement := range p.kept {
		failed = errors.Join(failed, statement.Close())
	}
	clear(p.kept)
	return failed
}

// row is what a scan function reads from.
type row interface {
	Scan(into ...any) error
}

// all returns every row of a query.
func all[T any](ctx context.Context, in session, scan func(row) (T, error), text string, args ...any) ([]T, error) {
	rows, err := in.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("scan a row: %w", err)
		}
		found = append(found, item)
	}
	return found, rows.Err()
}

// first returns the first row of a query, and whether there is one.
func first[T any](ctx context.Context, in session, scan func(row) (T, error), text string, args ...any) (T, bool, error) {
	found, err := all(ctx, in, scan, text, args...)
	if err != nil || len(found) == 0 {
		var none T
		return none, false, err
	}
	return found[0], true, nil
}

// one returns the only value of a query that must have one.
func one[T any](ctx context.Context, in session, text string, args ...any) (T, error) {
	value, found, err := first(ctx, in, scanValue[T], text, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return value, err
}

func scanValue[T any](from row) (T, error) {
	var value T
	err := from.Scan(&value)
	return value, err
}
