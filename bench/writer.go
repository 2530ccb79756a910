package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver called pgx.
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// writer makes the transitions of tasks; both sides of a comparison are one.
type writer interface {
	create(ctx context.Context, created task.NewTask) error
	add(ctx context.Context, record task.Record) error
}

// stored makes them through internal/store.
type stored struct{ database *store.Database }

func (s stored) create(ctx context.Context, created task.NewTask) error {
	_, err := s.database.Create(ctx, created)
	return err
}

func (s stored) add(ctx context.Context, record task.Record) error {
	var err error
	if record.Kind == task.KindClaimed {
		_, err = s.database.Claim(ctx, record)
	} else {
		_, err = s.database.Decide(ctx, record)
	}
	return err
}

// bareSQLite runs the same statements in the same immediate transactions, prepared
// on one connection, with SQLite's own busy_timeout as the only arbiter.
type bareSQLite struct {
	pool *sql.DB
	conn *sql.Conn
	kept map[string]*sql.Stmt
}

// openBareSQLite opens a file that internal/store has migrated, with the pragmas
// that internal/store sets.
func openBareSQLite(ctx context.Context, file string) (*bareSQLite, error) {
	query := url.Values{"_pragma": {
		"busy_timeout(5000)", "foreign_keys(ON)", "trusted_schema(OFF)", "cache_size(-8000)",
		"journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(2000)",
	}}
	pool, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, OmitHost: true, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	b := &bareSQLite{pool: pool, conn: conn, kept: map[string]*sql.Stmt{}}
	for _, text := range []string{"BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", insertCriterion, insertCreation, insertTask, insertTransition} {
		if b.kept[text], err = conn.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // kept as long as the connection, which closes it
			return nil, errors.Join(fmt.Errorf("prepare %s: %w", text, err), b.close())
		}
	}
	return b, nil
}

func (b *bareSQLite) close() error { return errors.Join(b.conn.Close(), b.pool.Close()) }

func (b *bareSQLite) run(ctx context.Context, text string, arguments ...any) error {
	_, err := b.kept[text].ExecContext(ctx, arguments...)
	return err
}

func (b *bareSQLite) transact(ctx context.Context, do func() error) error {
	if err := b.run(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = b.run(ctx, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, b.run(ctx, "ROLLBACK"))
	}
	return nil
}

func (b *bareSQLite) create(ctx context.Context, created task.NewTask) error {
	return b.transact(ctx, func() error {
		for i, criterion := range created.Criteria {
			if err := b.run(ctx, insertCriterion, created.TaskID, i+1, criterion); err != nil {
				return err
			}
		}
		if err := b.run(ctx, insertCreation, creationArguments(created.Record)...); err != nil {
			return err
		}
		return b.run(ctx, insertTask, created.TaskID, created.Title, created.Agent, created.At, len(created.Criteria), nil)
	})
}

func (b *bareSQLite) add(ctx context.Context, record task.Record) error {
	return b.transact(ctx, func() error {
		result, err := b.kept[insertTransition].ExecContext(ctx, recordArguments(record)...)
		return oneRow(result, err)
	})
}

// barePostgres runs the same statements on a pool of database/sql.
type barePostgres struct{ pool *sql.DB }

func (b barePostgres) create(ctx context.Context, created task.NewTask) error {
	arguments := append(creationArguments(created.Record), created.Criteria, created.Title, nil)
	result, err := b.pool.ExecContext(ctx, createTask, arguments...)
	return oneRow(result, err)
}

func (b barePostgres) add(ctx context.Context, record task.Record) error {
	result, err := b.pool.ExecContext(ctx, insertTransition+lockClause, recordArguments(record)...)
	return oneRow(result, err)
}

func oneRow(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return fmt.Errorf("the statement inserted %d rows, not one: %w", changed, err)
	}
	return nil
}

func creationArguments(r task.Record) []any {
	return []any{r.TaskID, r.Agent, r.Principal.Kind, r.Principal.ID, r.At, r.Body, r.Digest, nil, nil}
}

func recordArguments(r task.Record) []any {
	made := r.Transition()
	return []any{
		r.TaskID, made.Number, r.Kind, made.From, made.To, r.Agent,
		r.Principal.Kind, r.Principal.ID, r.At, r.Text, r.Body, r.Digest, nil, nil,
	}
}

// isLockError reports an error that somebody else's lock is the reason of.
func isLockError(err error) bool {
	if coded, ok := fault.Of(err); ok {
		return coded.Code == fault.Unavailable
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	const primary = 0xff
	return ok && (failed.Code()&primary == lib.SQLITE_BUSY || failed.Code()&primary == lib.SQLITE_LOCKED)
}
