package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxPreflights is how many preflights of one run are kept: the newest.
const MaxPreflights = 100

const (
	selectPreflight = `SELECT bytes FROM preflights WHERE run = $1 AND at = $2 AND digest = $3`

	insertPreflight = `INSERT INTO preflights (run, at, digest, allowed, bytes, slots, ticket) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	selectPreflights = `SELECT run, at, digest, allowed, slots, coalesce(CAST(ticket AS TEXT), '') FROM preflights
WHERE run = $1 AND (at, digest) < ($2, $3) ORDER BY at DESC, digest DESC LIMIT $4`
	// afterEveryDigest is greater than any digest.
	afterEveryDigest = "g"

	// selectLastPreflights is completed by dialect.listed and ofLastPreflights.
	selectLastPreflights = `WITH named (name) AS (`
	ofLastPreflights     = `), newest (run, at) AS MATERIALIZED (
	SELECT name, (SELECT max(at) FROM preflights WHERE run = name) FROM named
)
SELECT preflights.run, preflights.at, digest, allowed, slots, coalesce(CAST(ticket AS TEXT), '') FROM newest
JOIN preflights ON preflights.run = newest.run AND preflights.at = newest.at ORDER BY preflights.run, digest`
)

// KeepPreflight stores a preflight with its run. Storing the same again changes
// nothing. The database refuses one that is allowed though its slots do not say
// so. Faults: Unavailable.
func (d *Database) KeepPreflight(ctx context.Context, at time.Time, preflight *registry.Preflight) error {
	slots, err := json.Marshal(preflight.Slots)
	if err != nil {
		return fmt.Errorf("write the slots of a preflight as JSON: %w", err)
	}
	if preflight.Slots == nil {
		slots = []byte("[]")
	}
	var ticket string
	if preflight.Ticket != nil {
		text, err := json.Marshal(preflight.Ticket)
		if err != nil {
			return fmt.Errorf("write a ticket as JSON: %w", err)
		}
		ticket = cleanJSON(text)
	}
	sum := sha256.Sum256(slots)
	digest, kept := hex.EncodeToString(sum[:]), cleanJSON(slots)
	bytes := int64(preflightOverhead + 2*(len(preflight.Run)+len(digest)) + len(kept) + len(ticket))
	err = d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		if _, err := d.turn(ctx, in); err != nil {
			return err
		}
		_, found, err := first(ctx, in, scanValue[int64], selectPreflight, preflight.Run, stamp(at), digest)
		if err != nil || found {
			return err
		}
		_, err = in.ExecContext(ctx, insertPreflight, preflight.Run, stamp(at), digest, flag(preflight.Allowed), bytes, kept, textOrNull(ticket))
		if err != nil {
			return err
		}
		return account(ctx, in, balance{bytes: bytes})
	})
	return d.explained("store a preflight of "+preflight.Run, err)
}

// Preflights returns the preflights of a run that come after a place, the newest
// first, at most limit (1 to 1,000). Faults: Unavailable.
func (d *Database) Preflights(ctx context.Context, run string, after registry.PreflightPlace, limit int) ([]registry.KeptPreflight, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	at, digest := int64(math.MaxInt64), afterEveryDigest
	if after != (registry.PreflightPlace{}) {
		at, digest = stamp(after.At), after.Digest
	}
	return listed(ctx, d, "read the preflights of "+run, scanPreflight, selectPreflights, run, at, digest, limit)
}

// LastPreflights returns the newest preflight of each of these runs, at most 1,000;
// runs without one are absent. Faults: Unavailable.
func (d *Database) LastPreflights(ctx context.Context, runs []string) (map[string]registry.KeptPreflight, error) {
	if len(runs) == 0 {
		return map[string]registry.KeptPreflight{}, nil
	}
	names, err := namesGiven(runs)
	if err != nil {
		return nil, err
	}
	found, err := listed(ctx, d, "read the newest preflights of runs", scanPreflight, selectLastPreflights+d.dialect.listed+ofLastPreflights, names)
	if err != nil {
		return nil, err
	}
	last := make(map[string]registry.KeptPreflight, len(found))
	for i := range found {
		last[found[i].Preflight.Run] = found[i]
	}
	return last, nil
}

func scanPreflight(from row) (registry.KeptPreflight, error) {
	var kept registry.KeptPreflight
	var at, allowed int64
	var slots, ticket string
	err := from.Scan(&kept.Preflight.Run, &at, &kept.Digest, &allowed, &slots, &ticket)
	if err != nil {
		return kept, err
	}
	kept.At, kept.Preflight.Allowed = moment(at), allowed != 0
	err = json.Unmarshal([]byte(slots), &kept.Preflight.Slots)
	if ticket != "" {
		kept.Preflight.Ticket = &registry.Ticket{}
		err = errors.Join(err, json.Unmarshal([]byte(ticket), kept.Preflight.Ticket))
	}
	if err != nil {
		return kept, fmt.Errorf("read a preflight of %s as it is stored: %w", kept.Preflight.Run, err)
	}
	return kept, nil
}
