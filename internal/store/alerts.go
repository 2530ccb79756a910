package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	selectAlerts = `SELECT name, id, kind, subject, state, since, coalesce(ended_at, -1), changed_at, coalesce(ends_at, -1), again, CAST(said AS TEXT)
FROM alerts ORDER BY name`

	selectDeliveries = `SELECT receiver, name, told_id, told_state, coalesce(told_at, -1), heard,
	tried_id, tried_state, coalesce(tried_since, -1), attempts, coalesce(next_at, -1), given_up
FROM alert_deliveries WHERE name IN (SELECT name FROM alerts) ORDER BY receiver, name`

	selectAlertPosition = `SELECT coalesce(turn, -1), coalesce(number, -1) FROM alert_position WHERE id = 1`
	updateAlertPosition = `UPDATE alert_position SET turn = $1, number = $2 WHERE id = 1 AND coalesce(turn, -1) = $3 AND coalesce(number, -1) = $4`

	// These are completed by dialect.listed and a parenthesis.
	deleteAlerts          = `DELETE FROM alerts WHERE name IN (`
	deleteTold            = `DELETE FROM alert_deliveries WHERE name IN (`
	deleteTheirDeliveries = `DELETE FROM alert_deliveries WHERE receiver IN (`

	selectWaiting = `SELECT id, title, coalesce(claimed_by, ''), updated_at FROM tasks
WHERE status = 'claimed' AND claimed_by IS NOT NULL AND updated_at <= $1
	AND NOT EXISTS (SELECT 1 FROM alerts WHERE alerts.name = 'task:' || tasks.id AND alerts.state = 'firing')
ORDER BY updated_at, id LIMIT $2`

	// selectDecided looks each task up by its id: joined, tasks could be read along.
	selectDecided = `SELECT subject, status, at FROM (
	SELECT subject, (SELECT status FROM tasks WHERE id = subject) AS status, (SELECT updated_at FROM tasks WHERE id = subject) AS at
	FROM alerts WHERE kind = 'task' AND state = 'firing') AS waited
WHERE status <> 'claimed' ORDER BY subject LIMIT $1`
)

func upsertAlerts() insertion {
	return insertion{
		into: `INSERT INTO alerts (name, id, kind, subject, state, since, ended_at, changed_at, ends_at, again, said)`, columns: 11,
		then: ` ON CONFLICT (name) DO UPDATE SET id = excluded.id, state = excluded.state, since = excluded.since, ended_at = excluded.ended_at,
	changed_at = excluded.changed_at, ends_at = excluded.ends_at, again = excluded.again, said = excluded.said`,
	}
}

func upsertDeliveries() insertion {
	return insertion{
		into: `INSERT INTO alert_deliveries (receiver, name, told_id, told_state, told_at, heard,
	tried_id, tried_state, tried_since, attempts, next_at, given_up)`, columns: 12,
		then: ` ON CONFLICT (receiver, name) DO UPDATE SET told_id = excluded.told_id, told_state = excluded.told_state, told_at = excluded.told_at,
	heard = excluded.heard, tried_id = excluded.tried_id, tried_state = excluded.tried_state, tried_since = excluded.tried_since,
	attempts = excluded.attempts, next_at = excluded.next_at, given_up = excluded.given_up`,
	}
}

// Alerts keeps alerts in a database.
type Alerts struct{ d *Database }

var _ alert.Store = Alerts{}

// Alerts returns what keeps alerts in the database, under a lease of their own.
func (d *Database) Alerts() Alerts { return Alerts{d} }

// Lease implements alert.Store.
func (a Alerts) Lease(ctx context.Context) (registry.Lease, error) {
	return a.d.lease(ctx, leaseOfAlerts)
}

// TakeLease implements alert.Store.
func (a Alerts) TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	return a.d.takeLease(ctx, leaseOfAlerts, seen, holder)
}

// ReleaseLease implements alert.Store.
func (a Alerts) ReleaseLease(ctx context.Context, fence int64) error {
	return a.d.releaseLease(ctx, leaseOfAlerts, fence)
}

// Load implements alert.Store.
func (a Alerts) Load(ctx context.Context) (alert.Kept, error) {
	var kept alert.Kept
	err := a.d.read(ctx, func(ctx context.Context, in session) error {
		position, found, err := first(ctx, in, scanAlertPosition, selectAlertPosition)
		switch {
		case err != nil:
			return err
		case !found:
			return errNoAlertPosition
		case position.Turn >= 0:
			kept.Position = &position
		}
		if kept.Alerts, err = all(ctx, in, scanAlert, selectAlerts); err != nil {
			return err
		}
		kept.Deliveries, err = all(ctx, in, scanDelivery, selectDeliveries)
		return err
	})
	return kept, a.d.explained("read the alerts", err)
}

var errNoAlertPosition = errors.New("the row of the position of the alerts is gone")

func scanAlertPosition(from row) (feed.Position, error) {
	var p feed.Position
	err := from.Scan(&p.Turn, &p.Number)
	return p, err
}

