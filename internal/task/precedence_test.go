package task_test

import (
	"context"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// Each call below breaks two neighbouring rules of the precedence; the earlier
// one must be told. The prover dev claimed the task that the calls name, and
// each key was used before with other arguments.
func TestGate_tellsTheEarlierOfTwoFaults(t *testing.T) {
	h := newHouse()
	claimed, pending := string(h.claimed(t)), string(h.pending(t))
	h.useKeys(t)
	long := strings.Repeat("e", task.MaxEvidence+1)
	for _, c := range []struct {
		name string
		call func() error
		want fault.Code
	}{
		{"size before agent id, create", h.creating(anybody, task.CreateRequest{Title: strings.Repeat("t", 501), CreatedBy: new("!")}), fault.TooLarge},
		{"shape before agent id, claim", h.claiming(anybody, task.ClaimRequest{TaskID: claimed, AgentID: new("!"), Evidence: "\xff"}), fault.InvalidArgument},
		{"size before agent id, claim", h.claiming(anybody, task.ClaimRequest{TaskID: claimed, AgentID: new("!"), Evidence: long}), fault.TooLarge},
		{"shape before agent id, verify", h.verifying(anybody, task.VerifyRequest{TaskID: claimed, VerifierAgentID: new("!"), Verdict: "perhaps"}), fault.InvalidArgument},
		{"agent id before lock, create", h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", CreatedBy: new("!")}), fault.InvalidAgentID},
		{"agent id before lock, claim", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: claimed, AgentID: new("!")}), fault.InvalidAgentID},
		{"agent id before lock, verify", h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: claimed, VerifierAgentID: new("!"), Verdict: "verified"}), fault.InvalidAgentID},
		{"lock before key, create", h.creating(lockedTo("rev"), task.CreateRequest{Title: "x", CreatedBy: new("dev"), IdempotencyKey: new("k")}), fault.IdentityMismatch},
		{"lock before key, claim", h.claiming(lockedTo("rev"), task.ClaimRequest{TaskID: claimed, AgentID: new("dev"), IdempotencyKey: new("k")}), fault.IdentityMismatch},
		{"lock before key, verify", h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: claimed, VerifierAgentID: new("rev"), Verdict: "verified", IdempotencyKey: new("k")}), fault.IdentityMismatch},
		{"key before empty criteria", h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"key before empty evidence", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: claimed, IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"key before not found, create", h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y"}, Supersedes: new("?"), IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"key before not found, claim", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: unknownID, Evidence: "e", IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"key before not found, verify", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: "?", Verdict: "verified", IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"key before missing notes", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: claimed, Verdict: "rejected", IdempotencyKey: new("k")}), fault.IdempotencyConflict},
		{"empty criteria before not found", h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", Supersedes: new("?")}), fault.EmptyCriteria},
		{"empty criteria before wrong state", h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", Supersedes: new(pending)}), fault.EmptyCriteria},
		{"empty evidence before not found", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: unknownID}), fault.EmptyEvidence},
		{"empty evidence before an id that is none", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: "?", Evidence: " \n"}), fault.EmptyEvidence},
		{"empty evidence before wrong state", h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: claimed}), fault.EmptyEvidence},
		{"not found before missing notes", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: unknownID, Verdict: "rejected"}), fault.NotFound},
		{"an id that is none before missing notes", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: "?", Verdict: "rejected"}), fault.NotFound},
		{"wrong state before missing notes", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: pending, Verdict: "rejected"}), fault.WrongState},
		{"wrong state before self-verification", h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: string(h.decided(t, task.Verified)), Verdict: "verified"}), fault.WrongState},
		{"self-verification before missing notes", h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: claimed, Verdict: "rejected", Notes: "\u00a0"}), fault.SelfVerify},
		{"missing notes", h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: claimed, Verdict: "rejected", Notes: "\u2003\t"}), fault.MissingNotes},
	} {
		t.Run(c.name, func(t *testing.T) { mustFault(t, c.call(), c.want) })
	}
}

