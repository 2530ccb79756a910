package storetest

import (
	"database/sql"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// ofFeed are the tests of the feed's part of the suite and of what is counted.
func ofFeed() map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"everything that happens is an event":  everyEvent,
		"events are read in pages":             eventPages,
		"a roll-up counts every transition":    rolledUp,
		"tallies are what a full scan counts":  countedModel,
		"old events go once they were counted": keptEvents,
		"a lineage is told around its task":    lineage,
		"the latest results are told at once":  latestResults,
		"the newest preflights are told":       newestPreflights,
		"the oldest open tasks are told":       oldestTasks,
		"an agent that did nothing is unknown": unknownAgent,
	}
}

// allOver reports whether every transaction of the server with a number up to that of
// an event is over, in whatever database. Which database one is of is read a moment
// after the snapshot, so one of another that ends in between is taken for one of this,
// and an event that was settled is then not, for that once.
const allOver = `SELECT origin + CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) > $1 FROM totals WHERE id = 1`

// settle waits until every event that is stored is settled, and stays so: on PostgreSQL
// until no transaction is before, such as one of the server's own that gathers statistics.
func settle(t testing.TB, db *store.Database, foreign *sql.DB) {
	t.Helper()
	patience := time.Now().Add(openWait)
	for {
		var stored, settled feed.Position
		err := foreign.QueryRowContext(t.Context(), `SELECT turn, number FROM feed ORDER BY turn DESC, number DESC LIMIT 1`).Scan(&stored.Turn, &stored.Number)
		if errors.Is(err, sql.ErrNoRows) {
			return
		}
		if err == nil {
			_, settled, err = db.Ends(t.Context())
		}
		over := true
		if err == nil && db.Kind() != sqlite {
			err = foreign.QueryRowContext(t.Context(), allOver, stored.Turn).Scan(&over)
		}
		if err != nil {
			t.Fatal(err)
		}
		if over && !settled.Before(stored) {
			return
		}
		if time.Now().After(patience) {
			t.Fatalf("the events up to %v are settled, those up to %v are stored", settled, stored)
		}
	}
}

// mustEvents returns all events after a position.
func mustEvents(t testing.TB, db *store.Database, after feed.Position) []feed.Event {
	t.Helper()
	events, err := db.Events(t.Context(), after, feed.MaxEvents)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// mustRollUp counts everything.
func mustRollUp(t testing.TB, db *store.Database, now time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = db.RollUp(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
}

func everyEvent(t *testing.T, location string) {
	db := open(t, location)
	if before, newest, err := db.Ends(t.Context()); err != nil || before != (feed.Position{}) || newest != before {
		t.Errorf("the ends of an empty feed: %v, %v, %v", before, newest, err)
	}
	id := string(brought(t, db, task.Rejected))
	pass(t, db, "asm", day())
	fail(t, db, "red", day())
	slots := map[string][]registry.SlotResult{
		feed.Allowed: {slotResult(true, true)}, feed.Refused: {slotResult(true, false)},
		feed.AllowedOnFallback: {slotResult(true, true), slotResult(false, true)},
	}
	slots[feed.AllowedOnFallback][1].Fallback = true
	outcomes := []string{feed.Allowed, feed.Refused, feed.AllowedOnFallback}
	for i, outcome := range outcomes {
		preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, slots[outcome])
		if err := db.KeepPreflight(t.Context(), day().Add(time.Duration(i)*time.Second), &preflight); err != nil {
			t.Fatal(err)
		}
	}
	want := []feed.Event{
		{Kind: feed.Task, Subject: id, What: "pending"},
		{Kind: feed.Task, Subject: id, What: "claimed"},
		{Kind: feed.Task, Subject: id, What: "rejected"},
		{Kind: feed.Component, Subject: "asm", What: "available"},
		{Kind: feed.Component, Subject: "red", What: "unavailable"},
		{Kind: feed.Run, Subject: "nightly", What: feed.Allowed},
		{Kind: feed.Run, Subject: "nightly", What: feed.Refused},
		{Kind: feed.Run, Subject: "nightly", What: feed.AllowedOnFallback},
	}
	settle(t, db, raw(t, location, false))
	got := mustEvents(t, db, feed.Position{})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(feed.Event{}, "ID", "At")); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if first := mustRead(t, db, task.ID(id)); !got[0].At.Equal(first.CreatedAt.Time()) || !got[7].At.Equal(day().Add(2*time.Second)) {
		t.Errorf("the times of the events are %v and %v", got[0].At, got[7].At)
	}
	before, newest, err := db.Ends(t.Context())
	if err != nil || before != (feed.Position{}) || newest != got[len(got)-1].ID {
		t.Errorf("the ends are %v and %v (%v), want zero and %v", before, newest, err, got[len(got)-1].ID)
	}
}

