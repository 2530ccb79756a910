package storetest

import "slices"

// onFeed are attacks on the events and on what is counted of them.
func onFeed() []attack {
	return slices.Concat(onSilence(), onEvents(), onTotals(), onTallies())
}

// silenced has the insertions of events come to nothing before a text. On SQLite
// OR IGNORE of that text would have the same effect.
func silenced(only, text string) attack {
	const onSQLite = `CREATE TRIGGER silence BEFORE INSERT ON feed BEGIN SELECT RAISE(IGNORE); END; `
	const onPostgres = `CREATE FUNCTION silence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER silence BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION silence(); `
	if only == sqlite {
		return attack{only: only, text: onSQLite + text}
	}
	return attack{only: only, text: onPostgres + text}
}

// What happens without an event.
func onSilence() []attack {
	var attacks []attack
	for _, only := range []string{sqlite, postgres} {
		for _, silent := range []struct{ name, text, by string }{
			{"a birth without an event", `{BIRTH}`, "transitions_feed"},
			{"a claim without an event", `INSERT ` + claimBy("{P}", "mallory") + `'e'` + withoutKey, "transitions_feed"},
			{"a verdict without an event", `INSERT ` + verdictOn("{C}", "verified", "bob") + `''` + withoutKey, "transitions_feed"},
			{"a change without an event", `INSERT INTO changes (number, component, at, from_status, to_status, causes, result_id) VALUES (99, 'asm', 5, 'available', 'unknown', '[]', '')`, "changes_feed"},
			{"a preflight without an event", `INSERT INTO preflights VALUES ('r', 5, 'd', 0, 1, '[]', NULL)`, "preflights_feed"},
		} {
			a := silenced(only, silent.text)
			a.name, a.refusedBy = silent.name, []string{silent.by}
			attacks = append(attacks, a)
		}
	}
	return attacks
}

// Events of nothing, and those that were stored.
func onEvents() []attack {
	const into = `INTO feed (turn, kind, subject, what, at) VALUES (0, `
	follows := []string{"feed_follows"}
	return []attack{
		{name: "an event of a task that is not there", text: `INSERT ` + into + `'task', '{N}', 'pending', 5)`, refusedBy: follows},
		{name: "an event of a claim that is not there", text: `INSERT ` + into + `'task', '{P}', 'claimed', 5)`, refusedBy: follows},
		{name: "the event of a claim once more", text: `INSERT ` + into + `'task', '{C}', 'claimed', (SELECT claimed_at FROM tasks WHERE id = '{C}'))`, refusedBy: follows},
		{name: "the event of a birth once more", text: `INSERT ` + into + `'task', '{P}', 'pending', (SELECT created_at FROM tasks WHERE id = '{P}'))`, refusedBy: follows},
		{name: "the event of a birth after the claim", text: `INSERT ` + into + `'task', '{C}', 'pending', (SELECT created_at FROM tasks WHERE id = '{C}'))`, refusedBy: follows},
		{name: "an event of a change that is not there", text: `INSERT ` + into + `'component', 'asm', 'unavailable', 5)`, refusedBy: follows},
		{name: "an event of a preflight that is not there", text: `INSERT ` + into + `'run', 'nightly', 'allowed', 5)`, refusedBy: follows},
		{name: "an event of another kind", peel: follows, text: `INSERT ` + into + `'weather', 'x', 'claimed', 5)`, refusedBy: []string{"feed_kind"}},
		{name: "an event with the status of another kind", peel: follows, text: `INSERT ` + into + `'component', 'asm', 'claimed', 5)`, refusedBy: []string{"feed_kind"}},
		{name: "an event before all time", peel: follows, text: `INSERT ` + into + `'component', 'asm', 'available', -5)`, refusedBy: []string{"feed_at"}},
		{name: "an event in another turn", peel: follows, text: `INSERT INTO feed (turn, kind, subject, what, at) VALUES (-1, 'component', 'asm', 'available', 5)`, refusedBy: []string{"feed_position"}},
		{name: "an event far ahead", only: sqlite, peel: follows, text: `INSERT INTO feed VALUES (9000000000000000000, 0, 'component', 'asm', 'available', 5)`, refusedBy: []string{"feed_in_order"}},
		{name: "an event replaced", only: sqlite, peel: follows, text: `INSERT OR REPLACE INTO feed VALUES (1, 0, 'component', 'asm', 'available', 5)`, refusedBy: []string{"feed_no_replace"}},
		{name: "an event twice", only: sqlite, peel: []string{"feed_follows", "feed_no_replace"}, text: `INSERT INTO feed VALUES (1, 0, 'component', 'asm', 'available', 5)`, refusedBy: []string{"feed_key"}},
		{name: "an event twice", only: postgres, peel: follows, text: `INSERT INTO feed SELECT * FROM feed LIMIT 1`, refusedBy: []string{"feed_key"}},
		{name: "an event edited", text: `UPDATE feed SET what = 'verified' WHERE what = 'rejected'`, refusedBy: []string{"feed_no_update"}},
		{name: "an event deleted", text: `DELETE FROM feed WHERE subject = '{C}'`, refusedBy: []string{"feed_keep_newest"}},
		{name: "all events deleted", text: `DELETE FROM feed`, refusedBy: []string{"feed_keep_newest"}},
		{name: "events truncated", only: postgres, text: `TRUNCATE feed`, refusedBy: []string{"feed_no_truncate"}},
	}
}

