package task_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestGate_takesEachTextAtItsLimitAndRefusesOneMore(t *testing.T) {
	wide := "🜁" // four bytes, one character
	for _, c := range []struct {
		name  task.LimitName
		field string
		send  func(h house, n int) error
	}{
		{task.LimitTitle, "title", func(h house, n int) error {
			return h.creating(lockedTo("dev"), task.CreateRequest{Title: strings.Repeat(wide, n), AcceptanceCriteria: []string{"y"}})()
		}},
		{task.LimitCriteria, "acceptance_criteria", func(h house, n int) error {
			return h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: repeat("y", n)})()
		}},
		{task.LimitCriterion, "acceptance_criteria[1]", func(h house, n int) error {
			return h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y", strings.Repeat(wide, n)}})()
		}},
		{task.LimitCriteriaBytes, "acceptance_criteria", func(h house, n int) error {
			criteria := append(repeat(strings.Repeat("c", 4000), n/4000), strings.Repeat("c", n%4000))
			return h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: criteria})()
		}},
		{task.LimitEvidence, "evidence", func(h house, n int) error {
			return h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: string(h.pending(t)), Evidence: strings.Repeat("e", n)})()
		}},
		{task.LimitNotes, "notes", func(h house, n int) error {
			return h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: string(h.claimed(t)), Verdict: "verified", Notes: strings.Repeat("n", n)})()
		}},
		{task.LimitKey, "idempotency_key", func(h house, n int) error {
			return h.creating(lockedTo("dev"), task.CreateRequest{
				Title: "x", AcceptanceCriteria: []string{"y"}, IdempotencyKey: new(strings.Repeat(wide, n)),
			})()
		}},
	} {
		t.Run(string(c.name), func(t *testing.T) {
			limit := limitNamed(t, c.name)
			h := newHouse()
			if err := c.send(h, limit.Max); err != nil {
				t.Errorf("%d %s are refused: %v", limit.Max, limit.Unit, err)
			}
			coded := mustFault(t, c.send(h, limit.Max+1), fault.TooLarge)
			mustDetail(t, coded, fault.Limit, limit.Max)
			mustDetail(t, coded, fault.Field, c.field)
			if !strings.Contains(coded.Message, limit.Unit) {
				t.Errorf("%q does not name the unit %s", coded.Message, limit.Unit)
			}
		})
	}
}

func limitNamed(t *testing.T, name task.LimitName) task.Limit {
	t.Helper()
	for _, limit := range task.Limits() {
		if limit.Name == name {
			return limit
		}
	}
	t.Fatalf("the table has no limit %q", name)
	return task.Limit{}
}

func TestGate_countsBytesWhereTheLimitIsBytes(t *testing.T) {
	h := newHouse()
	id := string(h.pending(t))
	over := strings.Repeat("é", task.MaxEvidence/2) + "e"
	mustFault(t, h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: over})(), fault.TooLarge)
}

func TestGate_refusesNULAndInvalidUTF8InEveryText(t *testing.T) {
	h := newHouse()
	id := string(h.claimed(t))
	for _, bad := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80", "\xc0\xaf"} {
		for name, err := range map[string]error{
			"title":                  h.creating(lockedTo("dev"), task.CreateRequest{Title: bad, AcceptanceCriteria: []string{"y"}})(),
			"acceptance_criteria[0]": h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{bad}})(),
			"idempotency_key":        h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y"}, IdempotencyKey: &bad})(),
			"evidence":               h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: bad})(),
			"notes":                  h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: id, Verdict: "verified", Notes: bad})(),
		} {
			mustDetail(t, mustFault(t, err, fault.InvalidArgument), fault.Field, name)
		}
		mustFault(t, h.claiming(anybody, task.ClaimRequest{TaskID: id, AgentID: &bad, Evidence: "e"})(), fault.InvalidAgentID)
		mustFault(t, h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: bad, Evidence: "e"})(), fault.NotFound)
	}
}

