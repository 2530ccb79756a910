package storetest

// taskRow is a new task's row up to its status.
const taskRow = `INSERT INTO tasks VALUES ('{N}', 't', `

// Invariants 4 and 6: a task's row moves with a transition only.
func onRows() []attack {
	backward := []string{"tasks_forward_only", "tasks_immutable", "tasks_follow_transition"}
	return []attack{
		{name: "a claim without a transition", text: `UPDATE tasks SET status = 'claimed', claimed_by = 'mallory', claimed_at = 5, updated_at = 5 WHERE id = '{P}'`, refusedBy: []string{"tasks_follow_transition"}},
		{name: "a verdict without a transition", text: `UPDATE tasks SET status = 'verified', verified_by = 'bob', decided_at = 5, updated_at = 5 WHERE id = '{C}'`, refusedBy: []string{"tasks_follow_transition"}},
		{name: "a verdict of NULL", text: `UPDATE tasks SET status = 'verified', verified_by = NULL, decided_at = 5, updated_at = 5 WHERE id = '{C}'`, refusedBy: []string{"tasks_follow_transition"}},
		{name: "a verdict from pending", text: `UPDATE tasks SET status = 'verified', verified_by = 'bob', decided_at = 5, updated_at = 5 WHERE id = '{P}'`, refusedBy: backward},
		{name: "a claim taken back", text: `UPDATE tasks SET status = 'pending', claimed_by = NULL, claimed_at = NULL, updated_at = created_at WHERE id = '{C}'`, refusedBy: backward},
		{name: "a prover exchanged", text: `UPDATE tasks SET claimed_by = 'mallory' WHERE id = '{C}'`, refusedBy: backward},
		{name: "a prover exchanged with the verdict", peel: []string{"tasks_follow_transition"}, text: `UPDATE tasks SET status = 'verified', claimed_by = 'mallory', verified_by = 'bob', decided_at = 5, updated_at = 5 WHERE id = '{C}'`, refusedBy: []string{"tasks_immutable"}},
		{name: "a title changed", peel: []string{"tasks_forward_only", "tasks_follow_transition"}, text: `UPDATE tasks SET title = 'other' WHERE id = '{P}'`, refusedBy: []string{"tasks_immutable"}},
		{name: "a rejection turned", text: `UPDATE tasks SET status = 'verified' WHERE id = '{R}'`, refusedBy: backward},
		{name: "a rejection turned, unguarded", peel: []string{"tasks_follow_transition"}, text: `UPDATE tasks SET status = 'verified' WHERE id = '{R}'`, refusedBy: []string{"tasks_forward_only"}},
		{name: "a terminal row touched", text: `UPDATE tasks SET updated_at = updated_at WHERE id = '{V}'`, refusedBy: backward},
		{name: "an id exchanged", text: `UPDATE tasks SET id = '{N}' WHERE id = '{P}'`, refusedBy: backward},
		{name: "an id moved over another", only: sqlite, text: `UPDATE OR REPLACE tasks SET id = '{V}' WHERE id = '{P}'`, refusedBy: backward},
		{name: "a task deleted", text: `DELETE FROM tasks WHERE id = '{P}'`, refusedBy: []string{"tasks_no_delete"}},
		{name: "a task replaced", only: sqlite, text: `INSERT OR REPLACE INTO tasks VALUES ('{V}', 't', 'pending', 'alice', {V AT}, NULL, NULL, NULL, NULL, {V AT}, 2, NULL)`, refusedBy: []string{"tasks_no_replace"}},
		{name: "a task twice", only: postgres, text: `INSERT INTO tasks VALUES ('{V}', 't', 'pending', 'alice', {V AT}, NULL, NULL, NULL, NULL, {V AT}, 2, NULL)`, refusedBy: []string{"tasks_key"}},
		{name: "a task twice", only: sqlite, peel: []string{"tasks_no_replace"}, text: `INSERT INTO tasks VALUES ('{V}', 't', 'pending', 'alice', {V AT}, NULL, NULL, NULL, NULL, {V AT}, 2, NULL)`, refusedBy: []string{"tasks_key"}},
		{name: "a task upserted", text: `INSERT INTO tasks VALUES ('{V}', 't', 'pending', 'alice', {V AT}, NULL, NULL, NULL, NULL, {V AT}, 2, NULL) ON CONFLICT (id) DO UPDATE SET status = 'pending'`, refusedBy: append([]string{"tasks_no_replace"}, backward...)},
		{name: "tasks truncated", only: postgres, peel: []string{"criteria_no_truncate", "transitions_no_truncate"}, text: `TRUNCATE tasks CASCADE`, refusedBy: []string{"tasks_no_truncate"}},
	}
}

