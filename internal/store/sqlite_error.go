package store

import (
	"errors"
	"regexp"
	"sync"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// applicationID marks a SQLite file as Countersign's, in its header: "Csgn".
const applicationID = 0x4373676e

// primary is the part of a result code that names the kind of error.
const primary = 0xff

var (
	checkFailed  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`CHECK constraint failed: ([a-z_]+)`) })
	uniqueFailed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`UNIQUE constraint failed: ([a-z_., ]+[a-z_])`) })
	raised       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z]+_[a-z_]+) \([0-9]+\)$`) })
)

// sqliteViolated reads the name of a constraint out of SQLite's message: a CHECK
// by its name, a trigger by the text that it raises, a unique key by its columns.
func sqliteViolated(err error) string {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok || failed.Code()&primary != lib.SQLITE_CONSTRAINT {
		return ""
	}
	switch failed.Code() {
	case lib.SQLITE_CONSTRAINT_CHECK:
		return submatch(checkFailed(), failed.Error())
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		return uniqueColumns()[submatch(uniqueFailed(), failed.Error())]
	case lib.SQLITE_CONSTRAINT_TRIGGER:
		return submatch(raised(), failed.Error())
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return foreignKey
	}
	return "not_null"
}

// foreignKey stands for any foreign key: SQLite does not tell which. The keys
// are a backstop behind named triggers.
const foreignKey = "foreign_key"

func submatch(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// sqliteTransient reports a lock held by a foreign tool or by a recovery.
func sqliteTransient(err error) bool {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch failed.Code() & primary {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// sqlitePasses reports what ends when others leave room: a turn to write, memory,
// a disk.
func sqlitePasses(err error) bool {
	if errors.Is(err, errQueueFull) {
		return true
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch failed.Code() & primary {
	case lib.SQLITE_INTERRUPT, lib.SQLITE_NOMEM, lib.SQLITE_FULL, lib.SQLITE_IOERR:
		return true
	}
	return false
}

// sqliteUnavailable tells a full disk, a broken file and the like. SQLite has
// rolled the transaction back in every one of these cases.
func sqliteUnavailable(err error) *fault.Error {
	if errors.Is(err, errQueueClosed) || errors.Is(err, errQueueFull) {
		return task.Unavailable(err)
	}
	if errors.Is(err, errNoLock) {
		return noAccess(err)
	}
	if failed, ok := errors.AsType[*sqlite.Error](err); ok {
		return unavailableBy(failed.Code(), err)
	}
	return nil
}

// unavailableBy returns the fault of a result code of SQLite, if it is one of a
// database that cannot serve.
func unavailableBy(code int, cause error) *fault.Error {
	say := func(what, hint string) *fault.Error {
		return fault.New(fault.Unavailable, "%s; nothing changed", what).WithHint("%s", hint).WithCause(cause)
	}
	if code == lib.SQLITE_IOERR_FSYNC {
		// The whole transaction stands in the log, which is read again if the
		// machine or every process fails before the next write replaces it.
		return fault.New(fault.Unavailable, "the disk of the database failed to keep what was written; whether the call was stored is not known").
			WithHint("Check the disk. Then look whether it was, or make the same call again, with the same idempotency_key if it had one.").
			WithCause(cause)
	}
	switch code & primary {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL, lib.SQLITE_INTERRUPT, lib.SQLITE_NOMEM:
		return task.Unavailable(cause)
	case lib.SQLITE_FULL:
		return say("the disk of the database is full", "Make room on it, then make the same call again.")
	case lib.SQLITE_IOERR:
		return say("the disk of the database failed to read or write", "Check the disk and its free space, then make the same call again.")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return say("the database file may not be written to", "Check the permissions of the file and its directory.")
	case lib.SQLITE_CANTOPEN:
		return say("the database file cannot be opened", "Check that the directory exists and that this user may write to it.")
	case lib.SQLITE_NOTADB:
		return say("the file is no SQLite database", "Name a new file, or one that Countersign made.")
	case lib.SQLITE_CORRUPT:
		return say("the database file is damaged", "Keep a copy of it and of the files beside it, then restore a backup or name a new file.")
	}
	return nil
}