func TestGate_keepsTextByteForByte(t *testing.T) {
	h := newHouse()
	odd := "\t \r\n\u202e\u200b\ufeff\u0007e\u0301<&>\u2028\ufffd\U0010ffff"
	made, err := h.Create(t.Context(), lockedTo("dev"), task.CreateRequest{Title: odd, AcceptanceCriteria: []string{odd, odd}})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.TaskID)
	if err := h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: odd})(); err != nil {
		t.Fatal(err)
	}
	if err := h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: id, Verdict: "rejected", Notes: odd})(); err != nil {
		t.Fatal(err)
	}
	got, err := h.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(got.AcceptanceCriteria, got.Title, got.Evidence, got.Notes) {
		if text != odd {
			t.Errorf("got %q, want %q", text, odd)
		}
	}
}

// Blank is the Unicode property White_Space and nothing else: a zero-width space
// or a byte order mark is a text, if a strange one.
func TestGate_takesWhiteSpaceAloneForBlank(t *testing.T) {
	h := newHouse()
	id := string(h.claimed(t))
	for _, r := range "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000" {
		text := string(r)
		mustFault(t, h.creating(lockedTo("dev"), task.CreateRequest{Title: text, AcceptanceCriteria: []string{"y"}})(), fault.InvalidArgument)
		coded := mustFault(t, h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{"y", text}})(), fault.EmptyCriteria)
		mustDetail(t, coded, fault.Field, "acceptance_criteria[1]")
		mustFault(t, h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: id, Evidence: text})(), fault.EmptyEvidence)
		mustFault(t, h.verifying(lockedTo("rev"), task.VerifyRequest{TaskID: id, Verdict: "rejected", Notes: text})(), fault.MissingNotes)
	}
	for _, text := range []string{"\u200b", "\ufeff", "\u180e", "\u2060", "\u0007", "\u00ad"} {
		err := h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: unknownID, Evidence: text})()
		if errors.Is(err, fault.EmptyEvidence) {
			t.Errorf("%+q counts as blank", text)
		}
	}
}

func TestGate_refusesArgumentsOfAWrongShape(t *testing.T) {
	h := newHouse()
	criteria := []string{"y"}
	for name, c := range map[string]struct {
		call  func() error
		field string
	}{
		"no title":            {h.creating(lockedTo("dev"), task.CreateRequest{AcceptanceCriteria: criteria}), "title"},
		"no creator":          {h.creating(anybody, task.CreateRequest{Title: "x", AcceptanceCriteria: criteria}), "created_by"},
		"no claimer":          {h.claiming(anybody, task.ClaimRequest{TaskID: unknownID, Evidence: "e"}), "agent_id"},
		"no verifier":         {h.verifying(anybody, task.VerifyRequest{TaskID: unknownID, Verdict: "verified"}), "verifier_agent_id"},
		"no verdict":          {h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: unknownID}), "verdict"},
		"verdict of a kind":   {h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: unknownID, Verdict: "claimed"}), "verdict"},
		"verdict in capitals": {h.verifying(lockedTo("dev"), task.VerifyRequest{TaskID: unknownID, Verdict: "Verified"}), "verdict"},
		"blank key":           {h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: criteria, IdempotencyKey: new("")}), "idempotency_key"},
	} {
		t.Run(name, func(t *testing.T) {
			mustDetail(t, mustFault(t, c.call(), fault.InvalidArgument), fault.Field, c.field)
		})
	}
	mustFault(t, h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: unknownID, AgentID: new("")})(), fault.InvalidAgentID)
	mustFault(t, h.claiming(lockedTo("dev"), task.ClaimRequest{TaskID: "", Evidence: "e"})(), fault.NotFound)
	mustFault(t, h.creating(lockedTo("dev"), task.CreateRequest{Title: "x", AcceptanceCriteria: []string{}})(), fault.EmptyCriteria)
}
