package main

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
)

// The texts of every task that is made here: of the length of real ones.
const (
	title    = "Add a /healthz endpoint to the api service"
	evidence = "Added the route in src/routes/health.ts. curl -i on the running service returns 200 with a body of {\"status\":\"ok\"}. npm test: 14 passed."
	notes    = "All three criteria checked on the running service."
)

func criteria() []string {
	return []string{
		"GET /healthz on the running service returns HTTP 200",
		"The body is JSON and contains {\"status\":\"ok\"}",
		"npm test passes with the new test included",
	}
}

// agents are the two that work on a task.
type agents struct{ prover, verifier task.AgentID }

func agentsOf(number int) agents {
	return agents{task.AgentID(fmt.Sprintf("prover-%d", number)), task.AgentID(fmt.Sprintf("verifier-%d", number))}
}

// tally is what one loop of transitions has seen.
type tally struct {
	Transitions int       // completed before the end
	LockErrors  int       // that reached the caller
	FirstError  string    // the text of the first of them
	Waits       []float64 // how long each call took, in milliseconds, whatever came of it
}

// drive makes tasks and takes them through the gate, one transition after the
// other, until the end. A call that a lock made fail is counted and made again.
func drive(ctx context.Context, to writer, by agents, end time.Time) (tally, error) {
	var seen tally
	for time.Now().Before(end) {
		created, err := newTask(by)
		if err != nil {
			return seen, err
		}
		if err := seen.step(end, func() error { return to.create(ctx, created) }); err != nil {
			return seen, err
		}
		claimed, err := follow(created, task.KindClaimed, by.prover, evidence)
		if err != nil {
			return seen, err
		}
		if err := seen.step(end, func() error { return to.add(ctx, claimed) }); err != nil {
			return seen, err
		}
		decided, err := follow(created, task.KindVerified, by.verifier, notes)
		if err != nil {
			return seen, err
		}
		if err := seen.step(end, func() error { return to.add(ctx, decided) }); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// step makes one transition, unless the end has come.
func (t *tally) step(end time.Time, do func() error) error {
	for time.Now().Before(end) {
		began := time.Now()
		err := do()
		now := time.Now()
		t.Waits = append(t.Waits, float64(now.Sub(began).Microseconds())/1000)
		if err == nil {
			if now.Before(end) {
				t.Transitions++
			}
			return nil
		}
		if !isLockError(err) {
			return err
		}
		if t.LockErrors++; t.LockErrors == 1 {
			t.FirstError = err.Error()
		}
	}
	return nil
}

func newTask(by agents) (task.NewTask, error) {
	id, at, err := task.NewID(time.Now())
	if err != nil {
		return task.NewTask{}, err
	}
	return task.NewTask{
		Record: task.Record{TaskID: id, Kind: task.KindCreated, Agent: by.verifier, Principal: principal(), At: at},
		Title:  title, Criteria: criteria(),
	}.Sealed()
}

// follow makes the record of a claim or a verdict on a task.
func follow(created task.NewTask, kind task.Kind, agent task.AgentID, text string) (task.Record, error) {
	return task.Record{
		TaskID: created.TaskID, Kind: kind, Agent: agent, Principal: principal(), At: task.At(time.Now()), Text: text,
	}.Sealed()
}

func principal() task.Principal {
	return task.Principal{Kind: "process", ID: "01936f3e-0000-7000-8000-000000000001"}
}
