package task

// Rule is one permitted transition: its number in the task, the status before
// (empty at creation) and the status after.
type Rule struct {
	Kind   Kind
	Number int
	From   Status
	To     Status
}

// Transitions returns the whole state machine. Databases hold the same table in
// their constraints; this one is the source.
func Transitions() []Rule {
	return []Rule{
		{Kind: KindCreated, Number: 1, From: "", To: Pending},
		{Kind: KindClaimed, Number: 2, From: Pending, To: Claimed},
		{Kind: KindVerified, Number: 3, From: Claimed, To: Verified},
		{Kind: KindRejected, Number: 3, From: Claimed, To: Rejected},
	}
}

// RuleOf returns the rule of a kind, and whether there is such a kind.
func RuleOf(kind Kind) (Rule, bool) {
	for _, rule := range Transitions() {
		if rule.Kind == kind {
			return rule, true
		}
	}
	return Rule{}, false
}

// Statuses returns every status, in the order in which a task passes them.
func Statuses() []Status { return []Status{Pending, Claimed, Verified, Rejected} }

// Tool names the operation that makes transitions of this kind; an idempotency
// key is scoped by it, so both verdicts share one scope.
func (k Kind) Tool() string {
	switch k {
	case KindCreated:
		return "create_task"
	case KindClaimed:
		return "claim_done"
	case KindVerified, KindRejected:
		return "verify"
	}
	return ""
}

// Transition returns the transition that appending the record makes.
func (r Record) Transition() Transition {
	rule, _ := RuleOf(r.Kind)
	return Transition{
		TaskID:    r.TaskID,
		Number:    rule.Number,
		Kind:      r.Kind,
		From:      rule.From,
		To:        rule.To,
		Agent:     r.Agent,
		Principal: r.Principal,
		At:        r.At,
		Body:      r.Body,
		Digest:    r.Digest,
	}
}

// Change returns the transition as get_task tells it.
func (t Transition) Change() Change {
	change := Change{Number: t.Number, Kind: t.Kind, To: t.To, Agent: t.Agent, At: t.At}
	if t.From != "" {
		change.From = &t.From
	}
	return change
}

// RefuseTransition returns the fault with which a task refuses the record: its
// status first, then self-verification. It returns nil when the task permits
// it. ClaimedBy is empty for a pending task.
func RefuseTransition(record Record, current Status, claimedBy AgentID) error {
	rule, ok := RuleOf(record.Kind)
	switch {
	case !ok || current != rule.From:
		return WrongState(record.TaskID, record.Kind, current)
	case current == Claimed && claimedBy == record.Agent:
		return SelfVerify(record.TaskID, claimedBy)
	}
	return nil
}

// RefuseSupersede returns the fault with which an existing task refuses to be
// superseded, nil when it permits it. Successor is empty when it has none.
func RefuseSupersede(id ID, current Status, successor ID) error {
	switch {
	case current != Rejected:
		return NotRejected(id, current)
	case successor != "":
		return AlreadySuperseded(id, successor)
	}
	return nil
}
