package storetest

import "slices"

// What a legal birth begins with; {N} is the new task.
const (
	birthCriterion  = `INSERT INTO criteria VALUES ('{N}', 1, 'c');`
	birthTransition = `INSERT INTO transitions VALUES ('{N}', 1, 'created', NULL, 'pending', 'mallory', 'process', 'p', 5, '', 'b', '{D}', NULL, NULL);`
)

// claimBy is a transition claimed of a task, up to its text.
func claimBy(id, agent string) string {
	return `INTO transitions VALUES ('` + id + `', 2, 'claimed', 'pending', 'claimed', '` + agent + `', 'process', 'p', 5, `
}

// verdictOn is a verdict up to its text.
func verdictOn(id, kind, agent string) string {
	return `INTO transitions VALUES ('` + id + `', 3, '` + kind + `', 'claimed', '` + kind + `', '` + agent + `', 'process', 'p', 5, `
}

// withoutKey ends a transition.
const withoutKey = `, 'b', '{D}', NULL, NULL)`

func allAttacks() []attack {
	return slices.Concat(onCriteria(), onSteps(), onTexts(), onHistory(), onRows(), onBirth(), onLineage(), onSwitches(), onRegistry(), onAlerts(), onFeed())
}

// Invariant 1: criteria at birth.
func onCriteria() []attack {
	return []attack{
		{name: "a criterion added later", text: `INSERT INTO criteria VALUES ('{P}', 3, 'later')`, refusedBy: []string{"criteria_at_birth"}},
		{name: "a criterion edited", text: `UPDATE criteria SET text = 'easier' WHERE task_id = '{P}'`, refusedBy: []string{"criteria_no_update"}},
		{name: "a criterion moved over another", only: sqlite, text: `UPDATE OR REPLACE criteria SET number = 1 WHERE task_id = '{P}' AND number = 2`, refusedBy: []string{"criteria_no_update"}},
		{name: "a criterion deleted", text: `DELETE FROM criteria WHERE task_id = '{P}' AND number = 2`, refusedBy: []string{"criteria_no_delete"}},
		{name: "a criterion replaced", only: sqlite, text: `INSERT OR REPLACE INTO criteria VALUES ('{P}', 1, 'easier')`, refusedBy: []string{"criteria_at_birth", "criteria_no_replace"}},
		{name: "a criterion replaced, unguarded", only: sqlite, peel: []string{"criteria_at_birth"}, text: `INSERT OR REPLACE INTO criteria VALUES ('{P}', 1, 'easier')`, refusedBy: []string{"criteria_no_replace"}},
		{name: "a criterion twice", only: sqlite, peel: []string{"criteria_at_birth", "criteria_no_replace"}, text: `INSERT INTO criteria VALUES ('{P}', 1, 'easier')`, refusedBy: []string{"criteria_key"}},
		{name: "a criterion twice", only: postgres, peel: []string{"criteria_at_birth"}, text: `INSERT INTO criteria VALUES ('{P}', 1, 'easier')`, refusedBy: []string{"criteria_key"}},
		{name: "a criterion upserted", text: `INSERT INTO criteria VALUES ('{P}', 1, 'x') ON CONFLICT (task_id, number) DO UPDATE SET text = 'easier'`, refusedBy: []string{"criteria_at_birth", "criteria_no_replace"}},
		{name: "a blank criterion", text: `INSERT INTO criteria VALUES ('{N}', 1, '` + "\u2003\t" + `')`, refusedBy: []string{"criteria_text"}},
		{name: "criterion zero", text: `INSERT INTO criteria VALUES ('{N}', 0, 'c')`, refusedBy: []string{"criteria_number"}},
		{name: "a criterion without a task", keys: true, text: `INSERT INTO criteria VALUES ('{N}', 1, 'c')`, refusedBy: []string{"criteria_task"}},
		{name: "criteria truncated", only: postgres, text: `TRUNCATE criteria`, refusedBy: []string{"criteria_no_truncate"}},
		{name: "everything truncated", only: postgres, text: `TRUNCATE tasks, criteria, transitions`, refusedBy: []string{"criteria_no_truncate", "transitions_no_truncate", "tasks_no_truncate"}},
		{name: "a birth without criteria", text: birthTransition[:len(birthTransition)-1], refusedBy: []string{"transitions_need_criteria"}},
		{name: "a task with more criteria than it has", text: `{BIRTH} INSERT INTO tasks VALUES ('{N}', 't', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 2, NULL)`, refusedBy: []string{"tasks_need_criteria"}},
		{name: "a task without any criterion", peel: []string{"tasks_need_criteria", "tasks_need_transition"}, text: `INSERT INTO tasks VALUES ('{N}', 't', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 0, NULL)`, refusedBy: []string{"tasks_criteria_count"}},
	}
}

