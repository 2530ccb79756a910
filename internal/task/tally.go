package task

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
)

// MaxPairs bounds the provers that are told of one verifier, and the other way
// round.
const MaxPairs = 20

// Tally is what a background roll-up has counted of all transitions.
type Tally struct {
	Created  int64 `json:"created"`
	Claimed  int64 `json:"claimed"`
	Verified int64 `json:"verified"`
	Rejected int64 `json:"rejected"`
	// VerdictLatency is how long verdicts came after their claims.
	VerdictLatency Latency `json:"verdict_latency"`
	// RolledUpAt is when it last looked for further transitions; nil when it never did.
	RolledUpAt *Time `json:"rolled_up_at,omitempty"`
}

// Latency is a histogram, of durations that are 0 where the clock went back.
type Latency struct {
	Buckets    []LatencyBucket `json:"buckets"` // by their bound, without the one that holds all
	Count      int64           `json:"count"`
	SumSeconds float64         `json:"sum_seconds"`
}

// LatencyBucket is how many durations were at most so long. What it counts, the
// next greater bucket counts as well.
type LatencyBucket struct {
	Seconds int64 `json:"seconds"`
	Count   int64 `json:"count"`
}

// LatencyBounds returns the bounds of the buckets of a Latency, in order: whole
// seconds, which the database knows too.
func LatencyBounds() []time.Duration {
	return []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour,
	}
}

// Oldest is when the oldest open task of a status reached it; nil when there is
// none.
type Oldest struct {
	Pending *Time
	Claimed *Time
}

// AgentTally is what the roll-up has counted of one agent.
type AgentTally struct {
	AgentID AgentID `json:"agent_id"`
	Created int64   `json:"created"`
	Claimed int64   `json:"claimed"`
	// What became of its claims.
	ClaimsVerified int64 `json:"claims_verified"`
	ClaimsRejected int64 `json:"claims_rejected"`
	// The verdicts that it gave, and how long after the claim on average.
	Verified      int64  `json:"verified"`
	Rejected      int64  `json:"rejected"`
	MeanVerdictMs *int64 `json:"mean_verdict_ms,omitempty"` // nil when it gave none
	LastAt        Time   `json:"last_at"`                   // of its newest transition that was counted
	Marks         []Mark `json:"marks"`                     // set by an Overview
}

// PairTally is what the roll-up has counted of the verdicts of one agent on the
// claims of another.
type PairTally struct {
	Prover        AgentID `json:"prover"`
	Verifier      AgentID `json:"verifier"`
	Verified      int64   `json:"verified"`
	Rejected      int64   `json:"rejected"`
	MeanVerdictMs int64   `json:"mean_verdict_ms"` // from the claim to the verdict
}

// AgentQuery selects a page of agents. A nil pointer is the default.
type AgentQuery struct {
	Order  *string `json:"order"`  // "name", the default, or "verdicts": most first
	Limit  *int    `json:"limit"`  // 1 to MaxPage; DefaultPage
	Cursor *string `json:"cursor"` // of the page before, in the same order
}

// AgentPage is one page of the agents that the roll-up knows.
type AgentPage struct {
	Agents     []AgentTally `json:"agents"`
	NextCursor string       `json:"next_cursor,omitempty"`
	RolledUpAt *Time        `json:"rolled_up_at,omitempty"` // nil when nothing was counted yet
	// Provers are those on whose claims each of the agents gave most verdicts: at most
	// MostProvers of each, most first.
	Provers map[AgentID][]PairTally `json:"-"`
}

// AgentView is all that the roll-up tells of one agent.
type AgentView struct {
	AgentTally

	Verifies   []PairTally `json:"verifies"`    // whose claims it decided, most first, at most MaxPairs
	VerifiedBy []PairTally `json:"verified_by"` // who decided its claims, most first, at most MaxPairs
	RolledUpAt *Time       `json:"rolled_up_at,omitempty"`
}

// AgentFilter is a validated AgentQuery.
type AgentFilter struct {
	ByVerdicts    bool
	After         AgentID // empty for the first page
	AfterVerdicts int64   // that the agent After had given; only by verdicts
	Limit         int
}

// MostProvers is how many provers are told of each of many verifiers.
const MostProvers = 3

// MaxLineage bounds the tasks of a lineage that are told.
const MaxLineage = 20

// Tallies is where what was counted is read. It is safe for concurrent use, and no
// method of it scans the tasks. Fault of each method: Unavailable.
type Tallies interface {
	// Tally returns what was counted of all transitions.
	Tally(ctx context.Context) (Tally, error)
	// Oldest returns when the oldest open tasks reached their status.
	Oldest(ctx context.Context) (Oldest, error)
	// Agents returns up to filter.Limit agents, and whether there are more.
	Agents(ctx context.Context, filter AgentFilter) (agents []AgentTally, more bool, err error)
	// Agent returns one agent with its pairs, at most pairs in each direction. Fault:
	// NotFound when none of its transitions was counted.
	Agent(ctx context.Context, id AgentID, pairs int) (AgentView, error)
	// Provers returns on whose claims each of at most MaxPage agents gave most verdicts:
	// at most MostProvers of each, most first; of those that gave none it tells nothing.
	Provers(ctx context.Context, verifiers []AgentID) (map[AgentID][]PairTally, error)
	// Lineage returns up to limit tasks: the task, what it supersedes and so on back,
	// after what supersedes it, the newest first. Fault: NotFound.
	Lineage(ctx context.Context, id ID, limit int) ([]Summary, error)
}

