package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// Fresh returns the location of a new, empty database: SQLite and Postgres do.
type Fresh func(t testing.TB) string

// Run is the suite that every database passes.
func Run(t *testing.T, fresh Fresh) {
	t.Helper()
	tests := ofRegistry()
	maps.Copy(tests, ofTaskGate())
	maps.Copy(tests, ofAlerts())
	maps.Copy(tests, ofFeed())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// ofTaskGate are the tests of the task gate's part of the suite.
func ofTaskGate() map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"every pair of statuses is a transition of the table or refused": everyPair,
		"a task is told whole":                                 toldWhole,
		"an unknown task is not found":                         unknownTask,
		"a key answers again or conflicts":                     keys,
		"a key holds among concurrent callers":                 concurrentKeys,
		"a rejected task has one successor":                    successors,
		"pages are stable while tasks are added":               pages,
		"every filter selects":                                 filters,
		"counts are capped":                                    counts,
		"counts hold whatever is rolled up":                    countedAnyhow,
		"blank is Unicode white space":                         blank,
		"a caller that goes away changes nothing or completes": goneCaller,
		"check writes and does not grow":                       checks,
		"constraints and schema have the same names":           names,
		"attacks are refused":                                  attacks,
		"a forged transition is projected":                     forged,
		"the store does what the oracle does":                  model,
		"a newer schema is refused untouched":                  newerSchema,
	}
}

// everyPair walks all pairs of statuses. A claim or a verdict is possible where
// task.Transitions says so and nowhere else; a refusal tells the status.
func everyPair(t *testing.T, location string) {
	db := open(t, location)
	kinds := map[task.Status]task.Kind{task.Claimed: task.KindClaimed, task.Verified: task.KindVerified, task.Rejected: task.KindRejected}
	for _, from := range task.Statuses() {
		for to, kind := range kinds {
			id := brought(t, db, from)
			before := mustRead(t, db, id)
			record := newRecord(kind, id, "carol", "a text")
			made, err := apply(t.Context(), db, record)
			rule, _ := task.RuleOf(kind)
			if rule.From == from {
				if err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
				} else if diff := cmp.Diff(record.Transition(), made); diff != "" {
					t.Errorf("%s to %s (-want +got):\n%s", from, to, diff)
				}
				continue
			}
			if coded, ok := fault.Of(err); !ok || coded.Code != fault.WrongState || coded.Details[fault.CurrentStatus] != from {
				t.Errorf("%s to %s: got %v, want E_WRONG_STATE with the status", from, to, err)
			}
			if diff := cmp.Diff(before, mustRead(t, db, id)); diff != "" {
				t.Errorf("%s to %s was refused and changed the task:\n%s", from, to, diff)
			}
		}
	}
}

