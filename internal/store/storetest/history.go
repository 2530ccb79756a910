package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// checkWait bounds the search for a linearization.
const checkWait = 30 * time.Second

// Histories lets so many processes operate at random on a few tasks, and looks
// for an order of all their calls, within the times at which each was under way,
// that the state machine permits: the history is linearizable.
func Histories(t *testing.T, fresh Fresh, processes, rounds int) {
	t.Helper()
	location := fresh(t)
	db := open(t, location)
	for round := range rounds {
		of := job{Location: location, Do: doHistory, Steps: 40}
		for range 8 {
			of.Tasks = append(of.Tasks, brought(t, db, task.Pending))
		}
		given := jobs(processes, of)
		for i := range given {
			given[i].Seed += uint64(round * processes) //nolint:gosec // G115: a small number
		}
		workers := startWorkers(t, given)
		begin(t, workers)
		var operations []porcupine.Operation
		client := map[task.AgentID]int{}
		for _, told := range collect(t, workers, false) {
			if unavailable(told) {
				t.Errorf("%s of %s by %s: %s", told.Op, told.Task, told.Agent, told.Error)
			}
			if _, known := client[told.Agent]; !known {
				client[told.Agent] = len(client)
			}
			operations = append(operations, porcupine.Operation{
				ClientId: client[told.Agent], Input: told, Output: told, Call: told.Call, Return: told.Return,
			})
		}
		if want := processes * of.Steps; len(operations) != want {
			t.Fatalf("round %d: %d operations, want %d", round, len(operations), want)
		}
		if result := porcupine.CheckOperationsTimeout(gateModel(), operations, checkWait); result != porcupine.Ok {
			t.Fatalf("round %d: the history is %v: %v", round, result, operations)
		}
	}
}

// gateState is what decides about one task.
type gateState struct {
	status task.Status
	prover task.AgentID
}

// gateModel is the state machine of one task; tasks are independent.
func gateModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			of := map[task.ID][]porcupine.Operation{}
			for _, operation := range history {
				id := asEvent(operation.Input).Task
				of[id] = append(of[id], operation)
			}
			var parts [][]porcupine.Operation
			for _, part := range of {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return gateState{status: task.Pending} },
		Step: func(state, input, _ any) (bool, any) {
			before, ok := state.(gateState)
			if !ok {
				panic(fmt.Sprintf("state %v", state))
			}
			permitted, after := before.step(asEvent(input))
			return permitted, after
		},
	}
}

func asEvent(value any) event {
	told, ok := value.(event)
	if !ok {
		panic(fmt.Sprintf("event %v", value))
	}
	return told
}

// step reports whether the answer told fits the state, and the state after it.
func (s gateState) step(told event) (bool, gateState) {
	if told.Op == opRead {
		return told.Status == s.status && told.Prover == s.prover, s
	}
	rule, _ := task.RuleOf(task.Kind(told.Op))
	switch {
	case s.status != rule.From:
		return told.Code == fault.WrongState && told.Status == s.status, s
	case rule.From == task.Claimed && s.prover == told.Agent:
		return told.Code == fault.SelfVerify, s
	case told.Code != "":
		return false, s
	}
	s.status = rule.To
	if rule.To == task.Claimed {
		s.prover = told.Agent
	}
	return true, s
}
