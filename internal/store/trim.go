package store

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// trimMargin is the part of Retention.MaxBytes that Trim leaves free, so that
// what comes before the next one has room: a sixteenth.
const trimMargin = 16

const (
	// notNewest spares the newest result of every component.
	notNewest = ` AND NOT EXISTS (SELECT 1 FROM components WHERE name = results.component AND result_id = results.id)`

	selectOldResults = `SELECT id, bytes FROM results WHERE id < $1` + notNewest + ` ORDER BY id LIMIT $2`
	deleteOldResults = `DELETE FROM results WHERE id <= $1` + notNewest

	selectOldHours = `SELECT start, component, bytes FROM hours WHERE start < $1 ORDER BY start, component LIMIT $2`
	deleteOldHours = `DELETE FROM hours WHERE (start, component) <= ($1, $2)`

	selectOldPreflights = `SELECT run, at, digest, bytes FROM preflights ORDER BY at, run, digest LIMIT $1`

	selectSurplusPreflights = `SELECT run, at, digest, 0 FROM (
	SELECT run, at, digest, row_number() OVER (PARTITION BY run ORDER BY at DESC, digest DESC) AS place FROM preflights) AS placed
WHERE place > $1 LIMIT $2`
	deletePreflight = `DELETE FROM preflights WHERE run = $1 AND at = $2 AND digest = $3 RETURNING bytes`

	selectLoose = `SELECT digest FROM tool_lists WHERE loose = 1 LIMIT $1`
	// deleteUnused and updateTight are completed by dialect.listed and a parenthesis.
	deleteUnused = `DELETE FROM tool_lists WHERE loose = 1
	AND digest NOT IN (SELECT tools_digest FROM components UNION SELECT accepted_digest FROM components) AND digest IN (`
	updateTight = `UPDATE tool_lists SET loose = 0 WHERE digest IN (`
)

// neverStart is after the beginning of any hour.
const neverStart = int64(1) << 62

// Trim removes history that is not to be kept, the oldest first: at most so many
// rows, in one short transaction. It returns how many it has removed; as long as
// that is as many as were permitted, there may be more. What goes is too old by
// its own time (results, hours), beyond MaxPreflights of its run, more than the
// bytes permit (hours in more than half of them, then results, hours, preflights),
// or a list of tools that no component refers to. The newest result of a component always stays, and so do
// all changes. Faults: Unavailable.
func (d *Database) Trim(ctx context.Context, now time.Time, retention registry.Retention, most int) (int, error) {
	if most < 1 {
		return 0, fmt.Errorf("at most %d rows were to be trimmed; it must be 1 or more", most)
	}
	var removed int
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		says, err := d.turn(ctx, in)
		if err != nil {
			return err
		}
		t := &trimming{in: in, left: most, says: says}
		for _, step := range t.steps(d, now, retention) {
			if err := step(ctx); err != nil {
				return err
			}
			if t.left <= 0 {
				break
			}
		}
		removed = max(removed, most-t.left) // The attempt before may have done its work.
		if t.left == most && t.tightened == 0 {
			return errNothingToKeep
		}
		return account(ctx, in, balance{-t.freed.bytes, -t.freed.hours})
	})
	return removed, d.explained("trim the history", err)
}

// trimming is one transaction of Trim.
type trimming struct {
	in        session
	left      int     // rows that may still be removed
	says      balance // of the account, at the beginning
	freed     balance
	tightened int
}

// steps are what is removed, in this order.
func (t *trimming) steps(d *Database, now time.Time, retention registry.Retention) []func(context.Context) error {
	permitted := retention.MaxBytes - retention.MaxBytes/trimMargin
	over := func() int64 { return t.says.bytes - t.freed.bytes - permitted }
	hoursOver := func() int64 { return min(over(), t.says.hours-t.freed.hours-permitted/2) }
	everything := t.says.bytes
	return []func(context.Context) error{
		func(ctx context.Context) error { return t.results(ctx, idAt(now.Add(-retention.Raw)), everything) },
		func(ctx context.Context) error { return t.hours(ctx, stamp(now.Add(-retention.Hourly)), everything) },
		func(ctx context.Context) error {
			return t.preflights(ctx, everything, selectSurplusPreflights, MaxPreflights)
		},
		func(ctx context.Context) error { return t.hours(ctx, neverStart, hoursOver()) },
		func(ctx context.Context) error { return t.results(ctx, afterEveryID, over()) },
		func(ctx context.Context) error { return t.hours(ctx, neverStart, over()) },
		func(ctx context.Context) error { return t.preflights(ctx, over(), selectOldPreflights) },
		func(ctx context.Context) error { return t.toolLists(ctx, d) },
	}
}

