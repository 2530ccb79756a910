package store

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// passing marks the cause of what may pass.
type passing struct{ error }

// Unwrap gives the cause.
func (p passing) Unwrap() error { return p.error }

// MayPass reports whether err, of Open or of a database, is of something that may
// pass without anyone changing the location: a lock that another holds, a server
// that is down, a full disk, a context that is over.
func MayPass(err error) bool {
	_, may := errors.AsType[passing](err)
	return may
}

// postgresPasses reports a server without room, and a statement that waited for
// too long.
func postgresPasses(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failed.Code == stateCancelled || failed.Code == stateLockTimeout || strings.HasPrefix(failed.Code, classResources)) ||
		errors.Is(err, errOutcomeOpen)
}
