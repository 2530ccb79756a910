package store

import (
	"errors"
	"fmt"

	"github.com/gofrs/flock"
)

// The suffixes of the two lock files beside a SQLite file.
const (
	turnstileSuffix = ".qlock"
	writerSuffix    = ".wlock"
)

// lockFileMode lets everybody who may read the database queue for it.
const lockFileMode = 0o644

// errNoLock says that the lock files cannot be used: no access, or no room.
var errNoLock = errors.New("the lock files beside the database cannot be used")

// fileLock is the lock that the writers of all processes queue for, in the
// kernel. A process passes the turnstile first, waits for the writer lock in it,
// and leaves it with the lock: so whoever has just written stands in line again
// behind those who wait. The kernel drops both locks of a process that dies.
type fileLock struct {
	turnstile *flock.Flock
	writer    *flock.Flock
}

func newFileLock(database string) *fileLock {
	return &fileLock{
		turnstile: flock.New(database+turnstileSuffix, flock.SetPermissions(lockFileMode)),
		writer:    flock.New(database+writerSuffix, flock.SetPermissions(lockFileMode)),
	}
}

// Lock blocks until this process is the writer.
func (l *fileLock) Lock() error {
	if err := l.turnstile.Lock(); err != nil {
		return fmt.Errorf("%w: enter the queue of writers: %w", errNoLock, err)
	}
	if err := l.writer.Lock(); err != nil {
		return fmt.Errorf("%w: become the writer: %w", errNoLock, leave(l.turnstile, err))
	}
	if err := l.turnstile.Unlock(); err != nil {
		return fmt.Errorf("%w: leave the queue of writers: %w", errNoLock, leave(l.writer, err))
	}
	return nil
}

// leave unlocks on the way out of a failure, which stays the error told.
func leave(held *flock.Flock, failed error) error {
	if err := held.Unlock(); err != nil {
		return fmt.Errorf("%w (and %w)", failed, err)
	}
	return failed
}

// Unlock lets the next process in.
func (l *fileLock) Unlock() error { return l.writer.Unlock() }