// The birth of a task.
func onBirth() []attack {
	return []attack{
		{name: "a task without its creation", text: `{CRITERION} ` + taskRow + `'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_need_transition"}},
		{name: "a task of another creator", text: `{BIRTH} ` + taskRow + `'pending', 'alice', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_need_transition"}},
		{name: "a task of another time", text: `{BIRTH} ` + taskRow + `'pending', 'mallory', 6, NULL, NULL, NULL, NULL, 6, 1, NULL)`, refusedBy: []string{"tasks_need_transition"}},
		{name: "a task born verified", text: `{BIRTH} ` + taskRow + `'verified', 'mallory', 5, 'mallory', 5, 'bob', 5, 5, 1, NULL)`, refusedBy: []string{"tasks_born_pending"}},
		{name: "a task born claimed by NULL", text: `{BIRTH} ` + taskRow + `'claimed', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_born_pending"}},
		{name: "a task of another status", peel: []string{"tasks_born_pending"}, text: `{BIRTH} ` + taskRow + `'done', 'mallory', 5, 'mallory', 5, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_status"}},
		{name: "a pending task with a prover", peel: []string{"tasks_born_pending"}, text: `{BIRTH} ` + taskRow + `'pending', 'mallory', 5, 'mallory', NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_claim"}},
		{name: "a verified task without a verifier", peel: []string{"tasks_born_pending"}, text: `{BIRTH} ` + taskRow + `'verified', 'mallory', 5, 'mallory', 5, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_verdict"}},
		{name: "a task changed before it was created", text: `{BIRTH} ` + taskRow + `'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 4, 1, NULL)`, refusedBy: []string{"tasks_updated_at"}},
		{name: "a task without a title", text: `{BIRTH} INSERT INTO tasks VALUES ('{N}', ' ` + "\u3000" + `', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_title"}},
		{name: "an id in capitals", text: `INSERT INTO criteria VALUES ('{U}', 1, 'c');
INSERT INTO transitions VALUES ('{U}', 1, 'created', NULL, 'pending', 'mallory', 'process', 'p', 5, '', 'b', '{D}', NULL, NULL);
INSERT INTO tasks VALUES ('{U}', 't', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_id"}},
		{name: "the same id in other capitals", text: `INSERT INTO criteria VALUES (upper('{V}'), 1, 'c');
INSERT INTO transitions VALUES (upper('{V}'), 1, 'created', NULL, 'pending', 'mallory', 'process', 'p', 5, '', 'b', '{D}', NULL, NULL);
INSERT INTO tasks VALUES (upper('{V}'), 't', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_id"}},
	}
}

// The lineage.
func onLineage() []attack {
	const successor = `{BIRTH} ` + taskRow + `'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, `
	return []attack{
		{name: "a successor of nothing", text: successor + `'01890000-0000-7000-8000-000000000000')`, refusedBy: []string{"tasks_supersede_existing"}},
		{name: "a successor of itself", text: successor + `'{N}')`, refusedBy: []string{"tasks_supersede_existing"}},
		{name: "a successor of nothing, unguarded", keys: true, peel: []string{"tasks_supersede_existing"}, text: successor + `'01890000-0000-7000-8000-000000000000')`, refusedBy: []string{"tasks_supersedes"}},
		{name: "a successor of a pending task", text: successor + `'{P}')`, refusedBy: []string{"tasks_supersede_rejected"}},
		{name: "a successor of a verified task", text: successor + `'{V}')`, refusedBy: []string{"tasks_supersede_rejected"}},
		{name: "a second successor", only: postgres, text: successor + `'{O}')`, refusedBy: []string{"tasks_one_successor"}},
		{name: "a second successor in place of the first", only: sqlite, text: `{BIRTH} INSERT OR REPLACE INTO tasks VALUES ('{N}', 't', 'pending', 'mallory', 5, NULL, NULL, NULL, NULL, 5, 1, '{O}')`, refusedBy: []string{"tasks_no_successor_replace"}},
		{name: "a second successor, unguarded", only: sqlite, peel: []string{"tasks_no_successor_replace"}, text: successor + `'{O}')`, refusedBy: []string{"tasks_one_successor"}},
	}
}

// Switches that a foreign client can turn; setting is made first.
func onSwitches() []attack {
	selfVerdict := verdictOn("{C}", "verified", "alice") + `''` + withoutKey
	return []attack{
		{name: "the prover's verdict without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`, text: `INSERT ` + selfVerdict, refusedBy: []string{"transitions_prover_is_not_verifier"}},
		{name: "a reopening without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`, text: `INSERT INTO transitions VALUES ('{R}', 4, 'reopened', 'rejected', 'pending', 'mallory', 'process', 'p', 5, ''` + withoutKey, refusedBy: []string{"tasks_forward_only", "tasks_follow_transition"}},
		{name: "a birth with a prover, without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`, text: `{BIRTH} ` + taskRow + `'pending', 'mallory', 5, 'alice', 5, NULL, NULL, 5, 1, NULL)`, refusedBy: []string{"tasks_born_pending"}},
		{name: "a deletion with recursive triggers off", only: sqlite, setting: `PRAGMA recursive_triggers = OFF`, text: `DELETE FROM transitions WHERE task_id = '{C}'`, refusedBy: []string{"transitions_no_delete"}},
		{name: "a refusal ignored", only: sqlite, text: `INSERT OR IGNORE ` + selfVerdict, refusedBy: []string{"transitions_prover_is_not_verifier"}},
		{name: "a refusal that fails halfway", only: sqlite, text: `INSERT OR FAIL ` + selfVerdict, refusedBy: []string{"transitions_prover_is_not_verifier"}},
		{name: "a projection ignored, unguarded", only: sqlite, peel: []string{"transitions_prover_is_not_verifier"}, text: `INSERT OR IGNORE ` + selfVerdict, refusedBy: []string{"transitions_project"}},
		{name: "an update ignored", only: sqlite, text: `UPDATE OR IGNORE tasks SET status = 'verified' WHERE id = '{R}'`, refusedBy: []string{"tasks_forward_only", "tasks_follow_transition"}},
		{name: "a rewind as a replica", only: postgres, setting: `SET session_replication_role = replica`, text: `UPDATE tasks SET status = 'pending', claimed_by = NULL, claimed_at = NULL, updated_at = created_at WHERE id = '{C}'`, refusedBy: []string{"tasks_forward_only", "tasks_immutable", "tasks_follow_transition"}},
		{name: "a birth without criteria as a replica", only: postgres, setting: `SET session_replication_role = replica`, text: birthTransition[:len(birthTransition)-1], refusedBy: []string{"transitions_need_criteria"}},
		{name: "a temporary table in place of the criteria", only: postgres, text: `CREATE TEMPORARY TABLE criteria AS SELECT '{N}'::text AS task_id, 1 AS number, 'c'::text AS text; ` + birthTransition, refusedBy: []string{"transitions_need_criteria"}},
		{name: "a search path elsewhere", only: postgres, setting: `SET search_path = pg_catalog`, text: `UPDATE public.tasks SET status = 'claimed', claimed_by = 'mallory', claimed_at = 5, updated_at = 5 WHERE id = '{P}'`, refusedBy: []string{"tasks_follow_transition"}},
	}
}
