package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// machine runs the same operations on a database and on the oracle.
type machine struct {
	ctx    context.Context //nolint:containedctx // a test's own, for every operation of the machine
	db     *store.Database
	oracle *Oracle
	ids    []task.ID
}

// model holds the database against the oracle over random operations. The tasks
// of all runs share one database; each run looks at its own.
func model(t *testing.T, location string) {
	db := open(t, location)
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{ctx: context.Background(), db: db, oracle: NewOracle()}
		agents := rapid.SampledFrom([]task.AgentID{
			task.AgentID("a-" + newTask(alice, "t", "c").TaskID), task.AgentID("b-" + newTask(alice, "t", "c").TaskID),
		})
		key := rapid.Custom(func(t *rapid.T) *task.IdempotencyKey {
			if rapid.IntRange(0, 3).Draw(t, "keyless") > 0 {
				return nil
			}
			return &task.IdempotencyKey{
				Key:     rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key"),
				Content: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "content"),
			}
		})
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) { m.create(t, agents.Draw(t, "agent"), key.Draw(t, "key")) },
			"change": func(t *rapid.T) { m.change(t, agents.Draw(t, "agent"), key.Draw(t, "key")) },
			"read":   m.read,
			"list":   func(t *rapid.T) { m.list(t, agents.Draw(t, "agent"), agents.Draw(t, "other")) },
		})
	})
}

// known draws one of the run's tasks, or now and then none that exists.
func (m *machine) known(t *rapid.T) task.ID {
	if len(m.ids) == 0 || rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
		return newTask(alice, "t", "c").TaskID
	}
	return rapid.SampledFrom(m.ids).Draw(t, "task")
}

func (m *machine) create(t *rapid.T, agent task.AgentID, key *task.IdempotencyKey) {
	created := newTask(agent, "title", rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}`), 1, 4).Draw(t, "criteria")...)
	if rapid.Bool().Draw(t, "superseding") {
		created.Supersedes = m.known(t)
	}
	created = sealTask(created)
	created.Key = key
	want, wantErr := m.oracle.Create(m.ctx, created)
	got, err := m.db.Create(m.ctx, created)
	same(t, "create", want, wantErr, got, err)
	if err == nil && got.TaskID == created.TaskID {
		m.ids = append(m.ids, got.TaskID)
	}
}

func (m *machine) change(t *rapid.T, agent task.AgentID, key *task.IdempotencyKey) {
	kind := rapid.SampledFrom([]task.Kind{task.KindClaimed, task.KindClaimed, task.KindVerified, task.KindRejected, task.KindRejected}).Draw(t, "kind")
	record := newRecord(kind, m.known(t), agent, "text")
	record.Key = key
	want, wantErr := apply(m.ctx, m.oracle, record)
	got, err := apply(m.ctx, m.db, record)
	same(t, string(kind), want, wantErr, got, err)
}

func (m *machine) read(t *rapid.T) {
	id := m.known(t)
	want, wantErr := m.oracle.Task(m.ctx, id)
	got, err := m.db.Task(m.ctx, id)
	same(t, "read", want, wantErr, got, err)
}

// list compares pages of this run's agents, whose ids no other run uses.
func (m *machine) list(t *rapid.T, agent, other task.AgentID) {
	filter := task.Filter{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}
	switch rapid.IntRange(0, 2).Draw(t, "by agent") {
	case 0:
		filter.CreatedBy = agent
	case 1:
		filter.ClaimedBy = agent
	case 2:
		filter.CreatedBy, filter.ClaimedBy = agent, other
	}
	if rapid.Bool().Draw(t, "by status") {
		filter.Status = rapid.SampledFrom(task.Statuses()).Draw(t, "status")
	}
	if rapid.Bool().Draw(t, "verifiable") {
		filter.VerifiableBy = rapid.SampledFrom([]task.AgentID{agent, other}).Draw(t, "verifier")
	}
	filter.OldestFirst = filter.Status != "" && rapid.Bool().Draw(t, "oldest first")
	if rapid.Bool().Draw(t, "after a page") {
		m.behind(m.known(t), &filter)
	}
	want, wantErr := everyPage(m.ctx, m.oracle, filter)
	got, err := everyPage(m.ctx, m.db, filter)
	same(t, fmt.Sprintf("list %+v", filter), want, wantErr, got, err)
}

// behind makes a filter one of the page behind a task, when there is such a task.
func (m *machine) behind(last task.ID, filter *task.Filter) {
	if !filter.OldestFirst {
		filter.Before = last
		return
	}
	known, err := m.oracle.Task(m.ctx, last)
	switch {
	case err != nil:
	case filter.Status == task.Pending: // as a page of pending tasks has it
		filter.After = task.Place{At: known.CreatedAt, ID: last}
	default:
		filter.After = task.Place{At: known.History[len(known.History)-1].At, ID: last}
	}
}

// everyPage returns the tasks of the page of a filter and of all that follow it.
func everyPage(ctx context.Context, from task.Store, filter task.Filter) (all []task.Summary, err error) {
	for {
		page, next, err := from.List(ctx, filter)
		if err == nil && len(page) > filter.Limit {
			err = fmt.Errorf("%d tasks on a page of %d", len(page), filter.Limit)
		}
		all = append(all, page...)
		if err != nil || next == (task.Place{}) {
			return all, err
		}
		if filter.OldestFirst {
			filter.After = next
		} else {
			filter.Before = next.ID
		}
	}
}

// same compares answers; of faults the code, the message and the details.
func same[T any](t *rapid.T, name string, want T, wantErr error, got T, err error) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-oracle +store):\n%s\nerrors: %v and %v", name, diff, wantErr, err)
	}
	if diff := cmp.Diff(told(wantErr), told(err)); diff != "" {
		t.Fatalf("%s, the fault (-oracle +store):\n%s", name, diff)
	}
}

func told(err error) string {
	coded, ok := fault.Of(err)
	switch {
	case err == nil:
		return ""
	case !ok || errors.Is(err, fault.Internal):
		return fmt.Sprintf("not a fault: %v", err)
	}
	return fmt.Sprint(coded.Code, coded.Message, coded.Hint, coded.Details)
}