// Invariants 3 and 4: who may give a verdict, and forward only.
func onSteps() []attack {
	return []attack{
		{name: "a verdict of the prover", text: `INSERT ` + verdictOn("{C}", "verified", "alice") + `''` + withoutKey, refusedBy: []string{"transitions_prover_is_not_verifier"}},
		{name: "a rejection of the prover", text: `INSERT ` + verdictOn("{C}", "rejected", "alice") + `'n'` + withoutKey, refusedBy: []string{"transitions_prover_is_not_verifier"}},
		{name: "a verdict of the prover, unguarded", peel: []string{"transitions_prover_is_not_verifier"}, text: `INSERT ` + verdictOn("{C}", "verified", "alice") + `''` + withoutKey, refusedBy: []string{"tasks_prover_is_not_verifier"}},
		{name: "a verdict of the prover in capitals", text: `INSERT ` + verdictOn("{C}", "verified", "Alice") + `''` + withoutKey, refusedBy: []string{"transitions_agent"}},
		{name: "a verdict of nobody", text: `INSERT INTO transitions VALUES ('{C}', 3, 'verified', 'claimed', 'verified', NULL, 'process', 'p', 5, ''` + withoutKey, refusedBy: []string{"not_null"}},
		{name: "a verdict before the claim", text: `INSERT ` + verdictOn("{P}", "verified", "bob") + `''` + withoutKey, refusedBy: []string{"transitions_follow_task"}},
		{name: "a second claim", text: `INSERT ` + claimBy("{C}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_follow_task", "transitions_no_replace"}},
		{name: "a second verdict", text: `INSERT ` + verdictOn("{V}", "rejected", "mallory") + `'n'` + withoutKey, refusedBy: []string{"transitions_follow_task", "transitions_no_replace"}},
		{name: "a claim of an unknown task", text: `INSERT ` + claimBy("{N}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_follow_task"}},
		{name: "a claim of an unknown task, unguarded", peel: []string{"transitions_follow_task"}, text: `INSERT ` + claimBy("{N}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_project"}},
		{name: "a reopening", text: `INSERT INTO transitions VALUES ('{R}', 4, 'reopened', 'rejected', 'pending', 'mallory', 'process', 'p', 5, ''` + withoutKey, refusedBy: []string{"transitions_step"}},
		{name: "a verdict from pending", text: `INSERT INTO transitions VALUES ('{P}', 3, 'verified', 'pending', 'verified', 'mallory', 'process', 'p', 5, ''` + withoutKey, refusedBy: []string{"transitions_step"}},
		{name: "a claim from nowhere", peel: []string{"transitions_follow_task"}, text: `INSERT INTO transitions VALUES ('{P}', 2, 'claimed', NULL, 'claimed', 'mallory', 'process', 'p', 5, 'e'` + withoutKey, refusedBy: []string{"transitions_step"}},
		{name: "an agent of 65 characters", text: `INSERT ` + claimBy("{P}", "a2345678901234567890123456789012345678901234567890123456789012345") + `'e'` + withoutKey, refusedBy: []string{"transitions_agent"}},
		{name: "an agent that begins with a hyphen", text: `INSERT ` + claimBy("{P}", "-a") + `'e'` + withoutKey, refusedBy: []string{"transitions_agent"}},
		{name: "an agent with a letter beyond ASCII", text: `INSERT ` + claimBy("{P}", "aé") + `'e'` + withoutKey, refusedBy: []string{"transitions_agent"}},
		{name: "an agent with a line feed", text: `INSERT ` + claimBy("{P}", "mallory\n") + `'e'` + withoutKey, refusedBy: []string{"transitions_agent"}},
		{name: "an agent that hides behind a NUL", only: sqlite, text: `INSERT ` + claimBy("{P}", `mallory' || char(0) || 'A`) + `'e'` + withoutKey, refusedBy: []string{"transitions_agent"}},
	}
}

