package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
)

// TestDatabase_isUnavailableWhileOneOfItsFilesIsGone takes the files of an open
// database away, one after the other: SQLite alone would go on writing to what
// nobody else will ever see.
func TestDatabase_isUnavailableWhileOneOfItsFilesIsGone(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		for _, replaced := range []bool{false, true} {
			db, engine := openEngine(t)
			file := engine.path + suffix
			away := filepath.Join(t.TempDir(), "away")
			if err := os.Rename(file, away); err != nil {
				t.Fatal(err)
			}
			if replaced {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			created := longTask()
			_, written := db.Create(t.Context(), created)
			_, read := db.Task(t.Context(), created.TaskID)
			for doing, err := range map[string]error{"create": written, "read": read, "check": db.Check(t.Context())} {
				if !errors.Is(err, fault.Unavailable) {
					t.Errorf("%s without %s, replaced %v: got %v, want E_UNAVAILABLE", doing, filepath.Base(file), replaced, err)
				}
			}
			if _, err := os.Stat(file); !replaced && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a new %s was made (%v)", filepath.Base(file), err)
			}
			if err := os.Rename(away, file); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Create(t.Context(), created); err != nil {
				t.Errorf("with %s back: %v", filepath.Base(file), err)
			}
		}
	}
}
