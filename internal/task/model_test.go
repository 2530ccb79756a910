package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// model is the contract once more, as plainly as it can be said: no store, no
// table, no code of the gate.
type model struct {
	tasks map[string]*modelTask
	keys  map[string]modelAnswer
}

type modelTask struct {
	status, prover, verifier, successor string
}

// modelAnswer is what a key stands for: the call that it was used in, and the
// status that the call answered.
type modelAnswer struct{ call, id, status string }

// call is one call of any tool. The creator of a model calls by its own name.
type call struct {
	tool, agent, lock, id, text, verdict, key string
}

func (c call) content() string {
	return fmt.Sprintf("%s %s %s %q", c.tool, c.id, c.verdict, c.text)
}

// expect returns the status that a call answers, or the code that refuses it.
func (m *model) expect(c call) (string, fault.Code) {
	if c.agent == "!" {
		return "", fault.InvalidAgentID
	}
	if c.lock != "" && c.agent != c.lock {
		return "", fault.IdentityMismatch
	}
	if seen, ok := m.keys[c.agent+" "+c.tool+" "+c.key]; ok && c.key != "" {
		if seen.call != c.content() {
			return "", fault.IdempotencyConflict
		}
		return seen.status, ""
	}
	switch c.tool {
	case "create":
		return m.expectCreate(c)
	case "claim":
		return m.expectClaim(c)
	default:
		return m.expectVerdict(c)
	}
}

func (m *model) expectCreate(c call) (string, fault.Code) {
	old := m.tasks[c.id]
	switch {
	case c.text == "":
		return "", fault.EmptyCriteria
	case c.id == "":
		return "pending", ""
	case old == nil:
		return "", fault.NotFound
	case old.status != "rejected":
		return "", fault.WrongState
	case old.successor != "":
		return "", fault.AlreadySuperseded
	}
	return "pending", ""
}

func (m *model) expectClaim(c call) (string, fault.Code) {
	switch found := m.tasks[c.id]; {
	case c.text == "":
		return "", fault.EmptyEvidence
	case found == nil:
		return "", fault.NotFound
	case found.status != "pending":
		return "", fault.WrongState
	}
	return "claimed", ""
}

func (m *model) expectVerdict(c call) (string, fault.Code) {
	switch found := m.tasks[c.id]; {
	case found == nil:
		return "", fault.NotFound
	case found.status != "claimed":
		return "", fault.WrongState
	case found.prover == c.agent:
		return "", fault.SelfVerify
	case c.verdict == "rejected" && c.text == "":
		return "", fault.MissingNotes
	}
	return c.verdict, ""
}

// apply does what a call that succeeded for the first time did.
func (m *model) apply(c call, id, status string) {
	key := c.agent + " " + c.tool + " " + c.key
	if _, seen := m.keys[key]; seen && c.key != "" {
		return
	}
	m.keys[key] = modelAnswer{c.content(), id, status}
	switch c.tool {
	case "create":
		m.tasks[id] = &modelTask{status: "pending"}
		if c.id != "" {
			m.tasks[c.id].successor = id
		}
	case "claim":
		m.tasks[id].status, m.tasks[id].prover = status, c.agent
	default:
		m.tasks[id].status, m.tasks[id].verifier = status, c.agent
	}
}

// send makes the call at the gate.
func (h house) send(c call) (id, status string, err error) {
	caller := task.Caller{Principal: anybody.Principal, Lock: task.AgentID(c.lock)}
	var key, supersedes *string
	if c.key != "" {
		key = &c.key
	}
	ctx := context.Background()
	switch c.tool {
	case "create":
		if c.id != "" {
			supersedes = &c.id
		}
		var criteria []string
		if c.text != "" {
			criteria = []string{c.text}
		}
		made, err := h.Create(ctx, caller, task.CreateRequest{
			Title: "x", AcceptanceCriteria: criteria, CreatedBy: &c.agent, Supersedes: supersedes, IdempotencyKey: key,
		})
		return string(made.TaskID), string(made.Status), err
	case "claim":
		made, err := h.Claim(ctx, caller, task.ClaimRequest{TaskID: c.id, AgentID: &c.agent, Evidence: c.text, IdempotencyKey: key})
		return string(made.TaskID), string(made.Status), err
	default:
		made, err := h.Verify(ctx, caller, task.VerifyRequest{
			TaskID: c.id, VerifierAgentID: &c.agent, Verdict: c.verdict, Notes: c.text, IdempotencyKey: key,
		})
		return string(made.TaskID), string(made.Status), err
	}
}

// Any sequence of calls is answered and refused as the model says, and leaves
// every task as the model has it and as its transitions rebuild it.
func TestGate_agreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse()
		m := &model{tasks: map[string]*modelTask{}, keys: map[string]modelAnswer{}}
		var ids []string
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			c := drawCall(t, ids)
			wantStatus, wantCode := m.expect(c)
			id, status, err := h.send(c)
			if wantCode != "" {
				if !errors.Is(err, wantCode) {
					t.Fatalf("%+v: got %q, %v, want %s", c, status, err, wantCode)
				}
				continue
			}
			if err != nil || status != wantStatus {
				t.Fatalf("%+v: got %q, %v, want %q", c, status, err, wantStatus)
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			m.apply(c, id, status)
		}
		for id, want := range m.tasks {
			h.compare(t, id, want)
		}
	})
}

func drawCall(t *rapid.T, ids []string) call {
	c := call{
		tool:  rapid.SampledFrom([]string{"create", "claim", "claim", "verify", "verify"}).Draw(t, "tool"),
		agent: rapid.SampledFrom([]string{"a", "b", "c", "a", "b", "c", "!"}).Draw(t, "agent"),
		lock:  rapid.SampledFrom([]string{"", "", "", "a"}).Draw(t, "lock"),
		text:  rapid.SampledFrom([]string{"", "one", "one", "two"}).Draw(t, "text"),
		key:   rapid.SampledFrom([]string{"", "", "", "k"}).Draw(t, "key"),
		id:    rapid.SampledFrom(append([]string{unknownID, "?"}, ids...)).Draw(t, "id"),
	}
	if c.tool == "create" && rapid.Bool().Draw(t, "fresh") {
		c.id = ""
	}
	if c.tool == "verify" {
		c.verdict = rapid.SampledFrom([]string{"verified", "rejected"}).Draw(t, "verdict")
	}
	return c
}

func (h house) compare(t *rapid.T, id string, want *modelTask) {
	got, err := h.Task(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	said := modelTask{string(got.Status), string(got.ClaimedBy), string(got.VerifiedBy), string(got.SupersededBy)}
	if said != *want {
		t.Fatalf("task %s is %+v, want %+v", id, said, *want)
	}
	built, err := task.Rebuild(recorded(t, h, got.TaskID), textsOf(got))
	if err != nil || built.Status != got.Status || len(built.History) != len(got.History) {
		t.Fatalf("task %s is rebuilt as %+v (%v)", id, built, err)
	}
}
