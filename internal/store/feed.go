package store

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/internal/feed"
)

var _ feed.Store = (*Database)(nil)

const (
	selectEvents = `SELECT turn, number, kind, subject, what, at FROM feed`

	// selectEnds is completed twice by the condition and the order of what is
	// settled, by endsBetween and endsAfter.
	selectEnds  = `SELECT removed_turn, removed_number, coalesce((SELECT turn FROM feed WHERE `
	endsBetween = ` LIMIT 1), 0), coalesce((SELECT number FROM feed WHERE `
	endsAfter   = ` LIMIT 1), 0) FROM totals WHERE id = 1`
)

func scanEvent(from row) (feed.Event, error) {
	var e feed.Event
	var at int64
	err := from.Scan(&e.ID.Turn, &e.ID.Number, &e.Kind, &e.Subject, &e.What, &at)
	e.At = moment(at)
	return e, err
}

// Events implements feed.Store.
func (d *Database) Events(ctx context.Context, after feed.Position, limit int) ([]feed.Event, error) {
	if limit < 1 || limit > feed.MaxEvents {
		return nil, fmt.Errorf("%d events were asked for; it must be from 1 to %d", limit, feed.MaxEvents)
	}
	text := selectEvents + ` WHERE ` + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`
	return listed(ctx, d, "read what happened after "+after.String(), scanEvent, text, after.Turn, after.Number, limit)
}

// ends are the position before the oldest event and that of the newest.
type ends struct{ before, newest feed.Position }

func scanEnds(from row) (ends, error) {
	var e ends
	err := from.Scan(&e.before.Turn, &e.before.Number, &e.newest.Turn, &e.newest.Number)
	return e, err
}

func (d *Database) ends(ctx context.Context, in session) (ends, error) {
	last := d.dialect.settled + ` ORDER BY ` + d.dialect.backward
	found, ok, err := first(ctx, in, scanEnds, selectEnds+last+endsBetween+last+endsAfter)
	if err == nil && !ok {
		err = errNoTotals
	}
	return found, err
}

// Ends implements feed.Store.
func (d *Database) Ends(ctx context.Context) (before, newest feed.Position, err error) {
	var found ends
	err = d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		found, err = d.ends(ctx, in)
		return err
	})
	return found.before, found.newest, d.explained("read the ends of the feed", err)
}
