package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

var _ task.Tallies = (*Database)(nil)

const (
	selectTally     = `SELECT created, claimed, verified, rejected, latency_sum, coalesce(at, -1) FROM totals WHERE id = 1`
	selectLatencies = `SELECT seconds, verdicts FROM latencies ORDER BY seconds`

	// selectOldest asks for a range of statuses: with an = for the status, PostgreSQL
	// may take the order for that of the ids, and read along all tasks.
	selectOldest = `SELECT
	coalesce((SELECT updated_at FROM tasks WHERE status BETWEEN 'pending' AND 'pending' ORDER BY status, id LIMIT 1), -1),
	coalesce((SELECT updated_at FROM tasks WHERE status = 'claimed' AND claimed_by IS NOT NULL ORDER BY updated_at LIMIT 1), -1)`

	agentColumns = `SELECT id, created, claimed, claims_verified, claims_rejected, verified, rejected, latency_sum, last_at FROM agents`

	selectAgentsByName = agentColumns + ` WHERE id > $1 ORDER BY id LIMIT $2`
	selectAgent        = agentColumns + ` WHERE id = $1`
	// selectAgentsByVerdicts reads a range of the index for those with as many verdicts
	// as the agent $2, and one for those with fewer.
	selectAgentsByVerdicts = `SELECT * FROM (
	SELECT * FROM (` + agentColumns + ` WHERE (verified + rejected) = $1 AND id > $2` + byVerdicts + `) AS equal
	UNION ALL SELECT * FROM (` + agentColumns + ` WHERE (verified + rejected) < $1` + byVerdicts + `) AS fewer
) AS page` + byVerdicts
	byVerdicts = ` ORDER BY (verified + rejected) DESC, id LIMIT $3`

	pairColumns      = `SELECT prover, verifier, verified, rejected, latency_sum FROM pairs`
	selectVerifies   = pairColumns + ` WHERE verifier = $1 ORDER BY (verified + rejected) DESC, prover LIMIT $2`
	selectVerifiedBy = pairColumns + ` WHERE prover = $1 ORDER BY (verified + rejected) DESC, verifier LIMIT $2`
	// selectProvers is completed by dialect.listed, a piece for each place, and ofPlaces.
	selectProvers = `WITH named (name) AS (`
	ofPlace       = `SELECT name, (SELECT prover FROM pairs WHERE verifier = name ORDER BY (verified + rejected) DESC, prover LIMIT 1 OFFSET %d) FROM named`
	ofPlaces      = `)
SELECT pairs.prover, pairs.verifier, verified, rejected, latency_sum FROM wanted
	JOIN pairs ON pairs.prover = wanted.prover AND pairs.verifier = wanted.verifier
ORDER BY pairs.verifier, (verified + rejected) DESC, pairs.prover`
	selectRolledUpAt  = `SELECT coalesce(at, -1) FROM totals WHERE id = 1`
	selectLineageHead = `WITH RECURSIVE older (id, place) AS (
	SELECT id, 0 FROM tasks WHERE id = $1
	UNION ALL SELECT tasks.supersedes, place - 1 FROM older JOIN tasks ON tasks.id = older.id
		WHERE place > -CAST($2 AS BIGINT)
), newer (id, place) AS (
	SELECT id, 0 FROM tasks WHERE id = $1
	UNION ALL SELECT tasks.id, place + 1 FROM newer JOIN tasks ON tasks.supersedes = newer.id WHERE place < CAST($2 AS BIGINT)
), line (id, place) AS ( -- The line ends before a task whose id is NULL.
	SELECT id, place FROM older UNION ALL SELECT id, place FROM newer WHERE place > 0)
`
	selectLineage = selectLineageHead + `SELECT line.place, tasks.id, title, status, created_by, created_at, coalesce(claimed_by, ''), updated_at,
	criteria_count, coalesce(supersedes, '') FROM line JOIN tasks ON tasks.id = line.id
ORDER BY abs(line.place), line.place LIMIT $2`
)

// timeOrNil is a stored stamp, of which a negative one is none.
func timeOrNil(stamp int64) *task.Time {
	if stamp < 0 {
		return nil
	}
	at := task.Time(stamp)
	return &at
}

