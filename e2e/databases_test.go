//go:build unix

package e2e

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// databases are the two that everything about the task gate is tried on: each
// gives the --db of a new database.
func databases() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"sqlite":   sqlite,
		"postgres": func(t *testing.T) string { return storetest.Postgres(t) },
	}
}

func sqlite(t *testing.T) string { return storetest.SQLite(t) }
