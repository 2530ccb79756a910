package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/countersign-dev/countersign/internal/fault"
)

// sqliteFailure is an error of SQLite itself.
func sqliteFailure(t *testing.T, statements ...string) error {
	t.Helper()
	database, _ := openEngine(t)
	var err error
	for _, statement := range statements {
		_, err = database.engine.(*sqliteEngine).conn.ExecContext(t.Context(), statement)
	}
	if _, is := errors.AsType[*sqlite.Error](err); !is {
		t.Fatalf("%v fails with %v", statements, err)
	}
	return err
}

func TestMayPass_isOfWhatNobodyHasToCorrect(t *testing.T) {
	lite, server := &Database{dialect: sqliteDialect()}, &Database{dialect: postgresDialect()}
	refusal := func(code string) error { return fmt.Errorf("open: %w", &pgconn.PgError{Code: code}) }
	full := sqliteFailure(t, "PRAGMA max_page_count = 1", "CREATE TABLE more (a TEXT) STRICT")
	for name, test := range map[string]struct {
		database *Database
		err      error
		want     bool
	}{
		"a context that is over":        {lite, context.DeadlineExceeded, true},
		"too many wait":                 {lite, errQueueFull, true},
		"what was read is stale":        {lite, errStale, true},
		"a full disk":                   {lite, full, true},
		"no permission to lock":         {lite, errNoLock, false},
		"the database is closed":        {lite, errQueueClosed, false},
		"a fault":                       {lite, fault.New(fault.Unavailable, "of another program"), false},
		"a server that starts":          {server, refusal("57P03"), true},
		"a server that is full":         {server, refusal("53300"), true},
		"a statement that took long":    {server, refusal(stateCancelled), true},
		"a lock that was held for long": {server, refusal(stateLockTimeout), true},
		"an outcome that is open":       {server, errOutcomeOpen, true},
		"a wrong password":              {server, refusal("28P01"), false},
		"no such database":              {server, refusal("3D000"), false},
		"tables of another program":     {server, refusal(stateDuplicateTable), false},
		"a standby":                     {server, refusal(stateReadOnly), false},
	} {
		err := test.database.explained("open", test.err)
		if got := MayPass(err); got != test.want {
			t.Errorf("%s: may pass is %v: %v", name, got, err)
		}
	}
}
