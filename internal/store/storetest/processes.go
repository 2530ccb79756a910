package storetest

import (
	"fmt"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// jobs returns a job for each of so many processes, each with an agent and a
// seed of its own.
func jobs(count int, of job) []job {
	all := make([]job, count)
	for i := range all {
		all[i] = of
		all[i].Agent, all[i].Seed = task.AgentID(fmt.Sprintf("agent-%d", i)), uint64(i)+1
	}
	return all
}

// Race lets so many processes claim and then decide every one of so many tasks.
// Each claim and each verdict has exactly one winner, and every other caller is
// told the status; nobody sees a lock.
func Race(t *testing.T, fresh Fresh, processes, tasks int) {
	t.Helper()
	location := fresh(t)
	db := open(t, location)
	of := job{Location: location, Do: doRace}
	for i := range tasks {
		created := newTask(alice, fmt.Sprint("task ", i), "it holds")
		if _, err := db.Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		of.Tasks = append(of.Tasks, created.TaskID)
	}
	workers := startWorkers(t, jobs(processes, of))
	begin(t, workers)
	wins, lost := map[string][]task.AgentID{}, 0
	for _, told := range collect(t, workers, false) {
		switch {
		case told.Op == opLost:
			lost += told.Count
		case told.Error != "":
			t.Errorf("%s of %s by %s: %s", told.Op, told.Task, told.Agent, told.Error)
		default:
			wins[told.Op+string(told.Task)] = append(wins[told.Op+string(told.Task)], told.Agent)
		}
	}
	for _, id := range of.Tasks {
		claimers, verifiers := wins[string(task.KindClaimed)+string(id)], wins[string(task.KindVerified)+string(id)]
		read := mustRead(t, db, id)
		if len(claimers) != 1 || len(verifiers) != 1 || claimers[0] != read.ClaimedBy || verifiers[0] != read.VerifiedBy {
			t.Errorf("task %s, claimed by %q and verified by %q, was won by %v and %v", id, read.ClaimedBy, read.VerifiedBy, claimers, verifiers)
		}
	}
	if want := 2 * (processes - 1) * tasks; lost != want {
		t.Errorf("%d calls lost, want %d", lost, want)
	}
	agree(t, raw(t, location, false))
}

// FirstStarts lets so many processes open the same new database at once and use
// it at once.
func FirstStarts(t *testing.T, fresh Fresh, processes int) {
	t.Helper()
	location := fresh(t)
	workers := startWorkers(t, jobs(processes, job{Location: location, Do: doStart}))
	begin(t, workers)
	done := 0
	for _, told := range collect(t, workers, false) {
		if told.Error != "" {
			t.Errorf("%s by %s: %s", told.Op, told.Agent, told.Error)
		}
		done++
	}
	if want := 3 * processes; done != want {
		t.Errorf("%d calls were answered, want %d", done, want)
	}
	agree(t, raw(t, location, false))
	if counted, err := open(t, location).Counts(t.Context(), task.MaxCount); err != nil || counted.Rejected != processes {
		t.Errorf("got %+v, %v, want %d rejected tasks", counted, err, processes)
	}
}

// unavailable reports an answer that no test here may get.
func unavailable(told event) bool {
	return told.Error != "" && told.Code == "" || told.Code == fault.Unavailable || told.Code == fault.Internal
}
