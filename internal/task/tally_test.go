package task_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// counted are tallies that know so many agents: a, b, c and so on.
type counted struct {
	task.Tallies

	agents  []task.AgentTally
	provers map[task.AgentID][]task.PairTally
}

func (c counted) Tally(context.Context) (task.Tally, error) {
	return task.Tally{RolledUpAt: new(task.Time(5))}, nil
}

func (c counted) Agents(_ context.Context, filter task.AgentFilter) ([]task.AgentTally, bool, error) {
	var page []task.AgentTally
	for _, agent := range c.agents {
		behind := agent.AgentID > filter.After
		if filter.ByVerdicts && filter.After != "" && agent.Verified != filter.AfterVerdicts {
			behind = agent.Verified < filter.AfterVerdicts
		}
		if behind {
			page = append(page, agent)
		}
	}
	if filter.ByVerdicts {
		slices.SortStableFunc(page, func(a, b task.AgentTally) int { return cmp.Compare(b.Verified, a.Verified) })
	}
	if len(page) > filter.Limit {
		return page[:filter.Limit], true, nil
	}
	return page, false, nil
}

func (c counted) Provers(_ context.Context, verifiers []task.AgentID) (map[task.AgentID][]task.PairTally, error) {
	provers := map[task.AgentID][]task.PairTally{}
	for _, id := range verifiers {
		provers[id] = c.provers[id]
	}
	return provers, nil
}

func overview() *task.Overview {
	var agents []task.AgentTally
	for i, id := range []task.AgentID{"a", "b", "c", "d", "e"} {
		agents = append(agents, task.AgentTally{AgentID: id, Verified: int64(i / 2)})
	}
	return task.NewOverview(counted{agents: agents})
}

func TestAgents_pagesInEachOrder(t *testing.T) {
	for order, want := range map[string][]task.AgentID{
		task.OrderName: {"a", "b", "c", "d", "e"}, task.OrderVerdicts: {"e", "c", "d", "a", "b"},
	} {
		if diff := gocmp.Diff(want, pagesOfOne(t, order)); diff != "" {
			t.Errorf("agents over all pages in the order %s (-want +got):\n%s", order, diff)
		}
	}
}

// pagesOfOne lists all agents one by one.
func pagesOfOne(t *testing.T, order string) (got []task.AgentID) {
	t.Helper()
	for query := (task.AgentQuery{Limit: new(1), Order: &order}); ; {
		page, err := overview().Agents(t.Context(), query)
		if err != nil || page.RolledUpAt == nil {
			t.Fatalf("rolled up at %v, error %v", page.RolledUpAt, err)
		}
		for _, agent := range page.Agents {
			got = append(got, agent.AgentID)
		}
		if page.NextCursor == "" {
			return got
		}
		query.Cursor = &page.NextCursor
	}
}

func TestAgents_takesNoCursorOfAnotherList(t *testing.T) {
	cursorOf := func(order string) string {
		page, err := overview().Agents(t.Context(), task.AgentQuery{Limit: new(2), Order: &order})
		if err != nil || page.NextCursor == "" {
			t.Fatalf("cursor %q, error %v", page.NextCursor, err)
		}
		return page.NextCursor
	}
	byName, byVerdicts := cursorOf(task.OrderName), cursorOf(task.OrderVerdicts)
	raw := func(bytes string) string { return base64.RawURLEncoding.EncodeToString([]byte(bytes)) }
	for order, cursors := range map[string][]string{
		task.OrderName: {"", "a", byVerdicts, byName + "=", byName + "\n", "\r\n" + byName, raw(""), raw("\x03"), raw("\x03A"), raw("\x03a b"), raw("\x05a"), strings.Repeat("A", 1000)},
		task.OrderVerdicts: {
			"", "a", byName, byVerdicts + "\n", raw("\x04"), raw("\x04\x02"), raw("\x04\x01a"), raw("\x04\xff"), raw("\x04\x02A"),
			raw("\x04" + strings.Repeat("\xff", 10) + "a"),
		},
	} {
		for _, cursor := range cursors {
			_, err := overview().Agents(t.Context(), task.AgentQuery{Order: &order, Cursor: &cursor})
			if coded := mustFault(t, err, fault.InvalidArgument); coded.Details[fault.Field] != "cursor" || coded.Hint == "" {
				t.Errorf("%s, %q: the fault is %v, with the hint %q", order, cursor, coded, coded.Hint)
			}
		}
	}
}

func TestAgents_refusesBadArguments(t *testing.T) {
	for name, c := range map[string]struct {
		query task.AgentQuery
		field string
	}{
		"limit 0":     {task.AgentQuery{Limit: new(0)}, "limit"},
		"limit 101":   {task.AgentQuery{Limit: new(101)}, "limit"},
		"order":       {task.AgentQuery{Order: new("age")}, "order"},
		"empty order": {task.AgentQuery{Order: new("")}, "order"},
		"cursor":      {task.AgentQuery{Cursor: new("a b")}, "cursor"},
	} {
		_, err := overview().Agents(t.Context(), c.query)
		coded := mustFault(t, err, fault.InvalidArgument)
		if coded.Details[fault.Field] != c.field {
			t.Errorf("%s: the fault is of %v, want %s", name, coded.Details[fault.Field], c.field)
		}
	}
	_, err := overview().Agent(t.Context(), "a b")
	mustFault(t, err, fault.InvalidAgentID)
	_, err = overview().Lineage(t.Context(), "17")
	mustFault(t, err, fault.NotFound)
}
