package task_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// noon is when the clock of the tests starts.
var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// anybody is a caller on a connection that is locked to no agent.
var anybody = task.Caller{Principal: task.Principal{Kind: "process", ID: "p1"}}

func lockedTo(agent task.AgentID) task.Caller {
	return task.Caller{Principal: anybody.Principal, Lock: agent}
}

// house is a gate in front of an oracle, with a clock that ticks a millisecond
// a call.
type house struct {
	*task.Gate
	oracle *storetest.Oracle
}

func newHouse() house {
	oracle := storetest.NewOracle()
	var ticks atomic.Int64
	clock := func() time.Time { return noon.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }
	return house{Gate: task.NewGate(oracle, clock), oracle: oracle}
}

// pending makes a task that dev created.
func (h house) pending(t *testing.T) task.ID {
	t.Helper()
	made, err := h.Create(t.Context(), anybody, task.CreateRequest{
		Title: "Add /healthz", AcceptanceCriteria: []string{"GET /healthz returns 200"}, CreatedBy: new("dev"),
	})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return made.TaskID
}

// claimed makes a task that dev claimed.
func (h house) claimed(t *testing.T) task.ID {
	t.Helper()
	id := h.pending(t)
	_, err := h.Claim(t.Context(), anybody, task.ClaimRequest{TaskID: string(id), AgentID: new("dev"), Evidence: "curl says 200"})
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return id
}

// decided makes a task that dev claimed and rev gave the verdict on.
func (h house) decided(t *testing.T, verdict task.Status) task.ID {
	t.Helper()
	id := h.claimed(t)
	_, err := h.Verify(t.Context(), anybody, task.VerifyRequest{
		TaskID: string(id), VerifierAgentID: new("rev"), Verdict: string(verdict), Notes: "looked",
	})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return id
}

// in makes a task of a status.
func (h house) in(t *testing.T, status task.Status) task.ID {
	t.Helper()
	switch status {
	case task.Pending:
		return h.pending(t)
	case task.Claimed:
		return h.claimed(t)
	case task.Verified, task.Rejected:
		return h.decided(t, status)
	}
	t.Fatalf("no status %q", status)
	return ""
}

// mustFault checks that err is a fault of the code, with a message.
func mustFault(t *testing.T, err error, code fault.Code) fault.Error {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got error %v, want %s", err, code)
	}
	coded, _ := fault.Of(err)
	if coded.Message == "" {
		t.Errorf("%s has no message", code)
	}
	return *coded
}

// mustDetail checks one detail of a fault.
func mustDetail(t *testing.T, coded fault.Error, name string, want any) {
	t.Helper()
	if got := coded.Details[name]; got != want {
		t.Errorf("%s has %s = %v, want %v", coded.Code, name, got, want)
	}
}

// unknownID is the id of no task.
const unknownID = "01900000-0000-7000-8000-000000000000"

func repeat(text string, times int) []string { return slices.Repeat([]string{text}, times) }

func upperCase(id task.ID) string { return strings.ToUpper(string(id)) }

func newClock() func() time.Time { return func() time.Time { return noon } }

// brokenStore is a database that does not answer.
type brokenStore struct{}

func (brokenStore) Create(context.Context, task.NewTask) (task.Transition, error) {
	return task.Transition{}, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Claim(context.Context, task.Record) (task.Transition, error) {
	return task.Transition{}, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Decide(context.Context, task.Record) (task.Transition, error) {
	return task.Transition{}, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Replay(context.Context, task.AgentID, task.Kind, task.IdempotencyKey) (task.Transition, bool, error) {
	return task.Transition{}, false, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Task(context.Context, task.ID) (task.Task, error) {
	return task.Task{}, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Transitions(context.Context, task.ID) ([]task.Transition, error) {
	return nil, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) List(context.Context, task.Filter) ([]task.Summary, task.Place, error) {
	return nil, task.Place{}, task.Unavailable(context.DeadlineExceeded)
}

func (brokenStore) Counts(context.Context, int) (task.Counts, error) {
	return task.Counts{}, task.Unavailable(context.DeadlineExceeded)
}
