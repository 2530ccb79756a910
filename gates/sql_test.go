package gates_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/countersign-dev/countersign/gates"
)

func openSQLite(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE chunks (id INTEGER); CREATE TABLE pins (id INTEGER); INSERT INTO pins VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestSQL_wantsARow(t *testing.T) {
	db := openSQLite(t)
	closed := openSQLite(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		kind   gates.SQL
		passes bool
		detail string
	}{
		{"connection", gates.SQL{DB: db}, true, "query answered"},
		{"row", gates.SQL{DB: db, Query: "SELECT id FROM pins"}, true, "query answered"},
		{"no row", gates.SQL{DB: db, Query: "SELECT id FROM chunks"}, false, "the query returned no row"},
		{"no table", gates.SQL{DB: db, Query: "SELECT id FROM gone"}, false, "no such table: gone"},
		{"closed", gates.SQL{DB: closed}, false, "database is closed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, body := askTest(t, mounted(gates.Required("database", c.kind)))
			told := body.Tools["database"]
			if !told.Present || told.Executable != c.passes || !strings.Contains(told.Detail, c.detail) {
				t.Errorf("database = %+v, want passes %v, %q", told, c.passes, c.detail)
			}
		})
	}
}
