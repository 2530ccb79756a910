package task_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// counted are tallies that know so many agents: a, b, c and so on.
type counted struct {
	task.Tallies

	agents []task.AgentTally
}

func (c counted) Tally(context.Context) (task.Tally, error) {
	return task.Tally{RolledUpAt: new(task.Time(5))}, nil
}

func (c counted) Agents(_ context.Context, filter task.AgentFilter) ([]task.AgentTally, bool, error) {
	var page []task.AgentTally
	for _, agent := range c.agents {
		if agent.AgentID > filter.After {
			page = append(page, agent)
		}
	}
	if len(page) > filter.Limit {
		return page[:filter.Limit], true, nil
	}
	return page, false, nil
}

func overview() *task.Overview {
	var agents []task.AgentTally
	for _, id := range []task.AgentID{"a", "b", "c", "d", "e"} {
		agents = append(agents, task.AgentTally{AgentID: id})
	}
	return task.NewOverview(counted{agents: agents})
}

func TestAgents_pagesInTheOrderOfNames(t *testing.T) {
	var got []task.AgentID
	for query := (task.AgentQuery{Limit: new(2)}); ; {
		page, err := overview().Agents(t.Context(), query)
		if err != nil || page.RolledUpAt == nil {
			t.Fatalf("rolled up at %v, error %v", page.RolledUpAt, err)
		}
		for _, agent := range page.Agents {
			got = append(got, agent.AgentID)
		}
		if page.NextCursor == "" {
			break
		}
		query.Cursor = &page.NextCursor
	}
	if diff := cmp.Diff([]task.AgentID{"a", "b", "c", "d", "e"}, got); diff != "" {
		t.Errorf("agents over all pages (-want +got):\n%s", diff)
	}
}

func TestAgents_givesNoCursorInTheOrderOfVerdicts(t *testing.T) {
	page, err := overview().Agents(t.Context(), task.AgentQuery{Limit: new(2), Order: new(task.OrderVerdicts)})
	if err != nil || len(page.Agents) != 2 || page.NextCursor != "" {
		t.Errorf("%d agents, cursor %q, error %v", len(page.Agents), page.NextCursor, err)
	}
}

func TestAgents_refusesBadArguments(t *testing.T) {
	for name, c := range map[string]struct {
		query task.AgentQuery
		field string
	}{
		"limit 0":                {task.AgentQuery{Limit: new(0)}, "limit"},
		"limit 101":              {task.AgentQuery{Limit: new(101)}, "limit"},
		"order":                  {task.AgentQuery{Order: new("age")}, "order"},
		"empty order":            {task.AgentQuery{Order: new("")}, "order"},
		"cursor":                 {task.AgentQuery{Cursor: new("a b")}, "cursor"},
		"cursor of another list": {task.AgentQuery{Cursor: new("a"), Order: new(task.OrderVerdicts)}, "cursor"},
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
