// Package store owns the SQL: the schema, its migrations, and the meaning of
// each refusal of the database as a fault. One text of each statement serves
// SQLite and PostgreSQL; what differs stands in one dialect.
//
// It must not know transports, configuration or the clock. Its one idea: the
// transition is the write. Every rule of the task gate is a named constraint or
// trigger, the database itself projects each transition onto the task's row, and
// the code here only explains what the database refused. The registry follows it:
// results are what is written, and what they add up to is a projection that the
// database holds against them.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
)

// The defaults of Options.
const (
	DefaultWriteWait   = 30 * time.Second
	DefaultReadWait    = 10 * time.Second
	DefaultConnections = 16
)

// Options tunes a Database. The zero value is meant for use.
type Options struct {
	// WriteWait bounds a write: its turn in the queue of writers and its
	// transaction. Zero is DefaultWriteWait. When it passes, the call fails
	// with fault.Unavailable and nothing has changed.
	WriteWait time.Duration
	// ReadWait bounds a read. Zero is DefaultReadWait.
	ReadWait time.Duration
	// Connections bounds the connections to PostgreSQL. Zero is
	// DefaultConnections. SQLite has one connection for writes and a few for
	// reads, whatever this says.
	Connections int
	// Waited is told how long each write waited for its turn, of those too that
	// gave up: on SQLite in the queue of writers of all processes, on PostgreSQL for
	// a connection, not for locks. It is called at once by many goroutines and must
	// not block. Nil is nobody.
	Waited func(time.Duration)
	// Redefined is told of each component that a result made again what it was
	// recorded as: another process had registered it as something else meanwhile. It
	// is called after the result is stored, and must not block. Nil is nobody.
	Redefined func(component string)
}

func (o Options) withDefaults() Options {
	if o.WriteWait <= 0 {
		o.WriteWait = DefaultWriteWait
	}
	if o.ReadWait <= 0 {
		o.ReadWait = DefaultReadWait
	}
	if o.Connections <= 0 {
		o.Connections = DefaultConnections
	}
	if o.Waited == nil {
		o.Waited = func(time.Duration) {}
	}
	if o.Redefined == nil {
		o.Redefined = func(string) {}
	}
	return o
}

// Database is a task.Store on a SQLite file or on PostgreSQL. It is safe for
// concurrent use, and any number of processes may use the same location.
type Database struct {
	dialect  dialect
	options  Options
	location string
	engine   engine
	lookAt   int // task.MaxLookedAt; tests make it small
}

var _ task.Store = (*Database)(nil)

// engine runs statements on one kind of database.
type engine interface {
	// write runs do as one transition: SQLite on its single writer, in an
	// immediate transaction that is rolled back when do fails; PostgreSQL
	// statement by statement, each committed on its own.
	write(ctx context.Context, do func(context.Context, session) error) error
	// atomic runs do in one transaction: whole or not at all.
	atomic(ctx context.Context, do func(context.Context, session) error) error
	// read returns the session for statements that only read, or why there is none.
	read() (session, error)
	// close ends the engine. It is called once.
	close() error
}

// Open opens the database at location, a path or a postgres:// (postgresql://)
// URL, and brings its schema to this program's version; any number of processes
// may do so at once. A missing SQLite file is made, with its directory (0700).
//
// Faults: InvalidArgument for a location that can never work (a directory, an
// unsafe file system, a malformed URL); Unavailable for a database that cannot
// be used now (no access, a corrupt or foreign file, a schema written by a newer
// version); it is then left untouched.
func Open(ctx context.Context, location string, options Options) (*Database, error) {
	options = options.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, options.WriteWait)
	defer cancel()
	open := openSQLite
	if isPostgres(location) {
		open = openPostgres
	}
	opened, err := open(ctx, location, options)
	if err != nil {
		return nil, err
	}
	opened.lookAt = task.MaxLookedAt
	return opened, nil
}

func isPostgres(location string) bool {
	return strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://")
}

// Location tells where the database is, for people: an absolute path, or a URL
// without its password and options.
func (d *Database) Location() string { return d.location }

// Kind names the kind of database: sqlite or postgres.
func (d *Database) Kind() string { return d.dialect.name }

// Close ends the use of the database. Calls still running may fail.
func (d *Database) Close() error {
	if err := d.engine.close(); err != nil {
		return fmt.Errorf("close the database %s: %w", d.location, err)
	}
	return nil
}

// Check proves the database by writing to it and reading that back through
// another connection. It writes one row of constant size. Faults: Unavailable.
func (d *Database) Check(ctx context.Context) error {
	var written, seen int64
	err := d.write(ctx, func(ctx context.Context, in session, _ int) error {
		var err error
		written, err = one[int64](ctx, in, updateHeartbeat)
		return err
	})
	if err != nil {
		return d.explained("write the heartbeat", err)
	}
	err = d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		seen, err = one[int64](ctx, in, selectHeartbeat)
		return err
	})
	if err == nil && seen < written {
		err = fmt.Errorf("beat %d was written and beat %d was read", written, seen)
	}
	return d.explained("read the heartbeat", err)
}

// write runs do until it succeeds or fails for good, within the wait of a write.
// It passes the number of the attempt, from 1.
func (d *Database) write(ctx context.Context, do func(ctx context.Context, in session, attempt int) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.options.WriteWait)
	defer cancel()
	return d.retry(ctx, func(attempt int) error {
		return d.engine.write(ctx, func(ctx context.Context, in session) error {
			return do(ctx, in, attempt)
		})
	})
}

// atomic runs do as write does, in one transaction on every database.
func (d *Database) atomic(ctx context.Context, do func(ctx context.Context, in session, attempt int) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.options.WriteWait)
	defer cancel()
	return d.retry(ctx, func(attempt int) error {
		return d.engine.atomic(ctx, func(ctx context.Context, in session) error {
			return do(ctx, in, attempt)
		})
	})
}

// read runs do within the wait of a read.
func (d *Database) read(ctx context.Context, do func(ctx context.Context, in session) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.options.ReadWait)
	defer cancel()
	return d.retry(ctx, func(int) error {
		in, err := d.engine.read()
		if err != nil {
			return err
		}
		return do(ctx, in)
	})
}

// The bounds of retry: how often a statement is tried, and the pause before the
// second time; each later pause is twice the one before.
const (
	maxAttempts = 8
	firstPause  = 5 * time.Millisecond
)

// errStale says that what was read to explain a refusal no longer explains it:
// another process was faster. Trying again settles it.
var errStale = errors.New("the task changed while its refusal was being explained")

// retry is the only place where anything is tried again: a lock held by a
// foreign tool, a serialization failure, a broken connection. What do does must
// be safe to repeat when its outcome is not known; see (*Database).explain.
func (d *Database) retry(ctx context.Context, do func(attempt int) error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := do(attempt)
		again := errors.Is(err, errStale) || err != nil && d.dialect.transient(err)
		if !again || attempt == maxAttempts {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		pause *= 2
	}
}
