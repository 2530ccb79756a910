package task

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of the arguments, as the tools have them.
const (
	fieldTitle        = "title"
	fieldCriteria     = "acceptance_criteria"
	fieldCreatedBy    = "created_by"
	fieldSupersedes   = "supersedes"
	fieldKey          = "idempotency_key"
	fieldAgentID      = "agent_id"
	fieldEvidence     = "evidence"
	fieldVerifier     = "verifier_agent_id"
	fieldVerdict      = "verdict"
	fieldNotes        = "notes"
	fieldStatus       = "status"
	fieldClaimedBy    = "claimed_by"
	fieldVerifiableBy = "verifiable_by"
	fieldLimit        = "limit"
	fieldCursor       = "cursor"
	fieldOrder        = "order"
)

// blank reports whether a text is Unicode white space only, or nothing.
func blank(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }) < 0
}

// first returns the first fault of several checks; the order of its arguments
// is the precedence.
func first(checks ...error) error {
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkText checks what the record can keep of a text: UTF-8 without NUL.
func checkText(field, text string) error {
	if !utf8.ValidString(text) {
		return InvalidArgument(field, "is not valid UTF-8")
	}
	if strings.ContainsRune(text, 0) {
		return InvalidArgument(field, "contains a NUL character")
	}
	return nil
}

// checkCharacters checks a text whose limit counts characters.
func checkCharacters(field, text string, name LimitName) error {
	if err := checkText(field, text); err != nil {
		return err
	}
	if utf8.RuneCountInString(text) > limitOf(name).Max {
		return TooLarge(field, name)
	}
	return nil
}

// checkBytes checks a text whose limit counts bytes.
func checkBytes(field, text string, name LimitName) error {
	if len(text) > limitOf(name).Max {
		return TooLarge(field, name)
	}
	return checkText(field, text)
}

// checkTitle checks a title, which may not be blank.
func checkTitle(title string) error {
	if blank(title) {
		return InvalidArgument(fieldTitle, "is missing or blank").
			WithHint("Say in one line what is to be done.")
	}
	return checkCharacters(fieldTitle, title, LimitTitle)
}

// checkCriteria checks the number and the sizes of criteria. Blank ones are a
// later step: see requireCriteria.
func checkCriteria(criteria []string) error {
	if len(criteria) > MaxCriteria {
		return TooLarge(fieldCriteria, LimitCriteria)
	}
	total := 0
	for i, criterion := range criteria {
		if err := checkCharacters(criterionField(i), criterion, LimitCriterion); err != nil {
			return err
		}
		total += len(criterion)
	}
	if total > MaxCriteriaBytes {
		return TooLarge(fieldCriteria, LimitCriteriaBytes)
	}
	return nil
}

// requireCriteria refuses no criteria and a blank one.
func requireCriteria(criteria []string) error {
	if len(criteria) == 0 {
		return EmptyCriteria(fieldCriteria)
	}
	for i, criterion := range criteria {
		if blank(criterion) {
			return EmptyCriteria(criterionField(i))
		}
	}
	return nil
}

// requireEvidence refuses blank evidence.
func requireEvidence(evidence string) error {
	if blank(evidence) {
		return EmptyEvidence()
	}
	return nil
}

// requireID refuses an id that is no UUID, and so names no task.
func requireID(id ID, isUUID bool) error {
	if !isUUID {
		return NotFound(id)
	}
	return nil
}

// criterionField names one criterion by its position from 0, as get_task does
// in truncated.
func criterionField(i int) string { return fmt.Sprintf("%s[%d]", fieldCriteria, i) }

// checkKey checks an idempotency key; nil is none.
func checkKey(key *string) error {
	if key == nil {
		return nil
	}
	if blank(*key) {
		return InvalidArgument(fieldKey, "is blank").WithHint("Leave it out, or give a key of your own making.")
	}
	return checkCharacters(fieldKey, *key, LimitKey)
}

// admit takes the first three steps of the precedence: the shape of the call,
// which is the first fault of the checks or a missing caller, the form of the
// agent id, and the lock. It returns the agent that calls.
func admit(caller Caller, field string, given, key *string, checks ...error) (AgentID, error) {
	if err := first(append(checks, checkKey(key))...); err != nil {
		return "", err
	}
	if given == nil {
		if caller.Lock == "" {
			return "", InvalidArgument(field, "is missing, and this connection is not locked to an agent").
				WithHint("Give your own agent id as %s.", field)
		}
		return caller.Lock, nil
	}
	agent, err := ParseAgentID(field, *given)
	if err != nil {
		return "", err
	}
	if caller.Lock != "" && agent != caller.Lock {
		return "", IdentityMismatch(field, agent, caller.Lock)
	}
	return agent, nil
}

// parseVerdict returns the kind of transition that a verdict asks for.
func parseVerdict(verdict string) (Kind, error) {
	switch kind := Kind(verdict); kind {
	case KindVerified, KindRejected:
		return kind, nil
	case KindCreated, KindClaimed:
	}
	return "", InvalidArgument(fieldVerdict, "is %s; it must be verified or rejected", quote(verdict))
}
