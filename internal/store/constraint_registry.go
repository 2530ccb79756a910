package store

import "github.com/countersign-dev/countersign/internal/fault"

// ofRegistry are the rules of the registry. Callers cannot break any of them
// through this package.
func ofRegistry() []Constraint {
	var rules []Constraint
	add := func(only string, names ...string) {
		for _, name := range names {
			rules = append(rules, Constraint{name, fault.Internal, only})
		}
	}
	add("",
		"results_key", "results_id", "results_probed_at", "results_outcome", "results_causes", "results_degraded",
		"results_latency", "results_proof", "results_bytes", "results_kind", "results_mcp_server_passed",
		"results_no_update", "results_keep_newest",
		"components_key", "components_name", "components_registration", "components_newest", "components_settled",
		"components_outcomes", "components_causes", "components_flags", "components_accepted",
		"components_follow_result", "components_follow_newer_result",
		"tool_lists_key", "tool_lists_digest", "tool_lists_tools",
		"hours_key", "hours_start", "hours_counts", "hours_latency", "hours_bytes",
		"changes_key", "changes_at", "changes_step", "changes_causes", "changes_follow_result", "changes_no_update", "changes_no_delete",
		"preflights_key", "preflights_run", "preflights_slots", "preflights_flag", "preflights_ticket", "preflights_bytes",
		"preflights_allowed", "preflights_no_update",
		"leases_key", "leases_numbers", "leases_forward_only", "leases_no_delete",
		"results_model_passed", "results_harness_passed", "results_knowledge_base_passed", "token_days_key", "token_days_counts",
		"history_key", "history_single", "history_bytes")
	add(dialectSQLite, "results_no_replace", "changes_no_replace", "preflights_no_replace", "leases_no_replace")
	add(dialectPostgres, "results_no_truncate", "changes_no_truncate", "leases_no_truncate")
	return rules
}