// Invariant 2: what a claim and a verdict must say.
func onTexts() []attack {
	return []attack{
		{name: "a claim without evidence", text: `INSERT ` + claimBy("{P}", "mallory") + `'` + "\u00a0 " + `'` + withoutKey, refusedBy: []string{"transitions_evidence"}},
		{name: "a rejection without notes", text: `INSERT ` + verdictOn("{C}", "rejected", "bob") + `''` + withoutKey, refusedBy: []string{"transitions_notes"}},
		{name: "a creation with a text", text: `{CRITERION} INSERT INTO transitions VALUES ('{N}', 1, 'created', NULL, 'pending', 'mallory', 'process', 'p', 5, 'text'` + withoutKey, refusedBy: []string{"transitions_creation_text"}},
		{name: "a transition without a body", text: `INSERT ` + claimBy("{P}", "mallory") + `'e', '', '{D}', NULL, NULL)`, refusedBy: []string{"transitions_body"}},
		{name: "a transition with a digest in capitals", text: `INSERT ` + claimBy("{P}", "mallory") + `'e', 'b', upper('{D}'), NULL, NULL)`, refusedBy: []string{"transitions_digest"}},
		{name: "a transition before 1970", text: `INSERT INTO transitions VALUES ('{P}', 2, 'claimed', 'pending', 'claimed', 'mallory', 'process', 'p', -1, 'e'` + withoutKey, refusedBy: []string{"transitions_at"}},
		{name: "a transition of no principal", text: `INSERT INTO transitions VALUES ('{P}', 2, 'claimed', 'pending', 'claimed', 'mallory', 'process', ' ', 5, 'e'` + withoutKey, refusedBy: []string{"transitions_principal"}},
		{name: "a key without content", text: `INSERT ` + claimBy("{P}", "mallory") + `'e', 'b', '{D}', 'key', NULL)`, refusedBy: []string{"transitions_idempotency"}},
		{name: "a key used again", only: postgres, text: `INSERT ` + claimBy("{P}", "alice") + `'e', 'b', '{D}', 'used', 'other')`, refusedBy: []string{"transitions_idempotency_once"}},
		{name: "a key taken over", only: sqlite, text: `INSERT OR REPLACE ` + claimBy("{P}", "alice") + `'e', 'b', '{D}', 'used', 'other')`, refusedBy: []string{"transitions_no_key_replace"}},
		{name: "a key used again, unguarded", only: sqlite, peel: []string{"transitions_no_key_replace"}, text: `INSERT ` + claimBy("{P}", "alice") + `'e', 'b', '{D}', 'used', 'other')`, refusedBy: []string{"transitions_idempotency_once"}},
	}
}

// Invariant 6: the history.
func onHistory() []attack {
	return []attack{
		{name: "a transition edited", text: `UPDATE transitions SET agent_id = 'mallory' WHERE task_id = '{C}' AND number = 2`, refusedBy: []string{"transitions_no_update"}},
		{name: "a transition moved over another", only: sqlite, text: `UPDATE OR REPLACE transitions SET number = 2 WHERE task_id = '{V}' AND number = 3`, refusedBy: []string{"transitions_no_update"}},
		{name: "a transition deleted", text: `DELETE FROM transitions WHERE task_id = '{V}' AND number = 3`, refusedBy: []string{"transitions_no_delete"}},
		{name: "a transition replaced", only: sqlite, text: `INSERT OR REPLACE ` + claimBy("{C}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_no_replace", "transitions_follow_task"}},
		{name: "a transition replaced, unguarded", only: sqlite, peel: []string{"transitions_follow_task"}, text: `INSERT OR REPLACE ` + claimBy("{C}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_no_replace"}},
		{name: "a transition twice", only: sqlite, peel: []string{"transitions_follow_task", "transitions_no_replace"}, text: `INSERT ` + claimBy("{C}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_key"}},
		{name: "a transition twice", only: postgres, peel: []string{"transitions_follow_task"}, text: `INSERT ` + claimBy("{C}", "mallory") + `'e'` + withoutKey, refusedBy: []string{"transitions_key"}},
		{name: "a creation twice", text: `INSERT INTO transitions VALUES ('{P}', 1, 'created', NULL, 'pending', 'mallory', 'process', 'p', 5, ''` + withoutKey, refusedBy: []string{"transitions_key", "transitions_no_replace"}},
		{name: "a transition upserted", text: `INSERT ` + claimBy("{C}", "mallory") + `'e'` + withoutKey + ` ON CONFLICT (task_id, number) DO UPDATE SET agent_id = 'mallory'`, refusedBy: []string{"transitions_follow_task", "transitions_no_replace"}},
		{name: "transitions truncated", only: postgres, text: `TRUNCATE transitions`, refusedBy: []string{"transitions_no_truncate"}},
		{name: "a creation without its task", keys: true, peel: []string{"transitions_need_criteria"}, text: birthTransition[:len(birthTransition)-1], refusedBy: []string{"transitions_task"}},
		{name: "a second heartbeat", text: `INSERT INTO heartbeat VALUES (2, 0)`, refusedBy: []string{"heartbeat_single"}},
		{name: "the heartbeat twice", text: `INSERT INTO heartbeat VALUES (1, 0)`, refusedBy: []string{"heartbeat_key"}},
	}
}
