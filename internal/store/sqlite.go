package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

const (
	// busyTimeout is the safety net for foreign tools that lock the file and
	// know nothing of the queue.
	busyTimeout = 5 * time.Second
	// readers is how many connections read at once.
	readers = 4
	// pageCache is what a connection keeps of the file in memory, 8,000 KiB. To set it
	// the connection reads the whole schema, which is most of what opening costs.
	pageCache = "cache_size(-8000)"
	// closePatience bounds how long Close waits for the queue of writers.
	closePatience = 5 * time.Second
	// checkpointPages is the length of the write-ahead log, in pages, at which
	// a commit also moves it into the file.
	checkpointPages = 2000
)

// sqliteEngine runs writers one at a time, across processes, and readers beside
// them. The file itself is never opened or closed by anything but SQLite: closing
// any descriptor of it would drop SQLite's POSIX locks in this process.
type sqliteEngine struct {
	queue    *queue
	waited   func(time.Duration)
	path     string
	files    []seen // what the path held when it was opened
	readPool *sql.DB
	reader   *prepared
	pool     *sql.DB // of one connection, for writing
	conn     *sql.Conn
	writer   *prepared
}

// laterOnSQLite is completed by a position, whose turn is 0.
const laterOnSQLite = "$1 = 0 AND number > $2"

func sqliteDialect() dialect {
	return dialect{
		name:         dialectSQLite,
		leads:        "%s = %s",
		listed:       "SELECT value FROM json_each($1)",
		later:        laterOnSQLite,
		after:        laterOnSQLite,
		deleteEvents: "DELETE FROM feed WHERE $1 = 0 AND number > $2 AND $3 = 0 AND number <= $4",
		settled:      "true",
		order:        "number",
		backward:     "number DESC",
		violated:     sqliteViolated,
		transient:    sqliteTransient,
		passes:       sqlitePasses,
		unavailable:  sqliteUnavailable,
		create:       createInSteps,
	}
}

func openSQLite(ctx context.Context, location string, options Options) (*Database, error) {
	file, err := resolve(location)
	if err != nil {
		return nil, err
	}
	engine := &sqliteEngine{queue: &queue{lock: newFileLock(file)}, waited: options.Waited, path: file}
	opened := &Database{dialect: sqliteDialect(), options: options, location: file, engine: engine}
	if err := engine.open(ctx); err != nil {
		return nil, errors.Join(opened.explained("open the database", err), engine.close())
	}
	return opened, nil
}

// dsn is the name under which database/sql opens the file: every pragma
// stands in it, because one set by a statement reaches one connection only.
func dsn(file string, pragmas ...string) string {
	query := url.Values{
		"_pragma": append([]string{
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"foreign_keys(ON)", "trusted_schema(OFF)",
		}, pragmas...),
		"_txlock":    {"immediate"},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		"_error_rc":  {"1"},
	}
	slashed := filepath.ToSlash(file)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // A drive letter needs a slash before it in a URI.
	}
	return (&url.URL{Scheme: "file", Path: slashed, OmitHost: true, RawQuery: query.Encode()}).String()
}

// open connects and migrates as the only writer of all processes. Readers connect
// when something is read.
func (e *sqliteEngine) open(ctx context.Context) (err error) {
	release, err := e.queue.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	judge, err := sql.Open("sqlite", dsn(e.path, "query_only(ON)"))
	if err != nil {
		return fmt.Errorf("open for judging: %w", err)
	}
	// It is open for as long as the writer is opening: the connection that closes
	// last writes to the file.
	defer func() { err = errors.Join(err, judge.Close()) }()
	lacking, err := e.lacking(ctx, newPrepared(judge))
	if err != nil {
		return err
	}
	if err := e.openWriter(ctx); err != nil {
		return err
	}
	if err := e.transact(ctx, func(ctx context.Context, _ session) error { return e.migrate(ctx, lacking) }); err != nil {
		return err
	}
	if e.readPool, err = sql.Open("sqlite", dsn(e.path, pageCache, "query_only(ON)")); err != nil {
		return fmt.Errorf("open for reading: %w", err)
	}
	e.readPool.SetMaxOpenConns(readers)
	e.readPool.SetMaxIdleConns(readers)
	e.reader = newPrepared(e.readPool)
	e.files, err = look(e.path)
	return err
}

