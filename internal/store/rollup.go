package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// maxRemoved bounds the events that one roll-up removes. Half of them may be
	// kept beyond feed.MaxKept, so that they go many at a time.
	maxRemoved = 2 * feed.MaxEvents
	// lookedEvery is how old the moment of the last roll-up may become before it is
	// stored again though there was nothing to count.
	lookedEvery = 10 * time.Second
)

// errNoTotals says that the row of the totals is not there, which only somebody
// with the database's own tools can bring about.
var errNoTotals = errors.New("the row of the totals is gone")

const (
	selectCounted = `SELECT turn, number, coalesce(at, -1) FROM totals WHERE id = 1`

	// selectUncounted is completed by dialect.after and dialect.order. Each transition
	// is looked up by its key, whatever a planner thinks of a join.
	selectUncounted = `SELECT turn, number, kind, what,
	CASE kind WHEN 'task' THEN (SELECT agent_id FROM transitions WHERE task_id = subject AND transitions.number = ` + numberOf + `) ELSE '' END,
	CASE kind WHEN 'task' THEN (SELECT at FROM transitions WHERE task_id = subject AND transitions.number = ` + numberOf + `) ELSE 0 END,
	CASE WHEN what IN ('verified', 'rejected') THEN (SELECT agent_id FROM transitions WHERE task_id = subject AND transitions.number = 2) ELSE '' END,
	CASE WHEN what IN ('verified', 'rejected') THEN (SELECT at FROM transitions WHERE task_id = subject AND transitions.number = 2) ELSE 0 END
FROM feed WHERE `
	numberOf = `CASE what WHEN 'pending' THEN 1 WHEN 'claimed' THEN 2 ELSE 3 END`

	// updateTotals moves the position on, if nobody has done so.
	updateTotals = `UPDATE totals SET turn = $3, number = $4, at = $5, created = created + $6, claimed = claimed + $7,
	verified = verified + $8, rejected = rejected + $9, latency_sum = latency_sum + $10
WHERE id = 1 AND turn = $1 AND number = $2`

	updateLatency = `UPDATE latencies SET verdicts = verdicts + $2 WHERE seconds = $1`

	updateAgent = `UPDATE agents SET created = created + $2, claimed = claimed + $3, claims_verified = claims_verified + $4,
	claims_rejected = claims_rejected + $5, verified = verified + $6, rejected = rejected + $7, latency_sum = latency_sum + $8,
	last_at = CASE WHEN last_at < $9 THEN $9 ELSE last_at END WHERE id = $1`

	updatePair = `UPDATE pairs SET verified = verified + $3, rejected = rejected + $4, latency_sum = latency_sum + $5
WHERE prover = $1 AND verifier = $2`

	updateRemoved = `UPDATE totals SET removed_turn = $1, removed_number = $2 WHERE id = 1`
	// selectPositions is completed by dialect.after and dialect.order.
	selectPositions = `SELECT turn, number FROM feed WHERE `
)

func insertAgents() insertion {
	return insertion{
		into: `INSERT INTO agents (id, created, claimed, claims_verified, claims_rejected, verified, rejected, latency_sum, last_at)`, columns: 9,
	}
}

func insertPairs() insertion {
	return insertion{into: `INSERT INTO pairs (prover, verifier, verified, rejected, latency_sum)`, columns: 5}
}

// happened is an event with what the roll-up counts of its transition.
type happened struct {
	id          feed.Position
	kind        feed.Kind
	what        string
	agent       task.AgentID
	at          int64
	prover      task.AgentID
	claimedTime int64
}

func scanHappened(from row) (happened, error) {
	var h happened
	err := from.Scan(&h.id.Turn, &h.id.Number, &h.kind, &h.what, &h.agent, &h.at, &h.prover, &h.claimedTime)
	return h, err
}

// reached is up to which event was counted, and when.
type reached struct {
	position feed.Position
	at       int64
}

func scanReached(from row) (reached, error) {
	var r reached
	err := from.Scan(&r.position.Turn, &r.position.Number, &r.at)
	return r, err
}

// RollUp implements feed.Store. It reads without a lock and stores what it has
// counted only while the position is still the one from which it read.
func (d *Database) RollUp(ctx context.Context, now time.Time) (more bool, err error) {
	var before reached
	var events []happened
	var found bool
	err = d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		before, found, err = first(ctx, in, scanReached, selectCounted)
		switch {
		case err != nil:
			return err
		case !found:
			return errNoTotals
		}
		text := selectUncounted + d.dialect.after + ` ORDER BY ` + d.dialect.order + ` LIMIT $3`
		events, err = all(ctx, in, scanHappened, text, before.position.Turn, before.position.Number, feed.MaxEvents)
		return err
	})
	if err == nil && len(events) == 0 && before.at >= 0 && max(now.Sub(moment(before.at)), moment(before.at).Sub(now)) < lookedEvery {
		return false, nil
	}
	if err == nil {
		err = d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
			return d.rollUp(ctx, in, before.position, events, now)
		})
	}
	return len(events) == feed.MaxEvents, d.explained("roll up what happened", err)
}

// rollUp stores what was counted, unless another process was faster, and removes
// old events.
func (d *Database) rollUp(ctx context.Context, in session, from feed.Position, events []happened, now time.Time) error {
	counted := count(events)
	to := from
	if len(events) > 0 {
		to = events[len(events)-1].id
	}
	t := &counted.totals
	result, err := in.ExecContext(ctx, updateTotals, from.Turn, from.Number, to.Turn, to.Number, stamp(now),
		t.Created, t.Claimed, t.Verified, t.Rejected, counted.latency)
	if err != nil {
		return err
	}
	moved, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if moved == 0 {
		return errNothingToKeep
	}
	if err := counted.store(ctx, in); err != nil {
		return err
	}
	return d.removeEvents(ctx, in, to)
}

