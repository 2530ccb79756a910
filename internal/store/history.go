package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	selectTurn    = `SELECT bytes, hour_bytes FROM history WHERE id = 1`
	updateHistory = `UPDATE history SET bytes = bytes + $1, hour_bytes = hour_bytes + $2 WHERE id = 1`

	// selectKept is completed by a condition. The document of the newest result
	// stands with its component.
	selectKept = `SELECT id, component, kind, probed_at, outcome, causes, reason, degraded, latency, `
	ofResult   = `coalesce(document, (SELECT document FROM components WHERE name = results.component AND result_id = results.id), '')
FROM results WHERE id = $1`
	ofComponent = `'' FROM results WHERE {led} AND id < $2 ORDER BY component DESC, id DESC LIMIT $3` // for dialect.led

	// selectRecent is completed by dialect.listed and ofRecent, which is for
	// dialect.led. The results of each component are one text, so that they are looked
	// up in their index.
	selectRecent = `WITH named (name) AS (`
	ofRecent     = `)
SELECT name, coalesce((SELECT string_agg(outcome || CAST($3 AS TEXT) || latency || CAST($3 AS TEXT) || CAST(proof AS TEXT), CAST($4 AS TEXT) ORDER BY id)
	FROM (SELECT outcome, latency, proof, id FROM results WHERE {led} ORDER BY component DESC, id DESC LIMIT $2) AS latest), '') FROM named`

	// What separates the fields of such a text, and its results: no JSON holds them.
	fieldEnd, resultEnd = "\x1f", "\x1e"

	// afterEveryID is greater than any id.
	afterEveryID = "g"

	// For dialect.led.
	selectHours = `SELECT component, start, passed, failed, undecided, latency_sum, latency_max FROM hours
WHERE {led} AND start >= $2 ORDER BY component DESC, start DESC LIMIT $3`

	selectChanges   = `SELECT component, at, from_status, to_status, causes, result_id FROM changes`
	ofAll           = ` ORDER BY number DESC LIMIT $1`
	ofOneComponent  = ` WHERE {led} ORDER BY component DESC, number DESC LIMIT $2` // for dialect.led
	changesInserted = `INSERT INTO changes (component, at, from_status, to_status, causes, result_id)`
)

// upsertHours returns for each row the component and how many results it has.
func upsertHours() insertion {
	return insertion{
		into: `INSERT INTO hours (start, component, passed, failed, undecided, latency_sum, latency_max, bytes)`, columns: 8,
		then: ` ON CONFLICT (start, component) DO UPDATE SET passed = hours.passed + excluded.passed,
	failed = hours.failed + excluded.failed, undecided = hours.undecided + excluded.undecided,
	latency_sum = hours.latency_sum + excluded.latency_sum,
	latency_max = CASE WHEN excluded.latency_max > hours.latency_max THEN excluded.latency_max ELSE hours.latency_max END
RETURNING start, component, passed + failed + undecided`,
	}
}

// balance is what the history is taken to need, or a change of that.
type balance struct{ bytes, hours int64 }

func scanBalance(from row) (balance, error) {
	var b balance
	err := from.Scan(&b.bytes, &b.hours)
	return b, err
}

// turn begins the part of a transaction that changes components or history, and
// tells what the account says. SQLite has one writer at a time; on PostgreSQL the
// account's row is what writers wait for, so that none reads what another is
// about to change, and none waits for a second lock.
func (d *Database) turn(ctx context.Context, in session) (balance, error) {
	says, found, err := first(ctx, in, scanBalance, selectTurn+d.dialect.lockClause)
	if err == nil && !found {
		err = errors.New("the row of the account is gone")
	}
	return says, err
}

// account adds to the account, or takes from it.
func account(ctx context.Context, in session, change balance) error {
	if change == (balance{}) {
		return nil
	}
	_, err := in.ExecContext(ctx, updateHistory, change.bytes, change.hours)
	return err
}

