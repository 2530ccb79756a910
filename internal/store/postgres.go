package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// idleConnection is how long an unused connection is kept.
	idleConnection = 5 * time.Minute
	// connectTimeout bounds one attempt to connect.
	connectTimeout = 5 * time.Second
	// answerMargin is how long the server's answer to a cancelled statement is
	// awaited, so that its outcome is known.
	answerMargin = 2 * time.Second
	// beginIdle begins a transaction that does not outlive a client that stops.
	beginIdle = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'"
	// migrationLock is the advisory lock under which schemas are migrated.
	migrationLock = applicationID
)

// postgresEngine runs each statement on a pooled connection, where it commits by
// itself.
type postgresEngine struct {
	pool   *sql.DB
	waited func(time.Duration)
}

// settledTurns are the transactions before the oldest one that is not over. Those
// of other databases on the same server write nothing here and are not waited for.
const settledTurns = `turn < (SELECT origin + CAST(CAST(coalesce(
	(SELECT min(running) FROM pg_snapshot_xip(pg_current_snapshot()) AS running
		WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_xid = CAST(running AS xid) AND datname <> current_database())),
	pg_snapshot_xmax(pg_current_snapshot())) AS TEXT) AS BIGINT) FROM totals WHERE id = 1)`

// deletePostgresEvents finds the events in their order, since the planner takes a
// range of positions for the whole table where many have the same turn.
const deletePostgresEvents = `DELETE FROM feed WHERE ctid = ANY (ARRAY(SELECT ctid FROM feed
	WHERE (turn, number) > ($1, $2) AND (turn, number) <= ($3, $4) ORDER BY turn, number LIMIT 2000))`

// leadsOnPostgres is not an =, which would make the column a constant to the planner
// and any order by it no order: it could then read along another index that has the
// rest of the order, such as that of the ids, and pass over what it guesses to be few.
const leadsOnPostgres = "%s = ANY (ARRAY[CAST(%s AS TEXT)])"

const laterOnPostgres = "(turn, number) > ($1, $2)"

func postgresDialect() dialect {
	return dialect{
		name:         dialectPostgres,
		lockClause:   " FOR UPDATE",
		leads:        leadsOnPostgres,
		listed:       "SELECT json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON))",
		later:        laterOnPostgres,
		after:        laterOnPostgres + " AND " + settledTurns,
		deleteEvents: deletePostgresEvents,
		settled:      settledTurns,
		order:        "turn, number",
		backward:     "turn DESC, number DESC",
		violated:     postgresViolated,
		transient:    postgresTransient,
		passes:       postgresPasses,
		unavailable:  postgresUnavailable,
		create:       createAtOnce,
	}
}

func openPostgres(ctx context.Context, location string, options Options) (*Database, error) {
	config, err := pgx.ParseConfig(location)
	if err != nil {
		// The error would repeat parts of the URL, which may hold a password.
		return nil, badLocation("the postgres:// URL cannot be read")
	}
	config.ConnectTimeout = connectTimeout
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: answerMargin}
	}
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(options.WriteWait.Milliseconds(), 10)
	// The loser of a race waits, looks again and finds nothing to do; a stricter
	// level, which a server may have as its default, would fail it instead.
	config.RuntimeParams["default_transaction_isolation"] = "read committed"
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "countersign"
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(options.Connections)
	pool.SetMaxIdleConns(options.Connections)
	pool.SetConnMaxIdleTime(idleConnection)
	opened := &Database{
		dialect: postgresDialect(), options: options, location: displayed(config), engine: &postgresEngine{pool: pool, waited: options.Waited},
	}
	err = opened.retry(ctx, func(int) error { return migratePostgres(ctx, pool, opened.location) })
	if err != nil {
		return nil, errors.Join(opened.explained("open the database", err), pool.Close())
	}
	return opened, nil
}

// displayed returns a URL for people: no password, no options.
func displayed(config *pgx.ConnConfig) string {
	shown := url.URL{Scheme: "postgres", User: url.User(config.User), Path: "/" + config.Database}
	if strings.HasPrefix(config.Host, "/") {
		shown.Host = "localhost"
		shown.RawQuery = "host=" + config.Host
	} else {
		shown.Host = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	}
	return shown.String()
}

