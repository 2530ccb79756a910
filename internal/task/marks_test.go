package task_test

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/task"
)

func (c counted) Agent(_ context.Context, id task.AgentID, _ int) (task.AgentView, error) {
	for _, agent := range c.agents {
		if agent.AgentID == id {
			return task.AgentView{AgentTally: agent, Verifies: c.provers[id]}, nil
		}
	}
	return task.AgentView{}, context.Canceled
}

func TestOverview_marksInListsAsInOneAgent(t *testing.T) {
	hour, moment := int64(3_600_000), int64(59_999)
	of := task.NewOverview(counted{
		agents: []task.AgentTally{
			{AgentID: "careful", Verified: 8, Rejected: 2, MeanVerdictMs: &hour},
			{AgentID: "creator", Created: 20},
			{AgentID: "partner", Verified: 8, Rejected: 2, MeanVerdictMs: &hour},
			{AgentID: "rubber", Verified: 10, MeanVerdictMs: &moment},
			{AgentID: "young", Verified: 9, MeanVerdictMs: &moment},
		},
		provers: map[task.AgentID][]task.PairTally{
			"careful": {{Prover: "a", Verified: 5, Rejected: 2}, {Prover: "b", Verified: 3}},
			"partner": {{Prover: "a", Verified: 7, Rejected: 1}, {Prover: "b", Verified: 1, Rejected: 1}},
			"rubber":  {{Prover: "a", Verified: 10}},
			"young":   {{Prover: "a", Verified: 9}},
		},
	})
	want := map[task.AgentID][]task.Mark{
		"careful": {}, "creator": {}, "partner": {task.OneProver}, "rubber": task.Marks(), "young": {},
	}
	page, err := of.Agents(t.Context(), task.AgentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	listed, single := map[task.AgentID][]task.Mark{}, map[task.AgentID][]task.Mark{}
	for i := range page.Agents {
		id := page.Agents[i].AgentID
		view, err := of.Agent(t.Context(), string(id))
		if err != nil {
			t.Fatal(err)
		}
		listed[id], single[id] = page.Agents[i].Marks, view.Marks
	}
	if diff := gocmp.Diff(want, listed); diff != "" {
		t.Errorf("the marks in a list (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(want, single); diff != "" {
		t.Errorf("the marks of each agent (-want +got):\n%s", diff)
	}
}