// useKeys uses the key k once for each tool, by the agent who calls below.
func (h house) useKeys(t *testing.T) {
	t.Helper()
	made, err := h.Create(t.Context(), lockedTo("dev"), task.CreateRequest{
		Title: "keyed", AcceptanceCriteria: []string{"y"}, IdempotencyKey: new("k"),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.TaskID)
	if _, err := h.Claim(t.Context(), lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: "keyed", IdempotencyKey: new("k")}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Verify(t.Context(), lockedTo("rev"), task.VerifyRequest{TaskID: id, Verdict: "verified", IdempotencyKey: new("k")})
	if err != nil {
		t.Fatal(err)
	}
}

func (h house) creating(caller task.Caller, request task.CreateRequest) func() error {
	return func() error { _, err := h.Create(context.Background(), caller, request); return err }
}

func (h house) claiming(caller task.Caller, request task.ClaimRequest) func() error {
	return func() error { _, err := h.Claim(context.Background(), caller, request); return err }
}

func (h house) verifying(caller task.Caller, request task.VerifyRequest) func() error {
	return func() error { _, err := h.Verify(context.Background(), caller, request); return err }
}

func TestGate_givesTheFirstAnswerAgainForTheSameKey(t *testing.T) {
	h := newHouse()
	create := task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y"}, CreatedBy: new("dev"), IdempotencyKey: new("k")}
	made, err := h.Create(t.Context(), anybody, create)
	if err != nil {
		t.Fatal(err)
	}
	create.CreatedBy = new(" DEV ")
	if again, err := h.Create(t.Context(), lockedTo("dev"), create); err != nil || again != made {
		t.Errorf("create again: %v (%v), want %v", again, err, made)
	}
	claim := task.ClaimRequest{TaskID: string(made.TaskID), AgentID: new("dev"), Evidence: "e", IdempotencyKey: new("k")}
	claimed, err := h.Claim(t.Context(), anybody, claim)
	if err != nil {
		t.Fatal(err)
	}
	verify := task.VerifyRequest{TaskID: string(made.TaskID), VerifierAgentID: new("rev"), Verdict: "verified", IdempotencyKey: new("k")}
	decided, err := h.Verify(t.Context(), anybody, verify)
	if err != nil {
		t.Fatal(err)
	}
	claim.TaskID, claim.AgentID = upperCase(made.TaskID), nil
	if again, err := h.Claim(t.Context(), lockedTo("dev"), claim); err != nil || again != claimed {
		t.Errorf("claim again: %v (%v), want %v", again, err, claimed)
	}
	verify.Notes = " \n"
	if again, err := h.Verify(t.Context(), anybody, verify); err != nil || again != decided {
		t.Errorf("verify again: %v (%v), want %v", again, err, decided)
	}
	verify.Verdict, verify.Notes = "rejected", "no"
	_, err = h.Verify(t.Context(), anybody, verify)
	mustFault(t, err, fault.IdempotencyConflict)
	if page, _ := h.List(t.Context(), task.Query{}); len(page.Tasks) != 1 {
		t.Errorf("the repeated calls left %d tasks, want 1", len(page.Tasks))
	}
}

func TestGate_remembersNoKeyOfARefusedCall(t *testing.T) {
	h := newHouse()
	id := string(h.pending(t))
	refused := task.VerifyRequest{TaskID: id, VerifierAgentID: new("rev"), Verdict: "verified", IdempotencyKey: new("k")}
	_, err := h.Verify(t.Context(), anybody, refused)
	mustFault(t, err, fault.WrongState)
	if _, err := h.Claim(t.Context(), lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: "e"}); err != nil {
		t.Fatal(err)
	}
	refused.Notes = "other arguments than before"
	if _, err := h.Verify(t.Context(), anybody, refused); err != nil {
		t.Errorf("the key of a refused call is taken: %v", err)
	}
}

func TestGate_scopesAKeyByAgentAndTool(t *testing.T) {
	h := newHouse()
	for _, agent := range []task.AgentID{"a", "b"} {
		made, err := h.Create(t.Context(), lockedTo(agent), task.CreateRequest{
			Title: "of " + string(agent), AcceptanceCriteria: []string{"y"}, IdempotencyKey: new("k"),
		})
		if err != nil {
			t.Fatalf("create by %s: %v", agent, err)
		}
		_, err = h.Claim(t.Context(), lockedTo(agent), task.ClaimRequest{TaskID: string(made.TaskID), Evidence: "e", IdempotencyKey: new("k")})
		if err != nil {
			t.Errorf("claim by %s: %v", agent, err)
		}
	}
}