// migratePostgres brings the schema up to date: nothing is locked when nothing
// is to be done.
func migratePostgres(ctx context.Context, pool *sql.DB, location string) error {
	encoding, err := one[string](ctx, pool, "SHOW server_encoding")
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fault.New(fault.Unavailable, "the database %s has the encoding %s; it was left untouched", location, encoding).
			WithHint("Create a database with ENCODING 'UTF8'.")
	}
	lacking, err := postgresLacking(ctx, pool, location)
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		behind, err := one[bool](ctx, pool, selectBehind)
		if err != nil || !behind {
			return err
		}
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := applyPostgres(ctx, tx, location); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

const (
	// newestTurn is the turn of the newest event that was stored or counted.
	newestTurn = `greatest(turn, coalesce((SELECT turn FROM feed ORDER BY turn DESC, number DESC LIMIT 1), 0))`

	// selectBehind tells whether the transactions of this server have lower numbers
	// than those of the server from which the database was copied.
	selectBehind = `SELECT EXISTS (SELECT FROM totals WHERE id = 1
	AND ` + newestTurn + ` >= origin + CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT))`

	// updateOrigin lets the turns go on behind the newest one.
	updateOrigin = `UPDATE totals SET origin = ` + newestTurn + ` WHERE id = 1
	AND ` + newestTurn + ` >= origin + CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT)`
)

// postgresLacking reads the schema's version and returns what it lacks.
func postgresLacking(ctx context.Context, in session, location string) ([]migration, error) {
	steps, err := migrationsOf(dialectPostgres)
	if err != nil {
		return nil, err
	}
	// to_regclass would answer from a cache that waiting for an advisory lock
	// does not refresh; a query of the catalog sees what is committed.
	exists, err := one[bool](ctx, in, `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'countersign_migrations')`)
	if err != nil {
		return nil, err
	}
	if !exists {
		return steps, nil
	}
	version, err := one[int](ctx, in, "SELECT coalesce(max(version), 0) FROM countersign_migrations")
	if err != nil {
		return nil, err
	}
	return pending(steps, version, location)
}

// applyPostgres applies what the schema lacks, in one transaction and one after
// another process. The schema's functions keep the search path set here.
func applyPostgres(ctx context.Context, tx *sql.Tx, location string) error {
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return err
	}
	lacking, err := postgresLacking(ctx, tx, location)
	if err != nil {
		return err
	}
	const start = `SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)`
	if _, err := tx.ExecContext(ctx, start); err != nil {
		return err
	}
	const record = `CREATE TABLE IF NOT EXISTS countersign_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL)`
	if _, err := tx.ExecContext(ctx, record); err != nil {
		return err
	}
	for _, step := range lacking {
		if _, err := tx.ExecContext(ctx, step.text); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO countersign_migrations VALUES ($1, $2)", step.version, step.name); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, updateOrigin)
	return err
}

// errOutcomeOpen says that a statement was sent and no answer came.
var errOutcomeOpen = errors.New("the outcome is not known")

// write runs do without a transaction of its own. When ctx ends under a
// statement, the server is asked to cancel it and its answer is awaited: only a
// broken connection leaves an outcome open.
func (e *postgresEngine) write(ctx context.Context, do func(context.Context, session) error) error {
	conn, err := e.connection(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return openOutcome(do(ctx, conn))
}

// connection waits for a connection of the pool.
func (e *postgresEngine) connection(ctx context.Context) (*sql.Conn, error) {
	asked := time.Now()
	conn, err := e.pool.Conn(ctx)
	e.waited(time.Since(asked))
	return conn, err
}

// openOutcome marks the error of a statement that was sent and not answered.
func openOutcome(err error) error {
	_, answered := errors.AsType[*pgconn.PgError](err)
	if err != nil && !answered && !pgconn.SafeToRetry(err) && (broken(err) || ended(err)) {
		return fmt.Errorf("%w: %w", errOutcomeOpen, err)
	}
	return err
}

// atomic runs do in a transaction. The server ends one whose client has stopped
// in the middle, since others may wait for what it has locked. Only the COMMIT
// can leave the outcome open.
func (e *postgresEngine) atomic(ctx context.Context, do func(context.Context, session) error) error {
	conn, err := e.connection(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, beginIdle)
	if err == nil {
		err = do(ctx, conn)
	}
	if err != nil {
		if undone := rollBack(ctx, conn); undone != nil {
			err = errors.Join(err, undone)
		}
		if errors.Is(err, errNothingToKeep) {
			return nil
		}
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return openOutcome(err)
}

// rollBack ends a transaction that failed, also one whose caller is gone. A
// connection on which it cannot be ended is given up, and the server ends it.
func rollBack(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMargin)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		return errors.Join(err, conn.Raw(func(any) error { return driver.ErrBadConn }))
	}
	return nil
}

