package store

import "errors"

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
