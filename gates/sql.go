package gates

import (
	"cmp"
	"context"
	"database/sql"
)

// SQL checks a database by a ping and a query that must return a row. Choose a
// query on a table that the server needs; without one it is SELECT 1, which
// proves the connection only. The text of the driver's error is shown by /test.
type SQL struct {
	DB    *sql.DB
	Query string
}

func (s SQL) check(ctx context.Context) finding {
	if s.DB == nil {
		return finding{detail: detailNotConfigured}
	}
	if err := s.DB.PingContext(ctx); err != nil {
		return finding{present: true, detail: "ping: " + err.Error()}
	}
	rows, err := s.DB.QueryContext(ctx, cmp.Or(s.Query, "SELECT 1"))
	if err != nil {
		return finding{present: true, detail: "query: " + err.Error()}
	}
	defer func() { _ = rows.Close() }()
	answered := rows.Next()
	if err := rows.Err(); err != nil {
		return finding{present: true, detail: "query: " + err.Error()}
	}
	if !answered {
		return finding{present: true, detail: "the query returned no row"}
	}
	return finding{present: true, works: true, detail: "query answered"}
}