// HistoryBytes returns what results, hours and preflights are taken to need: see
// registry.Retention. Faults: Unavailable.
func (d *Database) HistoryBytes(ctx context.Context) (int64, error) {
	var says balance
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		says, _, err = first(ctx, in, scanBalance, selectTurn)
		return err
	})
	return says.bytes, d.explained("read the account of the history", err)
}

// store adds the hourly sums to those stored, and returns what those that are new
// need.
func (h hourlySums) store(ctx context.Context, in session) (int64, error) {
	rows := make([]any, 0, len(h)*upsertHours().columns)
	for key, hour := range h {
		rows = append(rows, key.start, key.component, hour.passed, hour.failed, hour.undecided, hour.sum, hour.longest, hourBytes(key.component))
	}
	var added int64
	err := upsertHours().run(rows, func(text string, arguments []any) error {
		counted, err := all(ctx, in, scanCounted, text, arguments...)
		for _, next := range counted {
			if hour := h[next.key]; next.results == hour.passed+hour.failed+hour.undecided {
				added += hourBytes(next.key.component)
			}
		}
		return err
	})
	return added, err
}

type counted struct {
	key     hourKey
	results int64
}

func scanCounted(from row) (counted, error) {
	var c counted
	err := from.Scan(&c.key.start, &c.key.component, &c.results)
	return c, err
}

func storeChanges(ctx context.Context, in session, changes []registry.Change) error {
	var rows []any
	for _, next := range changes {
		causes, err := causesText(next.Causes)
		if err != nil {
			return err
		}
		rows = append(rows, next.Component, stamp(next.At), string(next.From), string(next.To), causes, next.ResultID)
	}
	return insertion{into: changesInserted, columns: 6}.exec(ctx, in, rows)
}

func scanKept(from row) (registry.Kept, error) {
	var k registry.Kept
	var probedAt, degraded, latency int64
	var causes, document string
	err := from.Scan(&k.ID, &k.Component, &k.Kind, &probedAt, &k.Seen.Outcome, &causes, &k.Seen.Reason, &degraded, &latency, &document)
	if err != nil {
		return k, err
	}
	k.Seen.ID, k.Seen.ProbedAt, k.Seen.Degraded = k.ID, moment(probedAt), degraded != 0
	k.Latency = time.Duration(latency) * time.Microsecond
	if document != "" {
		k.Document = json.RawMessage(document)
	}
	k.Seen.Causes, err = causesOf(causes)
	return k, err
}

// Result returns a result with its document, where that is kept. Faults:
// NotFound; Unavailable.
func (d *Database) Result(ctx context.Context, id string) (registry.Kept, error) {
	var kept registry.Kept
	var found bool
	var err error
	if id == clean(id) { // what no database keeps names none
		err = d.read(ctx, func(ctx context.Context, in session) error {
			var err error
			kept, found, err = first(ctx, in, scanKept, selectKept+ofResult, id)
			return err
		})
	}
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no result %q", id).
			WithHint("It was never stored, or it is older than the history that is kept.")
	}
	return kept, d.explained("read result "+id, err)
}

// Results returns the results of a component without their documents, the newest
// first: at most limit (1 to 1,000), and only those before the id before, when
// that is given. Faults: Unavailable.
func (d *Database) Results(ctx context.Context, component, before string, limit int) ([]registry.Kept, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	if before == "" {
		before = afterEveryID
	}
	return listed(ctx, d, "read the results of "+component, scanKept, d.dialect.led(selectKept+ofComponent, "$1"), component, before, limit)
}

// latest are the latest results of a component.
type latest struct {
	component string
	results   []registry.RecentResult
}

func scanLatest(from row) (latest, error) {
	var l latest
	var text string
	if err := from.Scan(&l.component, &text); err != nil || text == "" {
		return l, err
	}
	for each := range strings.SplitSeq(text, resultEnd) {
		fields := strings.SplitN(each, fieldEnd, 3)
		microseconds, err := strconv.ParseInt(fields[min(1, len(fields)-1)], 10, 64)
		if err != nil || len(fields) < 3 {
			return l, fmt.Errorf("read the result %q of %s: %w", each, l.component, err)
		}
		l.results = append(l.results, registry.RecentResult{
			Outcome: registry.Outcome(fields[0]), Latency: time.Duration(microseconds) * time.Microsecond, Proof: json.RawMessage(fields[2]),
		})
	}
	return l, nil
}

