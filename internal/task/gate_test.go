package task_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestGate_takesATaskFromBirthThroughRejectionToVerification(t *testing.T) {
	h := newHouse()
	rejected := h.decided(t, task.Rejected)
	made, err := h.Create(t.Context(), lockedTo("rev"), task.CreateRequest{
		Title: "Again", AcceptanceCriteria: []string{" a ", "b"}, Supersedes: new(string(rejected)),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.TaskID)
	if _, err := h.Claim(t.Context(), lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: "done\r\n\there"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Verify(t.Context(), lockedTo("rev"), task.VerifyRequest{TaskID: id, Verdict: "verified"}); err != nil {
		t.Fatal(err)
	}
	got, err := h.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	from := []task.Status{task.Pending, task.Claimed}
	at := func(i int) task.Time { return task.At(noon) + task.Time(i) }
	want := task.Task{
		TaskID: made.TaskID, Title: "Again", Status: task.Verified, AcceptanceCriteria: []string{" a ", "b"},
		CreatedBy: "rev", CreatedAt: at(4), ClaimedBy: "dev", ClaimedAt: new(at(5)), Evidence: "done\r\n\there",
		VerifiedBy: "rev", DecidedAt: new(at(6)), Verdict: task.Verified, Supersedes: rejected,
		History: []task.Change{
			{Number: 1, Kind: task.KindCreated, To: task.Pending, Agent: "rev", At: at(4)},
			{Number: 2, Kind: task.KindClaimed, From: &from[0], To: task.Claimed, Agent: "dev", At: at(5)},
			{Number: 3, Kind: task.KindVerified, From: &from[1], To: task.Verified, Agent: "rev", At: at(6)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	old, err := h.Task(t.Context(), string(rejected))
	if err != nil || old.SupersededBy != made.TaskID {
		t.Errorf("the rejected task is superseded by %q (%v), want %s", old.SupersededBy, err, made.TaskID)
	}
}

func TestGate_answersInTheShapesOfTheContract(t *testing.T) {
	h := newHouse()
	made, err := h.Create(t.Context(), anybody, task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y"}, CreatedBy: new("Dev")})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := h.Claim(t.Context(), anybody, task.ClaimRequest{TaskID: string(made.TaskID), AgentID: new(" DEV\t"), Evidence: "e"})
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := h.Verify(t.Context(), anybody, task.VerifyRequest{
		TaskID: string(made.TaskID), VerifierAgentID: new("rev"), Verdict: "rejected", Notes: "no",
	})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.TaskID)
	for _, c := range []struct {
		got  any
		want string
	}{
		{made, `{"task_id":"` + id + `","status":"pending","created_at":"2026-11-30T12:00:00.001Z"}`},
		{claim, `{"task_id":"` + id + `","status":"claimed","claimed_by":"dev","claimed_at":"2026-11-30T12:00:00.002Z"}`},
		{verdict, `{"task_id":"` + id + `","status":"rejected","verified_by":"rev","decided_at":"2026-11-30T12:00:00.003Z"}`},
	} {
		got, err := json.Marshal(c.got)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s (%v)\nwant %s", got, err, c.want)
		}
	}
}

// Every pair of a status and an operation that the table of transitions does not
// hold is refused, says the status, and changes nothing.
func TestGate_refusesEveryTransitionThatTheTableDoesNotHold(t *testing.T) {
	for _, status := range task.Statuses() {
		for _, rule := range task.Transitions()[1:] {
			h := newHouse()
			id := h.in(t, status)
			before, _ := h.Task(t.Context(), string(id))
			err := h.attempt(t, rule.Kind, id)
			after, _ := h.Task(t.Context(), string(id))
			if status == rule.From {
				if err != nil || after.Status != rule.To {
					t.Errorf("%s of a %s task: status %s, error %v", rule.Kind, status, after.Status, err)
				}
				continue
			}
			mustDetail(t, mustFault(t, err, fault.WrongState), fault.CurrentStatus, status)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("a refused %s changed the task:\n%s", rule.Kind, diff)
			}
		}
	}
}

// attempt tries a transition by an agent who has touched no task.
func (h house) attempt(t *testing.T, kind task.Kind, id task.ID) error {
	t.Helper()
	if kind == task.KindClaimed {
		_, err := h.Claim(t.Context(), lockedTo("other"), task.ClaimRequest{TaskID: string(id), Evidence: "e"})
		return err
	}
	_, err := h.Verify(t.Context(), lockedTo("other"), task.VerifyRequest{TaskID: string(id), Verdict: string(kind), Notes: "n"})
	return err
}

func TestVerify_refusesTheProverForBothVerdicts(t *testing.T) {
	for _, verdict := range []string{"verified", "rejected"} {
		h := newHouse()
		id := h.claimed(t)
		_, err := h.Verify(t.Context(), anybody, task.VerifyRequest{
			TaskID: string(id), VerifierAgentID: new(" DEV "), Verdict: verdict, Notes: "n",
		})
		coded := mustFault(t, err, fault.SelfVerify)
		mustDetail(t, coded, fault.CurrentStatus, task.Claimed)
		if coded.Hint == "" {
			t.Error("self-verification is refused without a hint")
		}
		if kept, _ := h.Task(t.Context(), string(id)); kept.Status != task.Claimed {
			t.Errorf("the status became %s", kept.Status)
		}
	}
}

func TestVerify_letsTheCreatorGiveTheVerdictOnAnothersClaim(t *testing.T) {
	h := newHouse()
	id := h.pending(t)
	if _, err := h.Claim(t.Context(), lockedTo("other"), task.ClaimRequest{TaskID: string(id), Evidence: "e"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Verify(t.Context(), lockedTo("dev"), task.VerifyRequest{TaskID: string(id), Verdict: "verified"}); err != nil {
		t.Error(err)
	}
}

func TestClaim_refusesSecondHolder(t *testing.T) {
	for _, second := range []task.AgentID{"dev", "other"} {
		h := newHouse()
		id := h.claimed(t)
		_, err := h.Claim(t.Context(), lockedTo(second), task.ClaimRequest{TaskID: string(id), Evidence: "mine"})
		mustDetail(t, mustFault(t, err, fault.WrongState), fault.CurrentStatus, task.Claimed)
	}
}

func TestGate_takesAnIDInUpperCase(t *testing.T) {
	h := newHouse()
	id := h.pending(t)
	upper := upperCase(id)
	claim, err := h.Claim(t.Context(), lockedTo("dev"), task.ClaimRequest{TaskID: upper, Evidence: "e"})
	if err != nil || claim.TaskID != id {
		t.Errorf("claim of %s: task %s, error %v", upper, claim.TaskID, err)
	}
	if got, err := h.Task(t.Context(), upper); err != nil || got.TaskID != id {
		t.Errorf("task %s: %s, error %v", upper, got.TaskID, err)
	}
}

func TestCreate_explainsWhyATaskCannotBeSuperseded(t *testing.T) {
	h := newHouse()
	supersede := func(id string) (task.Created, error) {
		return h.Create(t.Context(), lockedTo("dev"), task.CreateRequest{
			Title: "x", AcceptanceCriteria: []string{"y"}, Supersedes: &id,
		})
	}
	_, err := supersede(unknownID)
	mustFault(t, err, fault.NotFound)
	_, err = supersede("task 1")
	mustFault(t, err, fault.NotFound)
	for _, status := range []task.Status{task.Pending, task.Claimed, task.Verified} {
		_, err = supersede(string(h.in(t, status)))
		mustDetail(t, mustFault(t, err, fault.WrongState), fault.CurrentStatus, status)
	}
	rejected := h.decided(t, task.Rejected)
	successor, err := supersede(upperCase(rejected))
	if err != nil {
		t.Fatal(err)
	}
	_, err = supersede(string(rejected))
	mustDetail(t, mustFault(t, err, fault.AlreadySuperseded), "superseded_by", successor.TaskID)
}

func TestGate_passesOnWhatTheStoreCannotDo(t *testing.T) {
	gate := task.NewGate(brokenStore{}, newClock())
	id := new(unknownID)
	_, created := gate.Create(t.Context(), lockedTo("a"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y"}})
	_, claimed := gate.Claim(t.Context(), lockedTo("a"), task.ClaimRequest{TaskID: *id, Evidence: "e"})
	_, empty := gate.Claim(t.Context(), lockedTo("a"), task.ClaimRequest{TaskID: *id, IdempotencyKey: new("k")})
	_, decided := gate.Verify(t.Context(), lockedTo("a"), task.VerifyRequest{TaskID: *id, Verdict: "verified"})
	_, noNotes := gate.Verify(t.Context(), lockedTo("a"), task.VerifyRequest{TaskID: *id, Verdict: "rejected"})
	_, shown := gate.Task(t.Context(), *id)
	_, listed := gate.List(t.Context(), task.Query{})
	for _, err := range []error{created, claimed, empty, decided, noNotes, shown, listed} {
		mustFault(t, err, fault.Unavailable)
	}
}
