package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func keyed(created task.NewTask, key, content string) task.NewTask {
	created.Key = &task.IdempotencyKey{Key: key, Content: content}
	return created
}

func keys(t *testing.T, location string) {
	db := open(t, location)
	key := task.IdempotencyKey{Key: "k", Content: "same"}
	made, err := db.Create(t.Context(), keyed(newTask(alice, "first", "c"), "k", "same"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := db.Create(t.Context(), keyed(newTask(alice, "first", "c"), "k", "same"))
	if diff := cmp.Diff(made, again); err != nil || diff != "" {
		t.Errorf("the same call again: %v (-first +again):\n%s", err, diff)
	}
	if _, err := db.Create(t.Context(), keyed(newTask(alice, "other", "c"), "k", "other")); !errors.Is(err, fault.IdempotencyConflict) {
		t.Errorf("other content: got %v, want E_IDEMPOTENCY_CONFLICT", err)
	}
	if other, err := db.Create(t.Context(), keyed(newTask(bob, "bob's", "c"), "k", "other")); err != nil || other.TaskID == made.TaskID {
		t.Errorf("another agent's key: got %v, %v", other, err)
	}
	replayed, found, err := db.Replay(t.Context(), alice, task.KindCreated, key)
	if err != nil || !found || replayed != made {
		t.Errorf("replay: got %v, %v, %v", replayed, found, err)
	}
	if _, found, err := db.Replay(t.Context(), alice, task.KindClaimed, key); found || err != nil {
		t.Errorf("replay for another tool: got %v, %v", found, err)
	}
	if _, _, err := db.Replay(t.Context(), alice, task.KindCreated, task.IdempotencyKey{Key: "k", Content: "other"}); !errors.Is(err, fault.IdempotencyConflict) {
		t.Errorf("replay of other content: got %v, want E_IDEMPOTENCY_CONFLICT", err)
	}
	verdictsShareAKey(t, db)
}

// verdictsShareAKey: both verdicts are one tool, and a key is looked at before
// the state of the task.
func verdictsShareAKey(t *testing.T, db task.Store) {
	t.Helper()
	id := brought(t, db, task.Claimed)
	verdict := newRecord(task.KindVerified, id, bob, "")
	verdict.Key = &task.IdempotencyKey{Key: "v", Content: "verified"}
	made := mustApply(t, db, verdict)
	if again := mustApply(t, db, verdict); again != made {
		t.Errorf("the same verdict again: got %v, want %v", again, made)
	}
	other := newRecord(task.KindRejected, brought(t, db, task.Claimed), bob, "no")
	other.Key = &task.IdempotencyKey{Key: "v", Content: "rejected"}
	if _, err := db.Decide(t.Context(), other); !errors.Is(err, fault.IdempotencyConflict) {
		t.Errorf("the key of a verified for a rejected: got %v, want E_IDEMPOTENCY_CONFLICT", err)
	}
	if _, found, err := db.Replay(t.Context(), bob, task.KindRejected, *verdict.Key); !found || err != nil {
		t.Errorf("replay by the other verdict's kind: got %v, %v", found, err)
	}
}

// concurrentKeys sends the same creation and the same claim from many callers at
// once: each is stored once, and every caller is given that one.
func concurrentKeys(t *testing.T, location string) {
	const callers = 12
	first, second := open(t, location), open(t, location)
	created := task.Transition{}
	for round, call := range []func(task.Store) (task.Transition, error){
		func(s task.Store) (task.Transition, error) {
			return s.Create(t.Context(), keyed(newTask(alice, "once", "c"), "once", "same"))
		},
		func(s task.Store) (task.Transition, error) {
			claim := newRecord(task.KindClaimed, created.TaskID, alice, "e")
			claim.Key = &task.IdempotencyKey{Key: "once", Content: "same"}
			return s.Claim(t.Context(), claim)
		},
	} {
		answers := make([]task.Transition, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				var err error
				if answers[i], err = call([]task.Store{first, second}[i%2]); err != nil {
					t.Errorf("round %d, caller %d: %v", round, i, err)
				}
			})
		}
		all.Wait()
		for i, answer := range answers {
			if answer != answers[0] {
				t.Errorf("round %d, caller %d: got %v, want %v", round, i, answer, answers[0])
			}
		}
		created = answers[0]
	}
	if listed, _, err := first.List(t.Context(), task.Filter{Limit: 10}); err != nil || len(listed) != 1 {
		t.Errorf("got %d tasks, %v, want 1", len(listed), err)
	}
}

// successors supersedes tasks of every status, then one rejected task from many
// callers at once.
func successors(t *testing.T, location string) {
	const callers = 8
	db := open(t, location)
	successor := func(of task.ID) task.NewTask {
		created := newTask(bob, "again", "c")
		created.Supersedes = of
		return sealTask(created)
	}
	for _, status := range []task.Status{task.Pending, task.Claimed, task.Verified} {
		err := createError(t, db, successor(brought(t, db, status)))
		if coded, ok := fault.Of(err); !ok || coded.Code != fault.WrongState || coded.Details[fault.CurrentStatus] != status {
			t.Errorf("superseding a %s task: got %v, want E_WRONG_STATE with its status", status, err)
		}
	}
	rejected := brought(t, db, task.Rejected)
	made, refused := make([]task.ID, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			var answer task.Transition
			answer, refused[i] = db.Create(t.Context(), successor(rejected))
			made[i] = answer.TaskID
		})
	}
	all.Wait()
	winner := mustRead(t, db, rejected).SupersededBy
	for i, err := range refused {
		coded, ok := fault.Of(err)
		won := err == nil && made[i] == winner
		lost := ok && coded.Code == fault.AlreadySuperseded && coded.Details["superseded_by"] == winner
		if !won && !lost {
			t.Errorf("caller %d: got task %q and %v, want the win of %s or E_ALREADY_SUPERSEDED by it", i, made[i], err, winner)
		}
	}
	if got := mustRead(t, db, winner).Supersedes; got != rejected {
		t.Errorf("the winner supersedes %q, want %s", got, rejected)
	}
}