func (d *Database) recentStatement() string {
	return selectRecent + d.dialect.listed + d.dialect.led(ofRecent, "name")
}

// Recent returns the n latest results of each of these components, the oldest
// first, of at most 1,000 components; those without results are absent. It takes
// one statement. Faults: Unavailable.
func (d *Database) Recent(ctx context.Context, names []string, n int) (map[string][]registry.RecentResult, error) {
	recent := make(map[string][]registry.RecentResult, len(names))
	if err := checkLimit(n); err != nil || len(names) == 0 {
		return recent, err
	}
	given, err := namesGiven(names)
	if err != nil {
		return nil, err
	}
	found, err := listed(ctx, d, "read the latest results of components", scanLatest, d.recentStatement(), given, n, fieldEnd, resultEnd)
	if err != nil {
		return nil, err
	}
	for _, next := range found {
		if len(next.results) > 0 {
			recent[next.component] = next.results
		}
	}
	return recent, nil
}

func scanHour(from row) (registry.Hour, error) {
	var h registry.Hour
	var start, sum, longest int64
	err := from.Scan(&h.Component, &start, &h.Passed, &h.Failed, &h.Undecided, &sum, &longest)
	h.Start = moment(start)
	h.LatencyMs.Sum = registry.Milliseconds(time.Duration(sum) * time.Microsecond)
	h.LatencyMs.Max = registry.Milliseconds(time.Duration(longest) * time.Microsecond)
	return h, err
}

// Hours returns the hourly sums of a component that do not begin before since, the
// newest first, at most limit (1 to 1,000). Faults: Unavailable.
func (d *Database) Hours(ctx context.Context, component string, since time.Time, limit int) ([]registry.Hour, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	return listed(ctx, d, "read the hours of "+component, scanHour, d.dialect.led(selectHours, "$1"), component, stamp(since), limit)
}

func scanChange(from row) (registry.Change, error) {
	var c registry.Change
	var at int64
	var causes string
	err := from.Scan(&c.Component, &at, &c.From, &c.To, &causes, &c.ResultID)
	if err != nil {
		return c, err
	}
	c.At = moment(at)
	c.Causes, err = causesOf(causes)
	return c, err
}

// Changes returns the changes of status of a component, or of all components
// when none is named: the newest first, at most limit (1 to 1,000). Faults:
// Unavailable.
func (d *Database) Changes(ctx context.Context, component string, limit int) ([]registry.Change, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	if component == "" {
		return listed(ctx, d, "read the changes of status", scanChange, selectChanges+ofAll, limit)
	}
	return listed(ctx, d, "read the changes of "+component, scanChange, d.dialect.led(selectChanges+ofOneComponent, "$1"), component, limit)
}

// listed reads rows within the wait of a read.
func listed[T any](ctx context.Context, d *Database, attempted string, scan func(row) (T, error), text string, args ...any) ([]T, error) {
	var found []T
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		found, err = all(ctx, in, scan, text, args...)
		return err
	})
	if err != nil {
		return nil, d.explained(attempted, err)
	}
	return found, nil
}

// What a row is taken to need beside its texts: with its indexes, their keys, and
// the room that stays free in pages. That is what was measured on PostgreSQL just
// after a VACUUM; SQLite needs less, two thirds for a result.
const (
	resultOverhead    = 280
	hourOverhead      = 200
	preflightOverhead = 160
)

// resultBytes is what a result is taken to need whose other texts have so many
// bytes: an eighth more for what long ones leave of their last page. The name of
// its component stands in an index as well.
func resultBytes(record *registry.Record, texts int) int64 {
	return int64(resultOverhead + 2*len(record.Registration.Name) + len(record.Registration.Kind) + texts + texts/8)
}

func hourBytes(component string) int64 { return int64(hourOverhead + 2*len(component)) }
