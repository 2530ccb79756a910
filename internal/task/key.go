package task

import "fmt"

// The three functions below make the idempotency key of a call: the caller's
// key and a hash of the normalised arguments without it, so that the same call
// spelled in another way is the same call. They return nil without a key.

func createKey(request CreateRequest, agent AgentID, supersedes ID) (*IdempotencyKey, error) {
	return contentKey(request.IdempotencyKey, struct {
		Title      string   `json:"title"`
		Criteria   []string `json:"acceptance_criteria"`
		CreatedBy  AgentID  `json:"created_by"`
		Supersedes ID       `json:"supersedes,omitempty"`
	}{request.Title, request.AcceptanceCriteria, agent, supersedes})
}

func claimKey(request ClaimRequest, agent AgentID, id ID) (*IdempotencyKey, error) {
	return contentKey(request.IdempotencyKey, struct {
		TaskID   ID      `json:"task_id"`
		AgentID  AgentID `json:"agent_id"`
		Evidence string  `json:"evidence"`
	}{id, agent, request.Evidence})
}

func verdictKey(request VerifyRequest, agent AgentID, id ID) (*IdempotencyKey, error) {
	return contentKey(request.IdempotencyKey, struct {
		TaskID   ID      `json:"task_id"`
		Verifier AgentID `json:"verifier_agent_id"`
		Verdict  string  `json:"verdict"`
		Notes    string  `json:"notes,omitempty"`
	}{id, agent, request.Verdict, request.Notes})
}

func contentKey(key *string, arguments any) (*IdempotencyKey, error) {
	if key == nil {
		return nil, nil
	}
	canonical, err := canonicalJSON(arguments)
	if err != nil {
		return nil, fmt.Errorf("hash the arguments of idempotency key %q: %w", clip(*key), err)
	}
	return &IdempotencyKey{Key: *key, Content: hashText(string(canonical))}, nil
}