// removeEvents removes events that were counted, the oldest first, beyond those
// that are kept.
func (d *Database) removeEvents(ctx context.Context, in session, counted feed.Position) error {
	kept, err := d.ends(ctx, in)
	if err != nil || kept.newest.Number-kept.before.Number <= feed.MaxKept+maxRemoved/2 {
		return err
	}
	before := kept.before
	oldest, err := all(ctx, in, scanPosition, selectPositions+d.dialect.after+` ORDER BY `+d.dialect.order+` LIMIT $3`, before.Turn, before.Number, maxRemoved)
	if err != nil {
		return err
	}
	last := kept.newest.Number - feed.MaxKept - maxRemoved/2
	end := slices.IndexFunc(oldest, func(p feed.Position) bool { return p.Number > last || counted.Before(p) })
	if end < 0 {
		end = len(oldest)
	}
	if end == 0 {
		return nil
	}
	until := oldest[end-1]
	if _, err := in.ExecContext(ctx, updateRemoved, until.Turn, until.Number); err != nil {
		return err
	}
	_, err = in.ExecContext(ctx, d.dialect.deleteEvents, before.Turn, before.Number, until.Turn, until.Number)
	return err
}

func scanPosition(from row) (feed.Position, error) {
	var p feed.Position
	err := from.Scan(&p.Turn, &p.Number)
	return p, err
}

// tally is what a part of the feed adds up to.
type tally struct {
	totals    task.Tally
	latency   int64 // the sum, in milliseconds
	latencies map[int64]int64
	agents    map[task.AgentID]*agentCounts
	pairs     map[pair]*pairCounts
}

type agentCounts struct {
	created, claimed, claimsVerified, claimsRejected, verified, rejected, latency, lastAt int64
}

type pair struct{ prover, verifier task.AgentID }

type pairCounts struct{ verified, rejected, latency int64 }

// count adds events up.
func count(events []happened) *tally {
	t := &tally{latencies: map[int64]int64{}, agents: map[task.AgentID]*agentCounts{}, pairs: map[pair]*pairCounts{}}
	for i := range events {
		if events[i].kind == feed.Task {
			t.add(&events[i])
		}
	}
	return t
}

func (t *tally) add(h *happened) {
	agent := t.agent(h.agent)
	agent.lastAt = max(agent.lastAt, h.at)
	switch task.Status(h.what) {
	case task.Pending:
		t.totals.Created++
		agent.created++
	case task.Claimed:
		t.totals.Claimed++
		agent.claimed++
	case task.Verified:
		t.totals.Verified++
		agent.verified++
		t.agent(h.prover).claimsVerified++
		t.decide(h).verified++
	case task.Rejected:
		t.totals.Rejected++
		agent.rejected++
		t.agent(h.prover).claimsRejected++
		t.decide(h).rejected++
	}
}

// decide counts how long a verdict took and returns the counts of its pair.
func (t *tally) decide(h *happened) *pairCounts {
	latency := max(h.at-h.claimedTime, 0)
	t.latency += latency
	for _, bound := range task.LatencyBounds() {
		if latency <= bound.Milliseconds() {
			t.latencies[int64(bound/time.Second)]++
			break
		}
	}
	t.agent(h.agent).latency += latency
	key := pair{h.prover, h.agent}
	if t.pairs[key] == nil {
		t.pairs[key] = &pairCounts{}
	}
	t.pairs[key].latency += latency
	return t.pairs[key]
}

func (t *tally) agent(id task.AgentID) *agentCounts {
	if t.agents[id] == nil {
		t.agents[id] = &agentCounts{}
	}
	return t.agents[id]
}

// store adds to what is stored.
func (t *tally) store(ctx context.Context, in session) error {
	for seconds, verdicts := range t.latencies {
		if _, err := in.ExecContext(ctx, updateLatency, seconds, verdicts); err != nil {
			return err
		}
	}
	var fresh []any
	for _, id := range slices.Sorted(maps.Keys(t.agents)) {
		a := t.agents[id]
		arguments := []any{string(id), a.created, a.claimed, a.claimsVerified, a.claimsRejected, a.verified, a.rejected, a.latency, a.lastAt}
		if err := addOrCollect(ctx, in, updateAgent, arguments, &fresh); err != nil {
			return err
		}
	}
	if err := insertAgents().exec(ctx, in, fresh); err != nil {
		return err
	}
	fresh = nil
	for _, key := range slices.SortedFunc(maps.Keys(t.pairs), func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.prover, b.prover), cmp.Compare(a.verifier, b.verifier))
	}) {
		p := t.pairs[key]
		arguments := []any{string(key.prover), string(key.verifier), p.verified, p.rejected, p.latency}
		if err := addOrCollect(ctx, in, updatePair, arguments, &fresh); err != nil {
			return err
		}
	}
	return insertPairs().exec(ctx, in, fresh)
}

// addOrCollect adds to a row that is there; the values of one that is not are
// appended to fresh. An upsert would not do: it looks like a replacement to the
// guards of SQLite.
func addOrCollect(ctx context.Context, in session, update string, arguments []any, fresh *[]any) error {
	result, err := in.ExecContext(ctx, update, arguments...)
	if err != nil {
		return err
	}
	updated, err := result.RowsAffected()
	if err == nil && updated == 0 {
		*fresh = append(*fresh, arguments...)
	}
	return err
}
