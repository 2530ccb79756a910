package task

// Names of the arguments, as the tools have them.
const (
	fieldTitle        = "title"
	fieldCriteria     = "acceptance_criteria"
	fieldCreatedBy    = "created_by"
	fieldSupersedes   = "supersedes"
	fieldKey          = "idempotency_key"
	fieldTaskID       = "task_id"
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
)