func scanAlert(from row) (alert.Alert, error) {
	var a alert.Alert
	var since, ended, changed, ends int64
	var said string
	err := from.Scan(&a.Key, &a.ID, &a.Kind, &a.Subject, &a.State, &since, &ended, &changed, &ends, &a.Again, &said)
	if err != nil {
		return a, err
	}
	a.Since, a.EndedAt, a.ChangedAt, a.EndsAt = moment(since), moment(ended), moment(changed), moment(ends)
	if err := json.Unmarshal([]byte(said), &a.Content); err != nil {
		return a, fmt.Errorf("read what the alert %s says: %w", a.Key, err)
	}
	return a, nil
}

// scanDelivery reads a delivery; the columns told_* are what was taken, and heard is
// whether the alert may be thought to fire.
func scanDelivery(from row) (alert.Delivery, error) {
	var d alert.Delivery
	var told, heard, since, next, givenUp int64
	err := from.Scan(&d.Receiver, &d.Key, &d.Taken.AlertID, &d.Taken.State, &told, &heard,
		&d.Tried.AlertID, &d.Tried.State, &since, &d.Attempts, &next, &givenUp)
	d.TakenAt, d.MayFire, d.TriedSince, d.Next, d.GivenUp = moment(told), heard != 0, moment(since), moment(next), givenUp != 0
	return d, err
}

// Write implements alert.Store.
func (a Alerts) Write(ctx context.Context, fence int64, change alert.Change) error {
	if rows := max(len(change.Alerts), len(change.Deliveries), len(change.Gone)); rows > alert.MaxWritten {
		return fmt.Errorf("%d rows about alerts were given at once; the limit is %d", rows, alert.MaxWritten)
	}
	err := a.d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		held, err := beat(ctx, in, leaseOfAlerts, fence)
		if err == nil && !held {
			err = registry.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		if change.Move != nil {
			if err := moveAlerts(ctx, in, change.Move); err != nil {
				return err
			}
		}
		return a.write(ctx, in, &change)
	})
	if errors.Is(err, registry.ErrLeaseLost) {
		return err
	}
	return a.d.explained("write alerts", err)
}

// moveAlerts goes a step along the feed. One whose answer was lost has been made.
func moveAlerts(ctx context.Context, in session, move *alert.Move) error {
	from := feed.Position{Turn: -1, Number: -1}
	if move.From != nil {
		from = *move.From
	}
	if _, err := in.ExecContext(ctx, updateAlertPosition, move.To.Turn, move.To.Number, from.Turn, from.Number); err != nil {
		return err
	}
	now, found, err := first(ctx, in, scanAlertPosition, selectAlertPosition)
	switch {
	case err != nil:
		return err
	case !found:
		return errNoAlertPosition
	case now != move.To:
		return registry.ErrLeaseLost
	}
	return nil
}

func (a Alerts) write(ctx context.Context, in session, change *alert.Change) error {
	var alerts, deliveries []any
	for i := range change.Alerts {
		one := &change.Alerts[i]
		said, err := json.Marshal(one.Content)
		if err != nil {
			return fmt.Errorf("write what the alert %s says as JSON: %w", one.Key, err)
		}
		alerts = append(alerts, one.Key, one.ID, string(one.Kind), one.Subject, string(one.State), stamp(one.Since), stampOrNull(one.EndedAt),
			stamp(one.ChangedAt), stampOrNull(one.EndsAt), one.Again, cleanJSON(said))
	}
	for i := range change.Deliveries {
		one := &change.Deliveries[i]
		deliveries = append(deliveries, one.Receiver, one.Key, one.Taken.AlertID, string(one.Taken.State), stampOrNull(one.TakenAt), flag(one.MayFire),
			one.Tried.AlertID, string(one.Tried.State), stampOrNull(one.TriedSince), one.Attempts, stampOrNull(one.Next), flag(one.GivenUp))
	}
	if err := upsertAlerts().exec(ctx, in, alerts); err != nil {
		return err
	}
	if err := upsertDeliveries().exec(ctx, in, deliveries); err != nil {
		return err
	}
	for _, each := range []struct {
		text  string
		names []string
	}{{deleteAlerts, change.Gone}, {deleteTold, change.Gone}, {deleteTheirDeliveries, change.Forgotten}} {
		if len(each.names) == 0 {
			continue
		}
		names, err := namesText(each.names)
		if err != nil {
			return err
		}
		if _, err := in.ExecContext(ctx, each.text+a.d.dialect.listed+")", names); err != nil {
			return err
		}
	}
	return nil
}

func scanClaim(from row) (alert.Claim, error) {
	var c alert.Claim
	var at int64
	err := from.Scan(&c.TaskID, &c.Title, &c.ClaimedBy, &at)
	c.ClaimedAt = moment(at)
	return c, err
}

// Waiting implements alert.Store.
func (a Alerts) Waiting(ctx context.Context, before time.Time, limit int) ([]alert.Claim, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	return listed(ctx, a.d, "read the claims that wait for their verdict", scanClaim, selectWaiting, stamp(before), limit)
}

func scanVerdict(from row) (alert.Verdict, error) {
	var v alert.Verdict
	var at int64
	err := from.Scan(&v.TaskID, &v.Status, &at)
	v.At = moment(at)
	return v, err
}

// Decided implements alert.Store.
func (a Alerts) Decided(ctx context.Context, limit int) ([]alert.Verdict, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	return listed(ctx, a.d, "read the verdicts on claims that have waited", scanVerdict, selectDecided, limit)
}
