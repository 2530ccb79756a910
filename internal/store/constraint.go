package store

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// Constraint is a named rule of the schema and the fault that its violation is.
// Internal marks the rules that no caller can break through this package: they
// stop a defect, or somebody with a SQL prompt. A rule stands in both schemas
// unless Only names its dialect.
type Constraint struct {
	Name string
	Code fault.Code
	Only string
}

// Constraints returns every named constraint and trigger of the schemas. Those
// for SQLite only guard against REPLACE, which fires no delete trigger; those
// for PostgreSQL only guard against TRUNCATE.
func Constraints() []Constraint {
	return slices.Concat(ofCriteria(), ofTransitions(), ofTasks(), ofHeartbeat(), ofRegistry(), ofFeed(), ofAlerts())
}

func ofCriteria() []Constraint {
	return []Constraint{
		{"criteria_key", fault.Internal, ""},
		{"criteria_task", fault.Internal, ""},
		{"criteria_number", fault.Internal, ""},
		{"criteria_text", fault.EmptyCriteria, ""},
		{"criteria_at_birth", fault.Internal, ""},
		{"criteria_no_replace", fault.Internal, dialectSQLite},
		{"criteria_no_update", fault.Internal, ""},
		{"criteria_no_delete", fault.Internal, ""},
		{"criteria_no_truncate", fault.Internal, dialectPostgres},
	}
}

func ofTransitions() []Constraint {
	return []Constraint{
		{"transitions_key", fault.Internal, ""},
		{"transitions_task", fault.Internal, ""},
		{"transitions_step", fault.Internal, ""},
		{"transitions_agent", fault.InvalidAgentID, ""},
		{"transitions_principal", fault.Internal, ""},
		{"transitions_at", fault.Internal, ""},
		{"transitions_creation_text", fault.Internal, ""},
		{"transitions_evidence", fault.EmptyEvidence, ""},
		{"transitions_notes", fault.MissingNotes, ""},
		{"transitions_body", fault.Internal, ""},
		{"transitions_digest", fault.Internal, ""},
		{"transitions_idempotency", fault.Internal, ""},
		{"transitions_idempotency_once", fault.IdempotencyConflict, ""},
		{"transitions_need_criteria", fault.EmptyCriteria, ""},
		{"transitions_follow_task", fault.WrongState, ""},
		{"transitions_prover_is_not_verifier", fault.SelfVerify, ""},
		{"transitions_project", fault.Internal, ""},
		{"transitions_no_replace", fault.Internal, dialectSQLite},
		{"transitions_no_key_replace", fault.IdempotencyConflict, dialectSQLite},
		{"transitions_no_update", fault.Internal, ""},
		{"transitions_no_delete", fault.Internal, ""},
		{"transitions_no_truncate", fault.Internal, dialectPostgres},
	}
}

func ofTasks() []Constraint {
	return []Constraint{
		{"tasks_key", fault.Internal, ""},
		{"tasks_id", fault.Internal, ""},
		{"tasks_title", fault.InvalidArgument, ""},
		{"tasks_status", fault.Internal, ""},
		{"tasks_claim", fault.Internal, ""},
		{"tasks_verdict", fault.Internal, ""},
		{"tasks_prover_is_not_verifier", fault.SelfVerify, ""},
		{"tasks_updated_at", fault.Internal, ""},
		{"tasks_criteria_count", fault.EmptyCriteria, ""},
		{"tasks_supersedes", fault.NotFound, ""},
		{"tasks_one_successor", fault.AlreadySuperseded, ""},
		{"tasks_born_pending", fault.Internal, ""},
		{"tasks_need_criteria", fault.EmptyCriteria, ""},
		{"tasks_need_transition", fault.Internal, ""},
		{"tasks_supersede_existing", fault.NotFound, ""},
		{"tasks_supersede_rejected", fault.WrongState, ""},
		{"tasks_no_replace", fault.Internal, dialectSQLite},
		{"tasks_no_successor_replace", fault.AlreadySuperseded, dialectSQLite},
		{"tasks_immutable", fault.Internal, ""},
		{"tasks_forward_only", fault.Internal, ""},
		{"tasks_follow_transition", fault.Internal, ""},
		{"tasks_no_delete", fault.Internal, ""},
		{"tasks_no_truncate", fault.Internal, dialectPostgres},
	}
}

func ofHeartbeat() []Constraint {
	return []Constraint{
		{"heartbeat_key", fault.Internal, ""},
		{"heartbeat_single", fault.Internal, ""},
	}
}

// uniqueColumns names the unique keys that SQLite reports by their columns only.
func uniqueColumns() map[string]string {
	return map[string]string{
		"criteria.task_id, criteria.number":                                     "criteria_key",
		"transitions.task_id, transitions.number":                               "transitions_key",
		"transitions.agent_id, transitions.number, transitions.idempotency_key": "transitions_idempotency_once",
		"tasks.id":         "tasks_key",
		"tasks.supersedes": "tasks_one_successor",
		"heartbeat.id":     "heartbeat_key",

		"results.id":                   "results_key",
		"components.name":              "components_key",
		"tool_lists.digest":            "tool_lists_key",
		"hours.start, hours.component": "hours_key",
		"changes.number":               "changes_key",
		"preflights.run, preflights.at, preflights.digest": "preflights_key",
		"leases.name": "leases_key",
		"history.id":  "history_key",

		"token_days.component, token_days.day": "token_days_key",

		"alerts.name": "alerts_key",
		"alert_deliveries.receiver, alert_deliveries.name": "alert_deliveries_key",
		"alert_position.id": "alert_position_key",

		"feed.number":                  "feed_key",
		"totals.id":                    "totals_key",
		"latencies.seconds":            "latencies_key",
		"agents.id":                    "agents_key",
		"pairs.prover, pairs.verifier": "pairs_key",
	}
}

// codeOf returns the code of a named constraint, Internal for an unknown name.
func codeOf(name string) fault.Code {
	for _, known := range Constraints() {
		if known.Name == name {
			return known.Code
		}
	}
	return fault.Internal
}

// Violated returns the name of the constraint or trigger of the schema that
// refused a statement with err, empty when err is no such refusal.
func (d *Database) Violated(err error) string { return d.dialect.violated(err) }

// refusal returns the fault of a record that the constraint called name refused,
// for the refusals that the record alone explains; the state of a task is
// explained by reading it.
func refusal(name string, record task.Record, cause error) error {
	switch code := codeOf(name); code {
	case fault.EmptyCriteria:
		return task.EmptyCriteria("acceptance_criteria").WithCause(cause)
	case fault.EmptyEvidence:
		return task.EmptyEvidence().WithCause(cause)
	case fault.MissingNotes:
		return task.MissingNotes(record.TaskID).WithCause(cause)
	case fault.InvalidAgentID:
		return task.InvalidAgentID("agent_id", string(record.Agent)).WithCause(cause)
	case fault.InvalidArgument:
		return task.InvalidArgument("title", "is blank").WithCause(cause)
	case fault.IdempotencyConflict:
		return task.IdempotencyConflict(record.Key.Key).WithCause(cause)
	case fault.SelfVerify, fault.WrongState, fault.NotFound, fault.AlreadySuperseded, fault.TooLarge,
		fault.IdentityMismatch, fault.Unavailable, fault.Internal:
		return fmt.Errorf("the schema refused transition %s of task %s: %w", record.Kind, record.TaskID, cause)
	}
	return cause
}