// The position up to which was counted, and what was counted.
func onTotals() []attack {
	return []attack{
		{name: "a count made up", text: `UPDATE totals SET verified = verified + 1`, refusedBy: []string{"totals_follow_feed"}},
		{name: "a count moved", text: `UPDATE totals SET verified = verified + 1, rejected = rejected - 1`, refusedBy: []string{"totals_follow_feed"}},
		{name: "a count below zero", peel: []string{"totals_follow_feed"}, text: `UPDATE totals SET verified = -1`, refusedBy: []string{"totals_counts"}},
		{name: "everything to be counted again", text: `UPDATE totals SET turn = 0, number = 0`, refusedBy: []string{"totals_forward_only", "totals_follow_feed"}},
		{name: "what comes never to be counted", text: `UPDATE totals SET turn = turn + 1, number = number + 1000000`, refusedBy: []string{"totals_follow_feed"}},
		{name: "a latency taken back", text: `UPDATE totals SET latency_sum = latency_sum - 1`, refusedBy: []string{"totals_forward_only"}},
		{name: "turns that go back", only: postgres, text: `UPDATE totals SET origin = -1`, refusedBy: []string{"totals_forward_only"}},
		{name: "new events to be removed", text: `UPDATE totals SET removed_turn = turn, removed_number = number`, refusedBy: []string{"totals_keep_newest"}},
		{name: "uncounted events to be removed", peel: []string{"totals_keep_newest"}, text: `UPDATE totals SET removed_turn = turn, removed_number = number + 1`, refusedBy: []string{"totals_position"}},
		{name: "other totals", text: `INSERT INTO totals SELECT 2, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0`, refusedBy: []string{"totals_single"}},
		{name: "no totals", text: `DELETE FROM totals`, refusedBy: []string{"totals_no_delete"}},
		{name: "the totals replaced", only: sqlite, text: `INSERT OR REPLACE INTO totals VALUES (1, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0)`, refusedBy: []string{"totals_no_replace"}},
		{name: "the totals twice", only: sqlite, peel: []string{"totals_no_replace"}, text: `INSERT INTO totals VALUES (1, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0)`, refusedBy: []string{"totals_key"}},
		{name: "the totals twice", only: postgres, text: `INSERT INTO totals VALUES (1, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0)`, refusedBy: []string{"totals_key"}},
		{name: "the totals truncated", only: postgres, text: `TRUNCATE totals`, refusedBy: []string{"totals_no_truncate"}},
	}
}

// What was counted of agents, of pairs and of latencies. Table is its own key's
// first column first; taken is a row that is there, wrong one that may not be.
func onTallies() []attack {
	var attacks []attack
	for _, of := range []struct{ table, taken, wrong, less string }{
		{"latencies", `(1, 0)`, `(0, 0)`, `verdicts = verdicts - 1`},
		{"agents", `('alice', 0, 0, 0, 0, 0, 0, 0, 0)`, `('eve', 0, 0, 0, 0, -1, 0, 0, 0)`, `rejected = -1`},
		{"pairs", `('alice', 'bob', 0, 0, 0)`, `('eve', 'eve', 1, 0, 0)`, `rejected = rejected - 1`},
	} {
		again := `INSERT INTO ` + of.table + ` VALUES ` + of.taken
		attacks = append(
			attacks,
			attack{name: of.table + " that cannot be", text: `INSERT INTO ` + of.table + ` VALUES ` + of.wrong, refusedBy: []string{of.table + "_counts"}},
			attack{name: of.table + " counted down", text: `UPDATE ` + of.table + ` SET ` + of.less, refusedBy: []string{of.table + "_forward_only"}},
			attack{name: of.table + " deleted", text: `DELETE FROM ` + of.table, refusedBy: []string{of.table + "_no_delete"}},
			attack{name: of.table + " replaced", only: sqlite, text: `INSERT OR REPLACE INTO ` + of.table + ` VALUES ` + of.taken, refusedBy: []string{of.table + "_no_replace"}},
			attack{name: of.table + " twice", only: sqlite, peel: []string{of.table + "_no_replace"}, text: again, refusedBy: []string{of.table + "_key"}},
			attack{name: of.table + " twice", only: postgres, text: again, refusedBy: []string{of.table + "_key"}},
			attack{name: of.table + " truncated", only: postgres, text: `TRUNCATE ` + of.table, refusedBy: []string{of.table + "_no_truncate"}},
		)
	}
	return attacks
}