func eventPages(t *testing.T, location string) {
	db := open(t, location)
	for range 5 {
		brought(t, db, task.Claimed)
	}
	settle(t, db, raw(t, location, false))
	all := mustEvents(t, db, feed.Position{})
	var got []feed.Event
	for after := (feed.Position{}); ; {
		page, err := db.Events(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		if after = page[len(page)-1].ID; !page[0].ID.Before(after) && len(page) > 1 {
			t.Errorf("%v does not come before %v", page[0].ID, after)
		}
	}
	if diff := cmp.Diff(all, got); diff != "" || len(all) != 10 {
		t.Errorf("%d events over all pages (-want +got):\n%s", len(all), diff)
	}
	for _, limit := range []int{0, feed.MaxEvents + 1} {
		if _, err := db.Events(t.Context(), feed.Position{}, limit); err == nil {
			t.Errorf("%d events were read", limit)
		}
	}
}

func rolledUp(t *testing.T, location string) {
	db := open(t, location)
	if before, err := db.Tally(t.Context()); err != nil || before.RolledUpAt != nil || len(before.VerdictLatency.Buckets) != len(task.LatencyBounds()) {
		t.Errorf("before any roll-up: %+v, %v", before, err)
	}
	created := newTask(alice, "t", "c")
	if _, err := db.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	decide := func(claimer, verifier task.AgentID, kind task.Kind, after time.Duration) {
		id := brought(t, db, task.Pending)
		claim := newRecord(task.KindClaimed, id, claimer, "e")
		mustApply(t, db, claim)
		verdict := newRecord(kind, id, verifier, "n")
		verdict.At = claim.At + task.Time(after.Milliseconds())
		mustApply(t, db, sealRecord(verdict))
	}
	decide(alice, bob, task.KindVerified, 3*time.Second)
	decide(alice, bob, task.KindRejected, 5*time.Second)
	decide(alice, mallory, task.KindVerified, -time.Hour)
	decide(bob, alice, task.KindVerified, 48*time.Hour)
	at := day()
	settle(t, db, raw(t, location, false))
	mustRollUp(t, db, at)
	got, err := db.Tally(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stamp := task.At(at)
	want := task.Tally{Created: 5, Claimed: 4, Verified: 3, Rejected: 1, RolledUpAt: &stamp}
	want.VerdictLatency.Count, want.VerdictLatency.SumSeconds = 4, 8+48*3600
	for i, bound := range task.LatencyBounds() {
		count := int64(3)
		if i == 0 {
			count = 1
		}
		want.VerdictLatency.Buckets = append(want.VerdictLatency.Buckets, task.LatencyBucket{Seconds: int64(bound.Seconds()), Count: count})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tally (-want +got):\n%s", diff)
	}
	view, err := db.Agent(t.Context(), bob, 1)
	wantView := task.AgentView{
		AgentTally: task.AgentTally{AgentID: bob, Claimed: 1, ClaimsVerified: 1, Verified: 1, Rejected: 1, MeanVerdictMs: new(int64(4000))},
		Verifies:   []task.PairTally{{Prover: alice, Verifier: bob, Verified: 1, Rejected: 1, MeanVerdictMs: 4000}},
		VerifiedBy: []task.PairTally{{Prover: bob, Verifier: alice, Verified: 1, MeanVerdictMs: 48 * 3600 * 1000}},
		RolledUpAt: &stamp,
	}
	if diff := cmp.Diff(wantView, view, cmpopts.IgnoreFields(task.AgentTally{}, "LastAt")); diff != "" || err != nil {
		t.Errorf("what was counted of bob (-want +got): %v\n%s", err, diff)
	}
	agentsInBothOrders(t, db)
}

// agentsInBothOrders lists alice, bob and mallory, of whom bob gave most verdicts.
func agentsInBothOrders(t *testing.T, db *store.Database) {
	t.Helper()
	byName, more, err := db.Agents(t.Context(), task.AgentFilter{Limit: 2})
	if err != nil || !more || len(byName) != 2 || byName[0].AgentID != alice || byName[1].AgentID != bob {
		t.Errorf("agents by name: %+v, %v, %v", byName, more, err)
	}
	byName, more, err = db.Agents(t.Context(), task.AgentFilter{Limit: 2, After: bob})
	if err != nil || more || len(byName) != 1 || byName[0].AgentID != mallory {
		t.Errorf("agents after bob: %+v, %v, %v", byName, more, err)
	}
	byVerdicts, _, err := db.Agents(t.Context(), task.AgentFilter{Limit: 3, ByVerdicts: true})
	if err != nil || len(byVerdicts) != 3 || byVerdicts[0].AgentID != bob || byVerdicts[1].AgentID != alice {
		t.Errorf("agents by verdicts: %+v, %v", byVerdicts, err)
	}
}

func unknownAgent(t *testing.T, location string) {
	db := open(t, location)
	if _, err := db.Agent(t.Context(), bob, 1); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %v, want E_NOT_FOUND", err)
	}
	if _, err := db.Lineage(t.Context(), newTask(alice, "t", "c").TaskID, 1); !errors.Is(err, fault.NotFound) {
		t.Errorf("the lineage of no task: got %v, want E_NOT_FOUND", err)
	}
}

// lineage makes a line of five tasks and asks from its middle.
func lineage(t *testing.T, location string) {
	db := open(t, location)
	line := []task.ID{brought(t, db, task.Rejected)}
	for len(line) < 5 {
		next := newTask(bob, "again", "c")
		next.Supersedes = line[0]
		if _, err := db.Create(t.Context(), sealTask(next)); err != nil {
			t.Fatal(err)
		}
		mustApply(t, db, newRecord(task.KindClaimed, next.TaskID, alice, "e"))
		mustApply(t, db, newRecord(task.KindRejected, next.TaskID, bob, "n"))
		line = append([]task.ID{next.TaskID}, line...)
	}
	for limit, want := range map[int][]task.ID{task.MaxLineage: line, 3: line[1:4], 1: line[2:3]} {
		told, err := db.Lineage(t.Context(), line[2], limit)
		var got []task.ID
		for _, next := range told {
			got = append(got, next.TaskID)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("a lineage of at most %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

func latestResults(t *testing.T, location string) {
	db := open(t, location)
	for i := range 3 {
		pass(t, db, "asm", day().Add(time.Duration(i)*time.Minute))
	}
	fail(t, db, "asm", day().Add(time.Hour))
	pass(t, db, "red", day())
	got, err := db.Recent(t.Context(), []string{"red", "asm", "nobody", "asm"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string][]registry.Outcome{}
	for name, results := range got {
		for _, result := range results {
			outcomes[name] = append(outcomes[name], result.Outcome)
		}
	}
	want := map[string][]registry.Outcome{"asm": {registry.OutcomePassed, registry.OutcomeFailed}, "red": {registry.OutcomePassed}}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("the latest results (-want +got):\n%s", diff)
	}
	for name, results := range got {
		var proof struct{ ListTools *bool }
		if err := json.Unmarshal(results[0].Proof, &proof); err != nil || proof.ListTools == nil {
			t.Errorf("%s: the proof %s does not tell of its gates: %v", name, results[0].Proof, err)
		}
	}
	if none, err := db.Recent(t.Context(), nil, 2); err != nil || len(none) != 0 {
		t.Errorf("of no component: %v, %v", none, err)
	}
}

func newestPreflights(t *testing.T, location string) {
	db := open(t, location)
	for i, ok := range []bool{true, false, true} {
		preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{slotResult(true, ok)})
		if err := db.KeepPreflight(t.Context(), day().Add(time.Duration(i)*time.Hour), &preflight); err != nil {
			t.Fatal(err)
		}
	}
	last, err := db.LastPreflights(t.Context(), []string{"nightly", "weekly"})
	if err != nil || len(last) != 1 || !last["nightly"].At.Equal(day().Add(2*time.Hour)) || !last["nightly"].Preflight.Allowed {
		t.Errorf("got %+v, %v", last, err)
	}
}

func oldestTasks(t *testing.T, location string) {
	db := open(t, location)
	if none, err := db.Oldest(t.Context()); err != nil || none != (task.Oldest{}) {
		t.Errorf("without tasks: %+v, %v", none, err)
	}
	first := mustRead(t, db, brought(t, db, task.Claimed))
	brought(t, db, task.Claimed)
	brought(t, db, task.Verified)
	got, err := db.Oldest(t.Context())
	if diff := cmp.Diff(task.Oldest{Claimed: first.ClaimedAt}, got); diff != "" || err != nil {
		t.Errorf("the oldest tasks: %v (-want +got):\n%s", err, diff)
	}
}
