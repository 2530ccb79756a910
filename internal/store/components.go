package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	componentColumns = `name, kind, definition, registered_at, settled, streak, outcomes, flapping, changed_at,
	result_id, probed_at, outcome, causes, reason, degraded, failure_causes, failure_reason,
	tools_digest, accepted_digest, accepted_at`

	// selectKnown is completed by dialect.listed and a parenthesis.
	selectKnown = `SELECT name, kind, definition, registered_at, settled, streak, outcomes, flapping, coalesce(changed_at, -1),
	coalesce(result_id, ''), coalesce(probed_at, -1), coalesce(outcome, ''), causes, reason, degraded, failure_causes, failure_reason,
	tools_digest, accepted_digest, coalesce(accepted_at, -1)
FROM components WHERE name IN (`

	updateAccepted = `UPDATE components SET accepted_digest = $1, accepted_at = $2 WHERE name = $3 AND tools_digest = $1`

	selectDigests = `SELECT tools_digest, accepted_digest FROM components WHERE name = $1`
)

// upsertComponents stores all of a component but what it was first called.
func upsertComponents() insertion {
	return insertion{
		into:    `INSERT INTO components (` + componentColumns + `, document)`,
		columns: 21,
		then: ` ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, definition = excluded.definition,
	registered_at = excluded.registered_at, settled = excluded.settled, streak = excluded.streak, outcomes = excluded.outcomes,
	flapping = excluded.flapping, changed_at = excluded.changed_at, result_id = excluded.result_id, probed_at = excluded.probed_at,
	outcome = excluded.outcome, causes = excluded.causes, reason = excluded.reason, degraded = excluded.degraded,
	failure_causes = excluded.failure_causes, failure_reason = excluded.failure_reason, tools_digest = excluded.tools_digest,
	accepted_digest = excluded.accepted_digest, accepted_at = excluded.accepted_at, document = excluded.document`,
	}
}

// componentArguments appends the values of one row of upsertComponents.
func componentArguments(to []any, k *registry.Known, document string) ([]any, error) {
	s := &k.Standing
	causes, err := causesText(s.Last.Causes)
	if err != nil {
		return nil, err
	}
	failures, err := causesText(s.Failure.Causes)
	if err != nil {
		return nil, err
	}
	var probedAt any
	if s.Last.ID != "" {
		probedAt = stamp(s.Last.ProbedAt)
	}
	return append(to, k.Registration.Name, string(k.Registration.Kind), k.Registration.Definition, stamp(s.RegisteredAt),
		string(s.Settled), s.Streak, s.Outcomes, flag(s.Flapping), stampOrNull(s.ChangedAt),
		textOrNull(s.Last.ID), probedAt, textOrNull(string(s.Last.Outcome)), causes, clean(s.Last.Reason), flag(s.Last.Degraded),
		failures, clean(s.Failure.Reason), k.ToolsDigest, k.AcceptedDigest, stampOrNull(k.AcceptedAt), textOrNull(document)), nil
}

func scanKnown(from row) (registry.Known, error) {
	var k registry.Known
	var registeredAt, flapping, changedAt, probedAt, degraded, acceptedAt int64
	var causes, failures string
	s := &k.Standing
	err := from.Scan(&k.Registration.Name, &k.Registration.Kind, &k.Registration.Definition, &registeredAt,
		&s.Settled, &s.Streak, &s.Outcomes, &flapping, &changedAt,
		&s.Last.ID, &probedAt, &s.Last.Outcome, &causes, &s.Last.Reason, &degraded,
		&failures, &s.Failure.Reason, &k.ToolsDigest, &k.AcceptedDigest, &acceptedAt)
	if err != nil {
		return k, err
	}
	s.RegisteredAt, s.ChangedAt, k.AcceptedAt = moment(registeredAt), moment(changedAt), moment(acceptedAt)
	s.Flapping, s.Last.Degraded = flapping != 0, degraded != 0
	if s.Last.ID == "" {
		return k, nil
	}
	s.Last.ProbedAt = moment(probedAt)
	if s.Last.Causes, err = causesOf(causes); err != nil || failures == "[]" {
		return k, err
	}
	s.Failure.Causes, err = causesOf(failures)
	return k, err
}