func toldWhole(t *testing.T, location string) {
	db := open(t, location)
	strange := "tab\tline\nreturn\r\u202eé\U0001F512 \"'\\ $1 ? %s"
	created := newTask(alice, strange, strange, "second "+strings.Repeat("x", task.MaxCriterion-7))
	claim := newRecord(task.KindClaimed, created.TaskID, alice, strange+strings.Repeat("e", task.MaxEvidence-len(strange)))
	verdict := newRecord(task.KindRejected, created.TaskID, bob, strange)
	if _, err := db.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	mustApply(t, db, claim)
	if _, err := apply(t.Context(), db, newRecord(task.KindVerified, created.TaskID, alice, "")); !errors.Is(err, fault.SelfVerify) {
		t.Errorf("verdict of the prover: got %v, want E_SELF_VERIFY", err)
	}
	mustApply(t, db, verdict)
	want := task.Task{
		TaskID: created.TaskID, Title: strange, Status: task.Rejected, AcceptanceCriteria: created.Criteria,
		CreatedBy: alice, CreatedAt: created.At, ClaimedBy: alice, ClaimedAt: &claim.At, Evidence: claim.Text,
		VerifiedBy: bob, DecidedAt: &verdict.At, Verdict: task.Rejected, Notes: strange,
		History: []task.Change{
			created.Transition().Change(), claim.Transition().Change(), verdict.Transition().Change(),
		},
	}
	if diff := cmp.Diff(want, mustRead(t, db, created.TaskID)); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

func unknownTask(t *testing.T, location string) {
	db := open(t, location)
	unknown := newTask(alice, "never stored", "c").TaskID
	_, read := db.Task(t.Context(), unknown)
	_, claimed := db.Claim(t.Context(), newRecord(task.KindClaimed, unknown, alice, "e"))
	_, decided := db.Decide(t.Context(), newRecord(task.KindVerified, unknown, alice, ""))
	superseding := newTask(alice, "t", "c")
	superseding.Supersedes = unknown
	_, created := db.Create(t.Context(), sealTask(superseding))
	for name, err := range map[string]error{"read": read, "claim": claimed, "verdict": decided, "supersede": created} {
		if !errors.Is(err, fault.NotFound) {
			t.Errorf("%s: got %v, want E_NOT_FOUND", name, err)
		}
	}
}

func pages(t *testing.T, location string) {
	db := open(t, location)
	var want []task.ID
	for i := range 7 {
		created := newTask(alice, fmt.Sprint("task ", i), "c")
		if _, err := db.Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		want = append([]task.ID{created.TaskID}, want...)
	}
	var got []task.ID
	for filter, more := (task.Filter{Limit: 3}), true; more; {
		page, next, err := db.List(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, listed := range page {
			got = append(got, listed.TaskID)
		}
		filter.Before, more = next.ID, next.ID != ""
		brought(t, db, task.Pending) // A newer task moves no page.
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids over all pages (-want +got):\n%s", diff)
	}
}

func filters(t *testing.T, location string) {
	db := open(t, location)
	pending, claimed, rejected := brought(t, db, task.Pending), brought(t, db, task.Claimed), brought(t, db, task.Rejected)
	successor := newTask(bob, "again", "c")
	successor.Supersedes = rejected
	if _, err := db.Create(t.Context(), sealTask(successor)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		filter task.Filter
		want   []task.ID
	}{
		"status":                 {task.Filter{Status: task.Claimed}, []task.ID{claimed}},
		"creator":                {task.Filter{CreatedBy: bob}, []task.ID{successor.TaskID}},
		"prover":                 {task.Filter{ClaimedBy: alice}, []task.ID{rejected, claimed}},
		"verifiable by another":  {task.Filter{VerifiableBy: bob}, []task.ID{claimed}},
		"verifiable by prover":   {task.Filter{VerifiableBy: alice}, nil},
		"superseding":            {task.Filter{Supersedes: rejected}, []task.ID{successor.TaskID}},
		"combined":               {task.Filter{Status: task.Pending, CreatedBy: alice}, []task.ID{pending}},
		"combined to nothing":    {task.Filter{Status: task.Pending, ClaimedBy: alice}, nil},
		"status with verifiable": {task.Filter{Status: task.Pending, VerifiableBy: bob}, nil},
	} {
		c.filter.Limit = task.MaxPage
		page, next, err := db.List(t.Context(), c.filter)
		if err != nil || next != (task.Place{}) {
			t.Errorf("%s: goes on after %v, error %v", name, next, err)
		}
		var got []task.ID
		for _, listed := range page {
			got = append(got, listed.TaskID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func counts(t *testing.T, location string) {
	db := open(t, location)
	for _, status := range []task.Status{task.Pending, task.Pending, task.Pending, task.Claimed, task.Rejected} {
		brought(t, db, status)
	}
	got, err := db.Counts(t.Context(), 2)
	if want := (task.Counts{Pending: 2, Claimed: 1, Rejected: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// countedAnyhow counts tasks, of which the roll-up has counted none, all, all but a
// few and all but many.
func countedAnyhow(t *testing.T, location string) {
	db := open(t, location)
	var want task.Counts
	holds := func(when string) {
		t.Helper()
		if got, err := db.Counts(t.Context(), task.MaxCount); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", when, got, err, want)
		}
	}
	holds("without tasks")
	for _, when := range []string{"none is rolled up", "a few are not", "many are not"} {
		for range map[string]int{"many are not": 17}[when] + 1 {
			for status, count := range map[task.Status]*int{
				task.Pending: &want.Pending, task.Claimed: &want.Claimed, task.Verified: &want.Verified, task.Rejected: &want.Rejected,
			} {
				brought(t, db, status)
				*count++
			}
		}
		holds(when)
		mustRollUp(t, db, day())
		holds("all is rolled up since " + when)
	}
}

// blank holds the schema's idea of white space against Unicode's, rune by rune.
func blank(t *testing.T, location string) {
	db := open(t, location)
	var spaces []rune
	for _, r16 := range unicode.White_Space.R16 {
		for r := rune(r16.Lo); r <= rune(r16.Hi); r += rune(r16.Stride) {
			spaces = append(spaces, r)
		}
	}
	cases := slices.Concat(spaces, []rune{'\u200b', '\ufeff', '\u2060', '\u180e', 'x'})
	for _, r := range cases {
		id := brought(t, db, task.Claimed)
		_, err := db.Decide(t.Context(), newRecord(task.KindRejected, id, bob, "\t"+string(r)+" "))
		if unicode.Is(unicode.White_Space, r) != errors.Is(err, fault.MissingNotes) {
			t.Errorf("notes of %U: got %v", r, err)
		}
	}
	for name, refused := range map[string]error{
		"criterion": createError(t, db, newTask(alice, "t", "c", "\u3000")),
		"criteria":  createError(t, db, newTask(alice, "t")),
	} {
		if !errors.Is(refused, fault.EmptyCriteria) {
			t.Errorf("blank %s: got %v, want E_EMPTY_CRITERIA", name, refused)
		}
	}
	if err := createError(t, db, newTask(alice, "\u00a0", "c")); !errors.Is(err, fault.InvalidArgument) {
		t.Errorf("blank title: got %v, want E_INVALID_ARGUMENT", err)
	}
	if _, err := db.Claim(t.Context(), newRecord(task.KindClaimed, brought(t, db, task.Pending), bob, "\u2029")); !errors.Is(err, fault.EmptyEvidence) {
		t.Errorf("blank evidence: got %v, want E_EMPTY_EVIDENCE", err)
	}
}

func createError(t *testing.T, db *store.Database, created task.NewTask) error {
	t.Helper()
	_, err := db.Create(t.Context(), created)
	if _, found := db.Task(t.Context(), created.TaskID); err != nil && !errors.Is(found, fault.NotFound) {
		t.Errorf("a refused creation left task %s: %v", created.TaskID, found)
	}
	return err
}

// goneCaller gives up at every moment. What is answered with a fault is not
// stored; what is stored is whole.
func goneCaller(t *testing.T, location string) {
	db := open(t, location)
	for patience := time.Duration(0); patience < 3*time.Millisecond; patience += 100 * time.Microsecond {
		id := brought(t, db, task.Pending)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := db.Claim(ctx, newRecord(task.KindClaimed, id, alice, "e"))
		cancel()
		if err != nil && !errors.Is(err, fault.Unavailable) {
			t.Errorf("after %v: got %v, want E_UNAVAILABLE", patience, err)
		}
		if claimed := mustRead(t, db, id).Status == task.Claimed; claimed != (err == nil) {
			t.Errorf("after %v: answered %v, but claimed is %v", patience, err, claimed)
		}
	}
}

func checks(t *testing.T, location string) {
	db := open(t, location)
	for range 3 {
		if err := db.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	if err := raw(t, location, false).QueryRowContext(t.Context(), "SELECT count(*) FROM heartbeat").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("got %d rows, %v, want 1", rows, err)
	}
}
