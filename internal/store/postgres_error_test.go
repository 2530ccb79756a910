package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresErrors_tellWhatToDo: what is tried again, what a caller is told,
// and where the outcome is said to be open.
func TestPostgresErrors_tellWhatToDo(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("run: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err       error
		transient bool
		told      string // empty for an internal error
	}{
		"serialization":     {state("40001"), true, "nothing changed"},
		"deadlock":          {state("40P01"), true, "nothing changed"},
		"idle transaction":  {state("25P03"), true, "nothing changed"},
		"shutdown":          {state("57P01"), true, "nothing changed"},
		"statement timeout": {state("57014"), false, "nothing changed"},
		"no connections":    {state("53300"), false, "nothing changed"},
		"full disk":         {state("53100"), false, "nothing changed"},
		"standby":           {state("25006"), false, "may not be written to"},
		"no privilege":      {state("42501"), false, "may not be written to"},
		"wrong password":    {state("28P01"), false, "refused the connection"},
		"no such database":  {state("3D000"), false, "refused the connection"},
		"no such schema":    {state("3F000"), false, "search_path"},
		"pooler":            {state("08P01"), false, ""},
		"foreign tables":    {state("42P07"), false, "another program"},
		"broken read":       {io.ErrUnexpectedEOF, true, "nothing changed"},
		"broken write":      {fmt.Errorf("%w: %w", errOutcomeOpen, io.ErrUnexpectedEOF), true, "not known"},
		"deadline of write": {fmt.Errorf("%w: %w", errOutcomeOpen, context.DeadlineExceeded), false, "not known"},
		"syntax":            {state("42601"), false, ""},
		"constraint":        {state("23514"), false, ""},
		"other":             {errors.New("other"), false, ""},
	} {
		if got := postgresTransient(c.err); got != c.transient {
			t.Errorf("%s: transient is %v, want %v", name, got, c.transient)
		}
		told := postgresUnavailable(c.err)
		if (told == nil) != (c.told == "") || told != nil && (!strings.Contains(told.Message, c.told) || told.Hint == "") {
			t.Errorf("%s: got %v, want a fault that says %q", name, told, c.told)
		}
	}
}