func scanTally(from row) (task.Tally, error) {
	var t task.Tally
	var sum, at int64
	err := from.Scan(&t.Created, &t.Claimed, &t.Verified, &t.Rejected, &sum, &at)
	t.RolledUpAt = timeOrNil(at)
	t.VerdictLatency.Count = t.Verified + t.Rejected
	t.VerdictLatency.SumSeconds = (time.Duration(sum) * time.Millisecond).Seconds()
	return t, err
}

func scanBucket(from row) (task.LatencyBucket, error) {
	var b task.LatencyBucket
	err := from.Scan(&b.Seconds, &b.Count)
	return b, err
}

// Tally implements task.Tallies.
func (d *Database) Tally(ctx context.Context) (task.Tally, error) {
	var counted task.Tally
	err := d.read(ctx, func(ctx context.Context, in session) error {
		found, ok, err := first(ctx, in, scanTally, selectTally)
		if err == nil && !ok {
			err = errNoTotals
		}
		if err != nil {
			return err
		}
		counted = found
		counted.VerdictLatency.Buckets, err = all(ctx, in, scanBucket, selectLatencies)
		for i := range counted.VerdictLatency.Buckets[1:] {
			counted.VerdictLatency.Buckets[i+1].Count += counted.VerdictLatency.Buckets[i].Count
		}
		return err
	})
	return counted, d.explained("read what was counted of all transitions", err)
}

func scanOldest(from row) (task.Oldest, error) {
	var pending, claimed int64
	err := from.Scan(&pending, &claimed)
	return task.Oldest{Pending: timeOrNil(pending), Claimed: timeOrNil(claimed)}, err
}

// Oldest implements task.Tallies.
func (d *Database) Oldest(ctx context.Context) (task.Oldest, error) {
	var oldest task.Oldest
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		oldest, _, err = first(ctx, in, scanOldest, selectOldest)
		return err
	})
	return oldest, d.explained("read how old the oldest open tasks are", err)
}

func scanAgent(from row) (task.AgentTally, error) {
	var a task.AgentTally
	var sum int64
	err := from.Scan(&a.AgentID, &a.Created, &a.Claimed, &a.ClaimsVerified, &a.ClaimsRejected, &a.Verified, &a.Rejected, &sum, &a.LastAt)
	if verdicts := a.Verified + a.Rejected; verdicts > 0 {
		mean := sum / verdicts
		a.MeanVerdictMs = &mean
	}
	return a, err
}

// Agents implements task.Tallies. One row more than the page tells whether there
// are more.
func (d *Database) Agents(ctx context.Context, filter task.AgentFilter) ([]task.AgentTally, bool, error) {
	if filter.Limit < 1 || filter.Limit > task.MaxPage {
		return nil, false, fmt.Errorf("a page of %d agents was asked for; the limit is %d", filter.Limit, task.MaxPage)
	}
	text, arguments := selectAgentsByName, []any{string(filter.After), filter.Limit + 1}
	if filter.ByVerdicts {
		most := int64(math.MaxInt64)
		if filter.After != "" {
			most = filter.AfterVerdicts
		}
		text, arguments = selectAgentsByVerdicts, []any{most, string(filter.After), filter.Limit + 1}
	}
	found, err := listed(ctx, d, "list agents", scanAgent, text, arguments...)
	if err != nil {
		return nil, false, err
	}
	if len(found) > filter.Limit {
		return found[:filter.Limit], true, nil
	}
	return found, false, nil
}

func scanPairTally(from row) (task.PairTally, error) {
	var p task.PairTally
	var sum int64
	err := from.Scan(&p.Prover, &p.Verifier, &p.Verified, &p.Rejected, &sum)
	if verdicts := p.Verified + p.Rejected; verdicts > 0 {
		p.MeanVerdictMs = sum / verdicts
	}
	return p, err
}

