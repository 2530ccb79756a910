package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/words"
)

// agentsPerPage bounds the rows of the page of agents.
const agentsPerPage = 50

// CountedWithin is how soon what happens is counted, as long as the server keeps up.
const CountedWithin = 6 * time.Second

// StaleCount is from which age on a count is told to be old: it is taken every few
// seconds.
const StaleCount = 30 * time.Second

// agentPages are the pages of agents.
func agentPages() []page {
	served := func(o Options) bool { return o.Agents != nil }
	return []page{
		{
			Route: Route{"GET /agents", "agents", "Agents"}, inMenu: true, served: served, show: (*site).showAgents,
			blank: agentsView{Rows: []agentRow{{Provers: []share{{}}, Marks: []string{""}}}},
		},
		{
			Route: Route{"GET /agents/{id}", "agent", "An agent"}, served: served, show: (*site).showAgent,
			blank: agentView{agentRow: agentRow{Marks: []string{""}}, Pairs: []pairsView{{Shares: []share{{}}}, {}}},
		},
	}
}

// countedAt tells how old the counts of a page are.
type countedAt struct {
	At    moment // the zero one when nothing was counted yet
	Stale bool
}

// agentsView is the page of agents.
type agentsView struct {
	Counted countedAt
	ByName  bool
	Idle    bool // there are agents, and none of them has given a verdict
	Rows    []agentRow
	Pager   pager

	MarkFrom, OneProver int // the thresholds of the marks
	Hasty               string
}

// agentRow is what is told of one agent.
type agentRow struct {
	task.AgentTally

	Verdicts int64
	Rejected share
	Mean     string  // from the claim to the verdict, in words; empty without one
	Provers  []share // on whose claims most of its verdicts are
	Others   share   // on the claims of all others; of no verdicts when there are none
	Marks    []string
	Last     moment
}

// share is a part of the verdicts, those of one pair or those that reject.
type share struct {
	task.PairTally

	Agent   task.AgentID // the other one of the pair
	Given   int64        // verdicts
	Of      int64
	Mean    string // from the claim to the verdict, in words
	Percent string
}

// Width is the length of the share's bar, from 0 to 100.
func (s share) Width() int64 {
	if s.Of <= 0 {
		return 0
	}
	return percentOf(s.Given, s.Of)
}

// shareOf is the part of a whole.
func shareOf(given, whole int64) share {
	return share{Given: given, Of: whole, Percent: percent(given, whole)}
}

// showAgents shows who verifies whom.
func (s *site) showAgents(r *http.Request) (frame, error) {
	order, limit := task.OrderVerdicts, agentsPerPage
	if given := param(r, paramOrder); given != nil {
		order = *given
	}
	told, err := s.Agents.Agents(r.Context(), task.AgentQuery{Order: &order, Limit: &limit, Cursor: param(r, paramCursor)})
	if err != nil {
		return frame{}, fmt.Errorf("list agents: %w", err)
	}
	view := agentsView{
		Counted: s.countedAt(told.RolledUpAt), ByName: order == task.OrderName, Pager: pagerOf(r, told.NextCursor),
		MarkFrom: task.MarkFrom, OneProver: task.OneProverPercent, Hasty: words.Age(task.HastyMean),
	}
	for _, tally := range told.Agents {
		if view.ByName || tally.Verdicts() > 0 {
			view.Rows = append(view.Rows, s.agentRow(tally, told.Provers[tally.AgentID]))
		}
	}
	if len(view.Rows) < len(told.Agents) {
		view.Pager.Next = "" // Whoever comes after an agent without a verdict has given none either.
	}
	view.Idle = len(view.Rows) == 0 && len(told.Agents) > 0 && view.Pager.First == ""
	return frame{Title: "Agents", Topics: []string{topicTasks}, Gather: CountedWithin, Content: view}, nil
}

// agentRow is the row of an agent that gave its verdicts on the claims of others, most
// first.
func (s *site) agentRow(tally task.AgentTally, verifies []task.PairTally) agentRow {
	given := tally.Verdicts()
	row := agentRow{AgentTally: tally, Verdicts: given, Rejected: shareOf(tally.Rejected, given), Last: s.at(tally.LastAt.Time())}
	if tally.MeanVerdictMs != nil {
		row.Mean = words.Finely(milliseconds(*tally.MeanVerdictMs))
	}
	row.Marks = rubberStamp(&tally, verifies)
	if len(verifies) == 0 {
		return row
	}
	left := given
	for _, pair := range verifies[:min(len(verifies), task.MostProvers)] {
		row.Provers = append(row.Provers, pairShare(pair, pair.Prover, given))
		left -= pair.Verified + pair.Rejected
	}
	row.Others = shareOf(max(left, 0), given)
	return row
}

// pairShare is the part that a pair has in all verdicts of one of its two.
func pairShare(pair task.PairTally, other task.AgentID, whole int64) share {
	part := shareOf(pair.Verified+pair.Rejected, whole)
	part.PairTally, part.Agent, part.Mean = pair, other, words.Finely(milliseconds(pair.MeanVerdictMs))
	return part
}

// countedAt tells how old a count is.
func (s *site) countedAt(at *task.Time) countedAt {
	if at == nil {
		return countedAt{}
	}
	return countedAt{At: s.at(at.Time()), Stale: s.Now().Sub(at.Time()) >= StaleCount}
}

// agentView is the page of one agent.
type agentView struct {
	agentRow

	Counted countedAt
	Open    int64 // claims without a verdict
	Pairs   []pairsView
}

// pairsView is a table of the pairs that an agent is one of.
type pairsView struct {
	ID, Heading, Who, None string
	Shares                 []share // most verdicts first
	Most                   int     // at most so many are shown
}

// showAgent shows one agent.
func (s *site) showAgent(r *http.Request) (frame, error) {
	told, err := s.Agents.Agent(r.Context(), r.PathValue("id"))
	if err != nil {
		return frame{}, fmt.Errorf("read agent %s: %w", r.PathValue("id"), err)
	}
	view := agentView{
		agentRow: s.agentRow(told.AgentTally, told.Verifies), Counted: s.countedAt(told.RolledUpAt),
		Open: max(told.Claimed-told.ClaimsVerified-told.ClaimsRejected, 0),
	}
	verifies := pairsView{ID: "verifies", Heading: "Whom it verifies", Who: "Prover", None: "It gave no verdict that was counted yet.", Most: task.MaxPairs}
	for _, pair := range told.Verifies {
		verifies.Shares = append(verifies.Shares, pairShare(pair, pair.Prover, view.Verdicts))
	}
	verified := pairsView{ID: "verified", Heading: "Who verifies it", Who: "Verifier", None: "None of its claims has a verdict that was counted yet.", Most: task.MaxPairs}
	for _, pair := range told.VerifiedBy {
		verified.Shares = append(verified.Shares, pairShare(pair, pair.Verifier, told.ClaimsVerified+told.ClaimsRejected))
	}
	view.Pairs = []pairsView{verifies, verified}
	return frame{Title: string(told.AgentID), Topics: []string{topicTasks}, Gather: CountedWithin, Content: view}, nil
}