// maxKnownAtOnce is how many components one statement reads.
const maxKnownAtOnce = 2000

// Known returns what is known of the components of these names, in their order;
// those that were never registered are absent. It takes one statement for each
// 2,000 names. Faults: Unavailable.
func (d *Database) Known(ctx context.Context, names []string) ([]registry.Known, error) {
	var found map[string]registry.Known
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		found, err = d.known(ctx, in, names)
		return err
	})
	if err != nil {
		return nil, d.explained("read what is known of components", err)
	}
	known := make([]registry.Known, 0, len(found))
	for _, name := range names {
		if next, ok := found[name]; ok {
			known = append(known, next)
			delete(found, name)
		}
	}
	return known, nil
}

// known reads components by their names.
func (d *Database) known(ctx context.Context, in session, names []string) (map[string]registry.Known, error) {
	found := make(map[string]registry.Known, len(names))
	for part := range slices.Chunk(names, maxKnownAtOnce) {
		listed, err := namesText(part)
		if err != nil {
			return nil, err
		}
		rows, err := all(ctx, in, scanKnown, selectKnown+d.dialect.listed+")", listed)
		if err != nil {
			return nil, err
		}
		for _, next := range rows {
			found[next.Registration.Name] = next
		}
	}
	return found, nil
}

// Register tells what components are. One that is new, or is another thing than
// it was, begins anew (registry.Known.Register), registered at the moment now. All
// others stay as they are, those that are not named too. Faults: Unavailable.
func (d *Database) Register(ctx context.Context, now time.Time, registrations []registry.Registration) error {
	names := make([]string, len(registrations))
	for i := range registrations {
		names[i] = registrations[i].Name
	}
	err := d.read(ctx, func(ctx context.Context, in session) error {
		known, err := d.known(ctx, in, names)
		registrations = slices.DeleteFunc(slices.Clone(registrations), func(r registry.Registration) bool {
			return known[r.Name].Registration == r
		})
		return err
	})
	if err == nil && len(registrations) > 0 {
		err = d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
			return d.register(ctx, in, now, registrations)
		})
	}
	return d.explained("register components", err)
}

// register looks again and stores what is new or another thing than it was.
func (d *Database) register(ctx context.Context, in session, now time.Time, registrations []registry.Registration) error {
	if _, err := d.turn(ctx, in); err != nil {
		return err
	}
	names := make([]string, len(registrations))
	for i := range registrations {
		names[i] = registrations[i].Name
	}
	known, err := d.known(ctx, in, names)
	if err != nil {
		return err
	}
	var rows []any
	var loose looseLists
	for _, r := range registrations {
		before := known[r.Name]
		if before.Registration == r {
			continue
		}
		after := before.Register(r, now)
		known[r.Name] = after
		loose.compare(&before, &after)
		if rows, err = componentArguments(rows, &after, ""); err != nil {
			return err
		}
	}
	if err := upsertComponents().exec(ctx, in, rows); err != nil {
		return err
	}
	return d.loosen(ctx, in, loose)
}

// Accept makes the tools of a component the accepted ones. Digest is the one that
// the caller has seen. Faults: NotFound for a component that was never
// registered; WrongState when its tools are others by now, or none; Unavailable.
func (d *Database) Accept(ctx context.Context, component, digest string, now time.Time) error {
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		if _, err := d.turn(ctx, in); err != nil {
			return err
		}
		digests, found, err := first(ctx, in, scanPair, selectDigests, component)
		switch {
		case err != nil:
			return err
		case !found:
			return fault.New(fault.NotFound, "there is no component %q in the store", component).
				WithHint("Probe it first: its tools are not known yet.")
		case digest == "" || digests[0] != digest:
			return fault.New(fault.WrongState, "the tools of %s are not those that were to be accepted", component).
				WithHint("Look at the difference again, then accept what is there now.")
		}
		if _, err := in.ExecContext(ctx, updateAccepted, digest, stamp(now), component); err != nil {
			return err
		}
		return d.loosen(ctx, in, looseLists{digests[1]: digests[1] != digest})
	})
	return d.explained(fmt.Sprintf("accept the tools of %s", component), err)
}

func scanPair(from row) ([2]string, error) {
	var pair [2]string
	err := from.Scan(&pair[0], &pair[1])
	return pair, err
}