// Overview answers what people ask about all tasks and agents at once. It
// validates and leaves the reading to Tallies; it is safe for concurrent use.
type Overview struct{ tallies Tallies }

// NewOverview returns an overview of what was counted.
func NewOverview(tallies Tallies) *Overview { return &Overview{tallies: tallies} }

// Tally returns what was counted of all transitions. Faults: Unavailable.
func (o *Overview) Tally(ctx context.Context) (Tally, error) { return o.tallies.Tally(ctx) }

// Oldest returns when the oldest open tasks reached their status. Faults:
// Unavailable.
func (o *Overview) Oldest(ctx context.Context) (Oldest, error) { return o.tallies.Oldest(ctx) }

// Lineage returns a task and what it supersedes and is superseded by, newest
// first, at most MaxLineage. Faults: NotFound, Unavailable.
func (o *Overview) Lineage(ctx context.Context, id string) ([]Summary, error) {
	parsed, isUUID := ParseID(id)
	if err := requireID(parsed, isUUID); err != nil {
		return nil, err
	}
	return o.tallies.Lineage(ctx, parsed, MaxLineage)
}

// Agent tells what was counted of one agent. Faults: InvalidAgentID, NotFound,
// Unavailable.
func (o *Overview) Agent(ctx context.Context, id string) (AgentView, error) {
	agent, err := ParseAgentID("agent_id", id)
	if err != nil {
		return AgentView{}, err
	}
	view, err := o.tallies.Agent(ctx, agent, MaxPairs)
	view.MarkBy(view.Verifies)
	return view, err
}

// mark tells of the agents of a page whom they verify most, and what marks them.
func (o *Overview) mark(ctx context.Context, page *AgentPage) error {
	var verifiers []AgentID
	for i := range page.Agents {
		if page.Agents[i].Verdicts() > 0 {
			verifiers = append(verifiers, page.Agents[i].AgentID)
		}
	}
	if len(verifiers) > 0 {
		var err error
		if page.Provers, err = o.tallies.Provers(ctx, verifiers); err != nil {
			return err
		}
	}
	for i := range page.Agents {
		page.Agents[i].MarkBy(page.Provers[page.Agents[i].AgentID])
	}
	return nil
}

// The orders of agents.
const (
	OrderName     = "name"
	OrderVerdicts = "verdicts"
)

// Agents lists agents. In the order of verdicts a page goes on behind the place that
// the last agent of the page before had then: one that was counted to have given more
// since can be missed, and none is told twice for it. Faults: InvalidArgument,
// Unavailable.
func (o *Overview) Agents(ctx context.Context, query AgentQuery) (AgentPage, error) {
	filter, err := parseAgentQuery(query)
	if err != nil {
		return AgentPage{}, err
	}
	tally, err := o.tallies.Tally(ctx)
	if err != nil {
		return AgentPage{}, err
	}
	page := AgentPage{Agents: []AgentTally{}, RolledUpAt: tally.RolledUpAt}
	agents, more, err := o.tallies.Agents(ctx, filter)
	if err != nil {
		return AgentPage{}, err
	}
	page.Agents = append(page.Agents, agents...)
	if err := o.mark(ctx, &page); err != nil {
		return AgentPage{}, err
	}
	if more && len(agents) > 0 {
		page.NextCursor = agentCursor(filter, agents[len(agents)-1])
	}
	return page, nil
}

func parseAgentQuery(query AgentQuery) (AgentFilter, error) {
	filter := AgentFilter{Limit: DefaultPage}
	if query.Limit != nil {
		filter.Limit = *query.Limit
	}
	if filter.Limit < 1 || filter.Limit > MaxPage {
		return AgentFilter{}, InvalidArgument(fieldLimit, "is %d; it must be from 1 to %d", filter.Limit, MaxPage)
	}
	if query.Order != nil {
		switch *query.Order {
		case OrderName:
		case OrderVerdicts:
			filter.ByVerdicts = true
		default:
			return AgentFilter{}, InvalidArgument(fieldOrder, "is %s; it must be %s or %s", quote(*query.Order), OrderName, OrderVerdicts)
		}
	}
	if query.Cursor != nil && !filter.goOn(*query.Cursor) {
		return AgentFilter{}, InvalidArgument(fieldCursor, "is no cursor of this list").
			WithHint("Give next_cursor of the page before exactly as it came, with the same order, or leave cursor out for the first page.")
	}
	return filter, nil
}

// agentCursor makes the cursor of the page after the agent last: its id, and in the
// order of verdicts their number before it.
func agentCursor(filter AgentFilter, last AgentTally) string {
	if filter.ByVerdicts {
		return cursor.AgentsByVerdicts.After("", append(binary.AppendVarint(nil, last.Verified+last.Rejected), last.AgentID...))
	}
	return cursor.AgentsByName.After("", []byte(last.AgentID))
}

// goOn has a filter begin where a cursor of its order says, and reports whether it is
// one.
func (f *AgentFilter) goOn(text string) bool {
	list := cursor.AgentsByName
	if f.ByVerdicts {
		list = cursor.AgentsByVerdicts
	}
	id, ok := list.Place("", text)
	if !ok {
		return false
	}
	if f.ByVerdicts {
		var length int
		f.AfterVerdicts, length = binary.Varint(id)
		if length <= 0 || f.AfterVerdicts < 0 {
			return false
		}
		id = id[length:]
	}
	var err error
	f.After, err = ParseAgentID(fieldCursor, string(id))
	return err == nil && string(f.After) == string(id)
}
