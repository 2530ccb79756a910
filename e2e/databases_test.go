//go:build unix

package e2e

import (
	"path/filepath"
	"testing"
)

// sqlite is the place of a database file that does not exist yet.
func sqlite(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "tasks.db")
}
