package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// The measures of a crash.
const (
	crashProcesses = 4
	crashLatest    = 60 * time.Millisecond // after the signal
	roundsPerFile  = 10
)

// Crash kills all processes under load at a random moment, so many times. After
// each time the database is whole, every row agrees with its transitions, and
// every call that was acknowledged is there. Now and then the processes are
// killed while they make the database.
func Crash(t *testing.T, fresh Fresh, rounds int) {
	t.Helper()
	crash(t, fresh, rounds, job{Do: doLoad}, whole)
}

// CrashRecording is Crash for results: a batch is there whole or not at all, and
// each that was acknowledged is there.
func CrashRecording(t *testing.T, fresh Fresh, rounds int) {
	t.Helper()
	of := job{Do: doRecord, Steps: 1 << 30, MaxBytes: registry.DefaultMaxBytes}
	crash(t, fresh, rounds, of, wholeRecords)
}

func crash(t *testing.T, fresh Fresh, rounds int, of job, examine func(*testing.T, string, []event)) {
	t.Helper()
	draw := rand.New(rand.NewPCG(uint64(rounds), 2)) //nolint:gosec // G404, G115: a seeded test
	acknowledged := 0
	for round := range rounds {
		if round%roundsPerFile == 0 {
			of.Location = fresh(t)
		}
		workers := startWorkers(t, jobs(crashProcesses, of))
		if round%roundsPerFile > 0 {
			begin(t, workers)
		}
		<-time.After(time.Duration(draw.Int64N(int64(crashLatest))))
		for _, w := range workers {
			if err := w.cmd.Process.Kill(); err != nil {
				t.Fatalf("kill a worker: %v", err)
			}
		}
		acks := collect(t, workers, true)
		acknowledged += len(acks)
		examine(t, of.Location, acks)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
	t.Logf("%d rounds, %d calls acknowledged and found", rounds, acknowledged)
	if acknowledged == 0 {
		t.Error("no call was acknowledged before a kill: the rounds prove nothing")
	}
}

// whole examines a database after a crash.
func whole(t *testing.T, location string, acks []event) {
	t.Helper()
	db, err := store.Open(t.Context(), location, store.Options{WriteWait: openWait, ReadWait: openWait})
	if err != nil {
		t.Fatalf("open after the crash: %v", err)
	}
	defer db.Close()
	foreign := raw(t, location, false)
	defer foreign.Close()
	if db.Kind() == sqlite {
		if found := dumpQuery(t, foreign, "PRAGMA integrity_check"); !cmp.Equal(found, []string{"ok"}) {
			t.Errorf("integrity check: %v", found)
		}
	}
	agree(t, foreign)
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("check after the crash: %v", err)
	}
	seen := map[task.ID]task.Task{}
	for _, ack := range acks {
		if ack.Op == opReady {
			continue
		}
		if ack.Error != "" {
			t.Errorf("%s of %s: %s", ack.Op, ack.Task, ack.Error)
			continue
		}
		if _, ok := seen[ack.Task]; !ok {
			seen[ack.Task] = rebuilt(t, db, ack.Task)
		}
		rule, _ := task.RuleOf(task.Kind(ack.Op))
		history := seen[ack.Task].History
		if len(history) < rule.Number || history[rule.Number-1].Agent != ack.Agent || history[rule.Number-1].Kind != rule.Kind {
			t.Errorf("%s of %s by %s was acknowledged and is not there: %+v", ack.Op, ack.Task, ack.Agent, history)
		}
	}
}

// rebuilt reads a task and checks that its transitions alone make the same task.
func rebuilt(t testing.TB, db *store.Database, id task.ID) task.Task {
	t.Helper()
	read := mustRead(t, db, id)
	transitions, err := db.Transitions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	built, err := task.Rebuild(transitions, task.Texts{Criteria: read.AcceptanceCriteria, Evidence: read.Evidence, Notes: read.Notes})
	if err != nil {
		t.Errorf("rebuild: %v", err)
	}
	built.SupersededBy = read.SupersededBy
	if diff := cmp.Diff(built, read); diff != "" {
		t.Errorf("task %s (-from its transitions +read):\n%s", id, diff)
	}
	return read
}