func (e *postgresEngine) read() (session, error) { return e.pool, nil }

func (e *postgresEngine) close() error { return e.pool.Close() }

// The SQLSTATE codes and classes that this package tells apart.
const (
	stateSerialization  = "40001"
	stateDeadlock       = "40P01"
	stateLockTimeout    = "55P03"
	stateCancelled      = "57014"
	classIntegrity      = "23"
	classConnection     = "08"
	classResources      = "53"
	classIntervention   = "57"
	classAuthorization  = "28"
	classCatalog        = "3D"
	classSchema         = "3F"
	stateProtocol       = "08P01" // a pooler's word for a startup parameter that it does not take
	stateReadOnly       = "25006"
	stateNoPrivilege    = "42501"
	stateDuplicateTable = "42P07"
	stateIdle           = "25P03" // a transaction whose client had stopped was ended
)

func postgresViolated(err error) string {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !strings.HasPrefix(failed.Code, classIntegrity) {
		return ""
	}
	if failed.ConstraintName == "" {
		return "not_null"
	}
	return failed.ConstraintName
}

// postgresTransient reports conflicts that the server resolved by ending one
// side, and connections that broke.
func postgresTransient(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Code == stateSerialization || failed.Code == stateDeadlock || failed.Code == stateIdle ||
			strings.HasPrefix(failed.Code, classConnection) && failed.Code != stateProtocol || strings.HasPrefix(failed.Code, classIntervention) && failed.Code != stateCancelled
	}
	return broken(err)
}

// broken reports a connection that ended or could not be made.
func broken(err error) bool {
	if ended(err) {
		return false
	}
	_, dialled := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return dialled || network || pgconn.SafeToRetry(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn)
}

// ended reports a context that is over.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// postgresUnavailable tells a server that cannot serve. Where a connection broke
// under a statement, the caller is told that the outcome is open.
func postgresUnavailable(err error) *fault.Error {
	say := func(what, hint string) *fault.Error {
		return fault.New(fault.Unavailable, "%s", what).WithHint("%s", hint).WithCause(err)
	}
	failed, ok := errors.AsType[*pgconn.PgError](err)
	_, dialled := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		switch {
		case errors.Is(err, errOutcomeOpen):
			return say("the connection to PostgreSQL broke; whether the call was stored is not known",
				"Look whether it was, or make the same call again, with the same idempotency_key if it had one.")
		case dialled:
			return say("the PostgreSQL server cannot be reached; nothing changed", "Check that it runs and that the URL is right, then make the same call again.")
		case broken(err):
			return task.Unavailable(err)
		}
		return nil
	}
	switch {
	case failed.Code == stateCancelled || failed.Code == stateLockTimeout || postgresTransient(err):
		return task.Unavailable(err)
	case strings.HasPrefix(failed.Code, classResources):
		return say("the PostgreSQL server is out of connections, memory or disk; nothing changed", "Make room on it, then make the same call again.")
	case failed.Code == stateReadOnly || failed.Code == stateNoPrivilege:
		return say("the PostgreSQL database may not be written to; nothing changed", "Check the privileges of the user, and that the server is no standby.")
	case strings.HasPrefix(failed.Code, classAuthorization) || strings.HasPrefix(failed.Code, classCatalog):
		return say("the PostgreSQL server refused the connection; nothing changed", "Check user, password and database name in the URL.")
	case strings.HasPrefix(failed.Code, classSchema):
		return say("there is no PostgreSQL schema by the search_path; nothing changed", "Create the schema, or name another with search_path in the URL.")
	case dialled:
		return say("the PostgreSQL server refused the connection: "+failed.Message+"; nothing changed",
			"Check the options of the URL. A pooler has to take the startup parameters statement_timeout and default_transaction_isolation.")
	case failed.Code == stateDuplicateTable:
		return say("the PostgreSQL schema holds tables of another program; it was left untouched", "Name an empty database or schema (search_path).")
	}
	return nil
}