// idAt is the least id that was made at a moment or later.
func idAt(at time.Time) string {
	hex := fmt.Sprintf("%012x", max(at.UnixMilli(), 0))
	return hex[:8] + "-" + hex[8:]
}

// oldest is a row that may go.
type oldest struct {
	text, digest string // its key, together with number
	number       int64
	bytes        int64
}

func scanOldResult(from row) (oldest, error) {
	var o oldest
	err := from.Scan(&o.text, &o.bytes)
	return o, err
}

func scanOldHour(from row) (oldest, error) {
	var o oldest
	err := from.Scan(&o.number, &o.text, &o.bytes)
	return o, err
}

func scanOldPreflight(from row) (oldest, error) {
	var o oldest
	err := from.Scan(&o.text, &o.number, &o.digest, &o.bytes)
	return o, err
}

// choose returns so many of the rows, from the first, as free the bytes wanted.
func (t *trimming) choose(rows []oldest, wanted int64) []oldest {
	var freed int64
	for i, next := range rows {
		if freed >= wanted {
			return rows[:i]
		}
		freed += next.bytes
	}
	return rows
}

// gone notes what was removed and returns its bytes.
func (t *trimming) gone(rows []oldest) int64 {
	var bytes int64
	for _, next := range rows {
		bytes += next.bytes
	}
	t.left -= len(rows)
	t.freed.bytes += bytes
	return bytes
}

func (t *trimming) results(ctx context.Context, before string, wanted int64) error {
	if wanted <= 0 {
		return nil
	}
	rows, err := all(ctx, t.in, scanOldResult, selectOldResults, before, t.left)
	if rows = t.choose(rows, wanted); err != nil || len(rows) == 0 {
		return err
	}
	t.gone(rows)
	_, err = t.in.ExecContext(ctx, deleteOldResults, rows[len(rows)-1].text)
	return err
}

func (t *trimming) hours(ctx context.Context, before, wanted int64) error {
	if wanted <= 0 {
		return nil
	}
	rows, err := all(ctx, t.in, scanOldHour, selectOldHours, before, t.left)
	if rows = t.choose(rows, wanted); err != nil || len(rows) == 0 {
		return err
	}
	t.freed.hours += t.gone(rows)
	last := rows[len(rows)-1]
	_, err = t.in.ExecContext(ctx, deleteOldHours, last.number, last.text)
	return err
}

func (t *trimming) preflights(ctx context.Context, wanted int64, selection string, arguments ...any) error {
	if wanted <= 0 {
		return nil
	}
	rows, err := all(ctx, t.in, scanOldPreflight, selection, append(arguments, t.left)...)
	if err != nil {
		return err
	}
	rows = t.choose(rows, wanted)
	for i := range rows {
		if rows[i].bytes, err = one[int64](ctx, t.in, deletePreflight, rows[i].text, rows[i].number, rows[i].digest); err != nil {
			return err
		}
	}
	t.gone(rows)
	return nil
}

// toolLists looks through the lists that a component has ceased to refer to.
func (t *trimming) toolLists(ctx context.Context, d *Database) error {
	loose, err := all(ctx, t.in, scanValue[string], selectLoose, t.left)
	if err != nil || len(loose) == 0 {
		return err
	}
	listed, err := namesText(loose)
	if err != nil {
		return err
	}
	result, err := t.in.ExecContext(ctx, deleteUnused+d.dialect.listed+")", listed)
	if err != nil {
		return err
	}
	removed, err := result.RowsAffected()
	if err != nil {
		return err
	}
	t.left -= int(removed)
	t.tightened = len(loose)
	_, err = t.in.ExecContext(ctx, updateTight+d.dialect.listed+")", listed)
	return err
}
