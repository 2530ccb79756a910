package store

import (
	"fmt"
	"os"

	"github.com/countersign-dev/countersign/internal/fault"
)

// seen is a file as it was found.
type seen struct {
	path string
	info os.FileInfo
}

// look finds the files of an open database: the file itself, its log and the
// index of that. SQLite keeps all three in place while a connection is open.
func look(database string) ([]seen, error) {
	var files []seen
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(database + suffix)
		if err != nil {
			return nil, fmt.Errorf("look at the files of the database: %w", err)
		}
		files = append(files, seen{path: database + suffix, info: info})
	}
	return files, nil
}

// inPlace refuses to go on when a file of the open database was removed or
// replaced: SQLite would write to it, and find there all that it wrote; nobody
// else does. Fault: Unavailable.
func (e *sqliteEngine) inPlace() error {
	for _, file := range e.files {
		found, err := os.Stat(file.path)
		if err != nil || !os.SameFile(file.info, found) {
			return fault.New(fault.Unavailable, "the database's file was removed or replaced while it was open; nothing changed").
				WithHint("Put %s back, or end every process that uses the database and start again.", file.path).
				WithCause(err)
		}
	}
	return nil
}