// lacking judges the file before anything is written to it and returns the
// migrations that it lacks. Of a file of ours it reads the header alone.
func (e *sqliteEngine) lacking(ctx context.Context, judge session) ([]migration, error) {
	steps, err := migrationsOf(dialectSQLite)
	if err != nil {
		return nil, err
	}
	owner, err := one[int](ctx, judge, "PRAGMA application_id")
	if err != nil {
		return nil, err
	}
	version, err := one[int](ctx, judge, "PRAGMA user_version")
	if err != nil {
		return nil, err
	}
	if owner != applicationID {
		objects, err := one[int](ctx, judge, "SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return nil, err
		}
		if isEmpty := owner == 0 && version == 0 && objects == 0; !isEmpty {
			return nil, fault.New(fault.Unavailable, "the file %s is a SQLite database of another program; it was left untouched", e.path).
				WithHint("Name a new file, or one that Countersign made.")
		}
	}
	return pending(steps, version, e.path)
}

func (e *sqliteEngine) openWriter(ctx context.Context) error {
	var err error
	// What one statement may have to undo is kept in memory: a few pages.
	e.pool, err = sql.Open("sqlite", dsn(e.path, pageCache, "journal_mode(WAL)", "synchronous(FULL)", "temp_store(MEMORY)",
		fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages)))
	if err != nil {
		return fmt.Errorf("open for writing: %w", err)
	}
	e.pool.SetMaxOpenConns(1)
	if e.conn, err = e.pool.Conn(ctx); err != nil {
		return err
	}
	e.writer = newPrepared(e.conn)
	mode, err := one[string](ctx, e.writer, "PRAGMA journal_mode")
	if err == nil && mode != "wal" {
		return badLocation("%s is where SQLite cannot keep a write-ahead log (journal mode %s)", e.path, mode)
	}
	return err
}

// migrate applies the steps inside a transaction. With none to apply it tries a
// write, so that a file which cannot be written is refused now.
func (e *sqliteEngine) migrate(ctx context.Context, lacking []migration) error {
	if len(lacking) == 0 {
		if _, err := one[int64](ctx, e.writer, updateHeartbeat); err != nil {
			return err
		}
		return errNothingToKeep
	}
	for _, step := range lacking {
		if _, err := e.conn.ExecContext(ctx, step.text); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
	}
	last := lacking[len(lacking)-1].version
	_, err := e.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, last))
	return err
}

// errNothingToKeep ends a transaction that is to be rolled back as a success.
var errNothingToKeep = errors.New("nothing to keep")

func (e *sqliteEngine) write(ctx context.Context, do func(context.Context, session) error) error {
	asked := time.Now()
	release, err := e.queue.acquire(ctx)
	e.waited(time.Since(asked))
	if err != nil {
		return err
	}
	defer release()
	if err := e.inPlace(); err != nil {
		return err
	}
	return e.transact(ctx, do)
}

// transact runs do in an immediate transaction. Once that has begun, it is
// carried through whatever happens to caller: so an error means that nothing
// changed, and a call that ends early never leaves its outcome open.
func (e *sqliteEngine) transact(caller context.Context, do func(context.Context, session) error) error {
	ctx := context.WithoutCancel(caller)
	committed := false
	defer func() {
		if !committed {
			// SQLite itself has rolled back after some errors; then this one
			// fails, and all is as it should be.
			_, _ = e.writer.ExecContext(ctx, "ROLLBACK")
		}
	}()
	// The driver may report as cancelled a BEGIN that SQLite has carried out, so
	// that it too is rolled back.
	if _, err := e.writer.ExecContext(caller, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := do(ctx, e.writer); err != nil {
		if errors.Is(err, errNothingToKeep) {
			return nil
		}
		return err
	}
	_, err := e.writer.ExecContext(ctx, "COMMIT")
	committed = err == nil
	return err
}

func (e *sqliteEngine) atomic(ctx context.Context, do func(context.Context, session) error) error {
	return e.write(ctx, do)
}

func (e *sqliteEngine) read() (session, error) { return e.reader, e.inPlace() }

// close closes the readers first: the writer, closing last, tidies the log up.
func (e *sqliteEngine) close() error {
	failed := e.queue.close(closePatience)
	for _, statements := range []*prepared{e.reader, e.writer} {
		if statements != nil {
			failed = errors.Join(failed, statements.close())
		}
	}
	if e.readPool != nil {
		failed = errors.Join(failed, e.readPool.Close())
	}
	if e.conn != nil {
		failed = errors.Join(failed, e.conn.Close())
	}
	if e.pool != nil {
		failed = errors.Join(failed, e.pool.Close())
	}
	return failed
}
