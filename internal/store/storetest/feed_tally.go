package storetest

import (
	"cmp"
	"database/sql"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// scanned is what a full scan of the transitions adds up to: the naive count that
// the roll-up is held against.
type scanned struct {
	tally  task.Tally
	agents map[task.AgentID]*task.AgentTally
	pairs  map[[2]task.AgentID]*task.PairTally
	took   map[task.AgentID]time.Duration
}

// scan reads every transition.
func scan(t testing.TB, foreign *sql.DB) *scanned {
	t.Helper()
	rows, err := foreign.QueryContext(t.Context(), `SELECT task_id, kind, agent_id, at FROM transitions ORDER BY task_id, number`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	s := &scanned{agents: map[task.AgentID]*task.AgentTally{}, pairs: map[[2]task.AgentID]*task.PairTally{}, took: map[task.AgentID]time.Duration{}}
	var claim task.Transition
	for rows.Next() {
		var next task.Transition
		if err := rows.Scan(&next.TaskID, &next.Kind, &next.Agent, &next.At); err != nil {
			t.Fatal(err)
		}
		s.add(next, claim)
		claim = next
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for id, agent := range s.agents {
		if verdicts := agent.Verified + agent.Rejected; verdicts > 0 {
			mean := s.took[id].Milliseconds() / verdicts
			agent.MeanVerdictMs = &mean
		}
	}
	for _, pair := range s.pairs {
		pair.MeanVerdictMs /= pair.Verified + pair.Rejected
	}
	return s
}

func (s *scanned) agent(id task.AgentID) *task.AgentTally {
	if s.agents[id] == nil {
		s.agents[id] = &task.AgentTally{AgentID: id}
	}
	return s.agents[id]
}

// add counts a transition; before is the one before it in the table.
func (s *scanned) add(next, before task.Transition) {
	agent := s.agent(next.Agent)
	agent.LastAt = max(agent.LastAt, next.At)
	switch next.Kind {
	case task.KindCreated:
		s.tally.Created++
		agent.Created++
		return
	case task.KindClaimed:
		s.tally.Claimed++
		agent.Claimed++
		return
	case task.KindVerified, task.KindRejected:
	}
	took := max(next.At.Time().Sub(before.At.Time()), 0)
	s.took[next.Agent] += took
	latency := &s.tally.VerdictLatency
	latency.Count++
	latency.SumSeconds += took.Seconds()
	for i, bound := range task.LatencyBounds() {
		if len(latency.Buckets) <= i {
			latency.Buckets = append(latency.Buckets, task.LatencyBucket{Seconds: int64(bound / time.Second)})
		}
		if took <= bound {
			latency.Buckets[i].Count++
		}
	}
	key := [2]task.AgentID{before.Agent, next.Agent}
	if s.pairs[key] == nil {
		s.pairs[key] = &task.PairTally{Prover: before.Agent, Verifier: next.Agent}
	}
	s.pairs[key].MeanVerdictMs += took.Milliseconds() // the sum, until all are counted
	prover := s.agent(before.Agent)
	if next.Kind == task.KindVerified {
		s.tally.Verified++
		agent.Verified++
		prover.ClaimsVerified++
		s.pairs[key].Verified++
	} else {
		s.tally.Rejected++
		agent.Rejected++
		prover.ClaimsRejected++
		s.pairs[key].Rejected++
	}
}

// talliesAgree rolls everything up and holds every tally against a full scan.
func talliesAgree(t testing.TB, db *store.Database, foreign *sql.DB) {
	t.Helper()
	settle(t, db, foreign)
	mustRollUp(t, db, day())
	want := scan(t, foreign)
	got, err := db.Tally(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want.tally.RolledUpAt = got.RolledUpAt
	if want.tally.VerdictLatency.Count == 0 {
		want.tally.VerdictLatency.Buckets = got.VerdictLatency.Buckets
	}
	// Sums of seconds differ by how they were rounded.
	if off := want.tally.VerdictLatency.SumSeconds - got.VerdictLatency.SumSeconds; off > 0.001 || off < -0.001 {
		t.Errorf("the latencies add up to %v s, want %v s", got.VerdictLatency.SumSeconds, want.tally.VerdictLatency.SumSeconds)
	}
	want.tally.VerdictLatency.SumSeconds = got.VerdictLatency.SumSeconds
	if diff := gocmp.Diff(want.tally, got); diff != "" {
		t.Errorf("the tally (-scanned +rolled up):\n%s", diff)
	}
	agentsAgree(t, db, want)
}

// everyAgent reads all pages of agents from the first on.
func everyAgent(t testing.TB, db *store.Database, filter task.AgentFilter) (agents []task.AgentTally) {
	t.Helper()
	for {
		page, more, err := db.Agents(t.Context(), filter)
		if err != nil || more && len(page) != filter.Limit {
			t.Fatalf("%d agents on a page of %d, %v", len(page), filter.Limit, err)
		}
		if agents = append(agents, page...); !more {
			return agents
		}
		last := page[len(page)-1]
		filter.After, filter.AfterVerdicts = last.AgentID, last.Verified+last.Rejected
	}
}

// agentsAgree reads the agents in both orders, and each with its pairs.
func agentsAgree(t testing.TB, db *store.Database, want *scanned) {
	t.Helper()
	var byName []task.AgentTally
	for _, agent := range want.agents {
		byName = append(byName, *agent)
	}
	slices.SortFunc(byName, func(a, b task.AgentTally) int { return cmp.Compare(a.AgentID, b.AgentID) })
	if diff := gocmp.Diff(byName, everyAgent(t, db, task.AgentFilter{Limit: 3})); diff != "" {
		t.Errorf("the agents (-scanned +rolled up):\n%s", diff)
	}
	slices.SortStableFunc(byName, func(a, b task.AgentTally) int {
		return cmp.Compare(b.Verified+b.Rejected, a.Verified+a.Rejected)
	})
	if diff := gocmp.Diff(byName, everyAgent(t, db, task.AgentFilter{Limit: 3, ByVerdicts: true})); diff != "" {
		t.Errorf("the agents by verdicts (-scanned +rolled up):\n%s", diff)
	}
	ids := []task.AgentID{}
	for _, agent := range byName[:min(len(byName), task.MaxPage)] {
		ids = append(ids, agent.AgentID)
	}
	provers, err := db.Provers(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range byName[:min(len(byName), task.MaxPage)] {
		view, err := db.Agent(t.Context(), agent.AgentID, task.MaxPairs)
		if err != nil {
			t.Fatal(err)
		}
		if most := view.Verifies[:min(len(view.Verifies), task.MostProvers)]; !slices.Equal(most, provers[agent.AgentID]) {
			t.Errorf("most verdicts of %s are on the claims of %+v, got %+v", agent.AgentID, most, provers[agent.AgentID])
		}
		for _, pair := range slices.Concat(view.Verifies, view.VerifiedBy) {
			if diff := gocmp.Diff(*want.pairs[[2]task.AgentID{pair.Prover, pair.Verifier}], pair); diff != "" {
				t.Errorf("a pair of %s (-scanned +rolled up):\n%s", agent.AgentID, diff)
			}
		}
		for key := range want.pairs {
			told := slices.ContainsFunc(slices.Concat(view.Verifies, view.VerifiedBy), func(p task.PairTally) bool {
				return p.Prover == key[0] && p.Verifier == key[1]
			})
			if concerned := key[0] == agent.AgentID || key[1] == agent.AgentID; concerned != told && len(want.pairs) <= task.MaxPairs {
				t.Errorf("the pair %v is told of %s: %v", key, agent.AgentID, told)
			}
		}
	}
}
