package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// maxRowsAtOnce is how many rows one statement inserts (SQLite looks each of its
// parameters up in a list, so that more would cost more), and rowsStep the factor
// from one size of statement to the next smaller one: so that few texts insert
// any number of rows, and each is prepared once.
const (
	maxRowsAtOnce = 16
	rowsStep      = 4
)

// insertion inserts rows, however many there are.
type insertion struct {
	into    string // the statement up to VALUES
	columns int
	then    string // what follows the values
}

// text is the statement that inserts so many rows.
func (i insertion) text(rows int) string {
	text := make([]byte, 0, len(i.into)+len(i.then)+rows*i.columns*6)
	text = append(text, i.into...)
	text = append(text, " VALUES "...)
	for n := range rows * i.columns {
		switch {
		case n == 0:
			text = append(text, '(')
		case n%i.columns == 0:
			text = append(text, "), ("...)
		default:
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(text, '$'), int64(n)+1, 10)
	}
	return string(append(append(text, ')'), i.then...))
}

// run inserts rows, whose values follow one another in arguments, by giving each
// statement and its part of the arguments to do.
func (i insertion) run(arguments []any, do func(text string, arguments []any) error) error {
	for size := maxRowsAtOnce; len(arguments) > 0; {
		if len(arguments) < size*i.columns {
			size /= rowsStep
			continue
		}
		part := size * i.columns
		if err := do(i.text(size), arguments[:part]); err != nil {
			return err
		}
		arguments = arguments[part:]
	}
	return nil
}

// exec inserts rows of which nothing is to be told.
func (i insertion) exec(ctx context.Context, in session, arguments []any) error {
	return i.run(arguments, func(text string, arguments []any) error {
		_, err := in.ExecContext(ctx, text, arguments...)
		return err
	})
}

// stamp is a moment as it is stored: milliseconds since the Unix epoch.
func stamp(at time.Time) int64 { return at.UnixMilli() }

// stampOrNull is NULL for the zero time.
func stampOrNull(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return stamp(at)
}

// moment is a stored stamp as a time; NULL, read as a negative one, is zero.
func moment(stamp int64) time.Time {
	if stamp < 0 {
		return time.Time{}
	}
	return time.UnixMilli(stamp).UTC()
}

// flag is a truth value as it is stored.
func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// textOrNull is NULL for no text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// clean makes a text that every database takes: UTF-8 without NUL.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// cleanJSON makes a JSON document that every database takes: in UTF-8, and
// without the escape of NUL, which PostgreSQL cannot make a text of.
func cleanJSON(document []byte) string {
	text := strings.ToValidUTF8(string(document), "\ufffd")
	if !strings.Contains(text, `\u0000`) {
		return text
	}
	var kept strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		kept.WriteString(before)
		switch {
		case !found || after == "":
			return kept.String()
		case strings.HasPrefix(after, "u0000"):
			kept.WriteString("\ufffd")
			text = after[len("u0000"):]
		default:
			kept.WriteString(`\` + after[:1])
			text = after[1:]
		}
	}
}

// causesText is a list of causes as it is stored.
func causesText(causes []registry.Cause) (string, error) {
	if len(causes) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(causes)
	if err != nil {
		return "", fmt.Errorf("write the causes as JSON: %w", err)
	}
	return cleanJSON(text), nil
}

// causesOf reads a stored list of causes, which is never nil.
func causesOf(text string) ([]registry.Cause, error) {
	causes := []registry.Cause{}
	if text == "[]" {
		return causes, nil
	}
	if err := json.Unmarshal([]byte(text), &causes); err != nil {
		return nil, fmt.Errorf("read the causes %q: %w", text, err)
	}
	return causes, nil
}

// namesText is a list of texts as the statements with dialect.listed take it.
func namesText(names []string) (string, error) {
	text, err := json.Marshal(names)
	if err != nil {
		return "", fmt.Errorf("write names as JSON: %w", err)
	}
	return string(text), nil
}

// namesGiven is namesText of names given by a caller, each once.
func namesGiven(names []string) (string, error) {
	if len(names) > maxListed {
		return "", fmt.Errorf("%d names were given at once; the limit is %d", len(names), maxListed)
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return namesText(slices.Compact(names))
}

// maxListed bounds the rows of one list.
const maxListed = 1000

func checkLimit(limit int) error {
	if limit < 1 || limit > maxListed {
		return fmt.Errorf("a list of %d rows was asked for; it must be from 1 to %d", limit, maxListed)
	}
	return nil
}