// Agent implements task.Tallies.
func (d *Database) Agent(ctx context.Context, id task.AgentID, pairs int) (task.AgentView, error) {
	if pairs < 1 || pairs > task.MaxPairs {
		return task.AgentView{}, fmt.Errorf("%d pairs were asked for; it must be from 1 to %d", pairs, task.MaxPairs)
	}
	view := task.AgentView{}
	err := d.read(ctx, func(ctx context.Context, in session) error {
		found, ok, err := first(ctx, in, scanAgent, selectAgent, string(id))
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "nothing that an agent %q did was counted", id).
				WithHint("It did nothing yet, or only just now: transitions are counted some seconds after they were stored.")
		}
		if err != nil {
			return err
		}
		view = task.AgentView{AgentTally: found}
		if view.Verifies, err = all(ctx, in, scanPairTally, selectVerifies, string(id), pairs); err != nil {
			return err
		}
		if view.VerifiedBy, err = all(ctx, in, scanPairTally, selectVerifiedBy, string(id), pairs); err != nil {
			return err
		}
		at, err := one[int64](ctx, in, selectRolledUpAt)
		view.RolledUpAt = timeOrNil(at)
		return err
	})
	if err != nil {
		return task.AgentView{}, d.explained("read what was counted of agent "+string(id), err)
	}
	view.Verifies, view.VerifiedBy = notNil(view.Verifies), notNil(view.VerifiedBy)
	return view, nil
}

// proversStatement looks each pair up by its place, so that it passes over no other
// pair, however many there are.
func (d *Database) proversStatement() string {
	places := make([]string, task.MostProvers)
	for i := range places {
		places[i] = fmt.Sprintf(ofPlace, i)
	}
	return selectProvers + d.dialect.listed + "), wanted (verifier, prover) AS MATERIALIZED (\n" + strings.Join(places, "\nUNION ALL ") + ofPlaces
}

// Provers implements task.Tallies, in one statement.
func (d *Database) Provers(ctx context.Context, verifiers []task.AgentID) (map[task.AgentID][]task.PairTally, error) {
	if len(verifiers) > task.MaxPage {
		return nil, fmt.Errorf("the provers of %d agents were asked for; the limit is %d", len(verifiers), task.MaxPage)
	}
	names := make([]string, len(verifiers))
	for i, verifier := range verifiers {
		names[i] = string(verifier)
	}
	given, err := namesGiven(names)
	if err != nil {
		return nil, err
	}
	found, err := listed(ctx, d, "read whom agents verify", scanPairTally, d.proversStatement(), given)
	if err != nil {
		return nil, err
	}
	provers := map[task.AgentID][]task.PairTally{}
	for _, pair := range found {
		provers[pair.Verifier] = append(provers[pair.Verifier], pair)
	}
	return provers, nil
}

// notNil makes an empty list of none, for JSON.
func notNil(pairs []task.PairTally) []task.PairTally {
	if pairs == nil {
		return []task.PairTally{}
	}
	return pairs
}

// relative is a task of a lineage and how many tasks newer it is than the one
// that was asked for.
type relative struct {
	place   int
	summary task.Summary
}

func scanRelative(from row) (relative, error) {
	var r relative
	s := &r.summary
	err := from.Scan(&r.place, &s.TaskID, &s.Title, &s.Status, &s.CreatedBy, &s.CreatedAt, &s.ClaimedBy, &s.UpdatedAt,
		&s.CriteriaCount, &s.Supersedes)
	return r, err
}

// Lineage implements task.Tallies. Of a longer line it tells the tasks nearest to
// the one that was asked for.
func (d *Database) Lineage(ctx context.Context, id task.ID, limit int) ([]task.Summary, error) {
	if limit < 1 || limit > task.MaxLineage {
		return nil, fmt.Errorf("a lineage of %d tasks was asked for; it must be from 1 to %d", limit, task.MaxLineage)
	}
	line, err := listed(ctx, d, "read the lineage of task "+string(id), scanRelative, selectLineage, string(id), limit)
	if err != nil {
		return nil, err
	}
	if len(line) == 0 {
		return nil, task.NotFound(id)
	}
	slices.SortFunc(line, func(a, b relative) int { return cmp.Compare(b.place, a.place) })
	told := make([]task.Summary, len(line))
	for i := range line {
		told[i] = line[i].summary
	}
	return told, nil
}
