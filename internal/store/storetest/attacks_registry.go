package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// proven is the proof of a pass.
const proven = `{"healthz":true,"test":true,"listTools":true,"toolCount":1}`

// stageRegistry makes a component that passes after a failure (asm), one that
// fails (red) and a preflight, and returns what puts their ids into a text: {K}
// the pass, {F} the failure before it, {RED} that of red, {X} and {Y} new ones,
// {AT} the time of the pass, {PREFLIGHT} the key of the preflight.
func stageRegistry(t *testing.T, db *store.Database) []string {
	t.Helper()
	failed := fail(t, db, "asm", day())
	passed := pass(t, db, "asm", day().Add(time.Minute))
	red := fail(t, db, "red", day())
	preflight := registry.NewPreflight(&registry.Run{Name: "nightly"}, []registry.SlotResult{slotResult(true, true)})
	if err := db.KeepPreflight(t.Context(), day(), &preflight); err != nil {
		t.Fatal(err)
	}
	at := day().Add(time.Minute).UnixMilli()
	return []string{
		"{K}", passed, "{F}", failed, "{RED}", red, "{X}", idAt(day()), "{Y}", idAt(day()), "{AT}", fmt.Sprint(at),
		"{PREFLIGHT}", fmt.Sprintf(`'nightly', %d, (SELECT digest FROM preflights)`, day().UnixMilli()),
	}
}

// aResult inserts a new result of asm.
func aResult(kind, outcome, proof string) string {
	return fmt.Sprintf(`INSERT INTO results VALUES ('{X}', 'asm', '%s', 5, '%s', '[]', '', 0, 5, '%s', 1, NULL)`, kind, outcome, proof)
}

func onRegistry() []attack {
	return slices.Concat(onProofs(), onResults(), onStandings(), onComponents(), onLists(), onChanges(), onPreflights(), onLeases(), onModel(), onHarnesses(), onKnowledgeBases())
}

// A result that says passed beside a proof that does not.
func onProofs() []attack {
	var attacks []attack
	for _, proof := range []string{
		`{"healthz":false,"test":true,"listTools":true,"toolCount":1}`, `{"healthz":true,"test":false,"listTools":true,"toolCount":1}`,
		`{"healthz":true,"test":true,"listTools":false,"toolCount":1}`, `{"healthz":true,"test":true,"listTools":true,"toolCount":0}`,
		`{"test":true,"listTools":true,"toolCount":1}`, `{"healthz":true,"listTools":true,"toolCount":1}`,
		`{"healthz":true,"test":true,"toolCount":1}`, `{"healthz":true,"test":true,"listTools":true}`,
		`{"healthz":"true","test":true,"listTools":true,"toolCount":1}`, `{"healthz":1,"test":true,"listTools":true,"toolCount":1}`,
		`{"healthz":null,"test":true,"listTools":true,"toolCount":1}`, `{"healthz":[true],"test":true,"listTools":true,"toolCount":1}`,
		`{"healthz":true,"test":true,"listTools":true,"toolCount":"1"}`, `{"healthz":true,"test":true,"listTools":true,"toolCount":0.5}`,
		`{"healthz":true,"test":true,"listTools":true,"toolCount":-1}`, `{"healthz":true,"test":true,"listTools":true,"toolCount":null}`,
		`{"healthz":true,"test":true,"listTools":true,"toolCount":true}`, `{"proof":` + proven + `}`, `{"passed":true}`, `{}`, `true`, `null`, `[]`,
		`[` + proven + `]`, `"` + `passed"`,
	} {
		attacks = append(attacks, attack{
			name: "a pass with the proof " + proof, text: aResult("mcp_server", "passed", proof),
			refusedBy: []string{"results_mcp_server_passed", "results_proof"},
		})
	}
	twice := `{"healthz":true,"healthz":false,"test":true,"listTools":true,"toolCount":1}`
	return append(attacks, []attack{
		{name: "a pass with a member twice", only: sqlite, text: aResult("mcp_server", "passed", twice), refusedBy: []string{"results_mcp_server_passed"}},
		{name: "a pass without JSON", only: sqlite, text: aResult("mcp_server", "passed", "true and so on"), refusedBy: []string{"results_mcp_server_passed"}},
		{name: "a pass with JSON of another age", only: sqlite, text: aResult("mcp_server", "passed", `{healthz:true,test:true,listTools:true,toolCount:1}`), refusedBy: []string{"results_mcp_server_passed"}},
		{name: "a pass without a proof, without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`, text: aResult("mcp_server", "passed", `{}`), refusedBy: []string{"results_mcp_server_passed"}},
		{name: "a pass with a proof, ignored", only: sqlite, text: `INSERT OR IGNORE` + aResult("mcp_server", "passed", `{}`)[len("INSERT"):], refusedBy: []string{"results_mcp_server_passed"}},
		{name: "a pass with a proof of NULL", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', 5, 'passed', '[]', '', 0, 5, NULL, 1, NULL)`, refusedBy: []string{"results_mcp_server_passed", "not_null"}},
		{name: "a pass of a kind without a rule", text: aResult("teapot", "passed", proven), refusedBy: []string{"results_kind"}},
		{name: "a pass of a kind in capitals", text: aResult("MCP_SERVER", "passed", `{}`), refusedBy: []string{"results_kind"}},
		{name: "a pass of no kind", text: aResult("", "passed", proven), refusedBy: []string{"results_kind"}},
		{name: "a pass in capitals", text: aResult("mcp_server", "PASSED", `{}`), refusedBy: []string{"results_outcome"}},
	}...)
}

// Rows of results.
func onResults() []attack {
	const end = `, '{}', 1, NULL)`
	return []attack{
		{name: "a result without an outcome", text: aResult("mcp_server", "", `{}`), refusedBy: []string{"results_outcome"}},
		{name: "a failure with a list as its proof", text: aResult("mcp_server", "failed", `[]`), refusedBy: []string{"results_proof"}},
		{name: "a result of another id", text: `INSERT INTO results VALUES ('1', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, 5` + end, refusedBy: []string{"results_id"}},
		{name: "a result of an id of version 4", text: `INSERT INTO results VALUES ('01890000-0000-4000-8000-000000000000', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, 5` + end, refusedBy: []string{"results_id"}},
		{name: "a result before all time", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', -1, 'failed', '[]', '', 0, 5` + end, refusedBy: []string{"results_probed_at"}},
		{name: "a result with one cause", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', 5, 'failed', '"dns"', '', 0, 5` + end, refusedBy: []string{"results_causes"}},
		{name: "a degraded failure", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', 5, 'failed', '[]', '', 1, 5` + end, refusedBy: []string{"results_degraded"}},
		{name: "a result in no time", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, -5` + end, refusedBy: []string{"results_latency"}},
		{name: "a result that needs nothing", text: `INSERT INTO results VALUES ('{X}', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, 5, '{}', 0, NULL)`, refusedBy: []string{"results_bytes"}},
		{name: "a failure made a pass", text: `UPDATE results SET outcome = 'passed', proof = '` + proven + `' WHERE id = '{F}'`, refusedBy: []string{"results_no_update"}},
		{name: "a failure replaced by a pass", only: sqlite, text: `INSERT OR REPLACE INTO results VALUES ('{F}', 'asm', 'mcp_server', 5, 'passed', '[]', '', 0, 5, '` + proven + `', 1, NULL)`, refusedBy: []string{"results_no_replace"}},
		{name: "a failure upserted", text: `INSERT INTO results VALUES ('{F}', 'asm', 'mcp_server', 5, 'passed', '[]', '', 0, 5, '` + proven + `', 1, NULL) ON CONFLICT (id) DO UPDATE SET outcome = 'passed'`, refusedBy: []string{"results_no_replace", "results_no_update"}},
		{name: "a result twice", only: sqlite, peel: []string{"results_no_replace"}, text: `INSERT INTO results VALUES ('{F}', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, 5` + end, refusedBy: []string{"results_key"}},
		{name: "a result twice", only: postgres, text: `INSERT INTO results VALUES ('{F}', 'asm', 'mcp_server', 5, 'failed', '[]', '', 0, 5` + end, refusedBy: []string{"results_key"}},
		{name: "the newest result deleted", text: `DELETE FROM results WHERE id = '{RED}'`, refusedBy: []string{"results_keep_newest"}},
		{name: "results truncated", only: postgres, text: `TRUNCATE results`, refusedBy: []string{"results_no_truncate"}},
		{name: "a failure made a pass as a replica", only: postgres, setting: `SET session_replication_role = replica`, text: `UPDATE results SET outcome = 'passed', proof = '` + proven + `' WHERE id = '{F}'`, refusedBy: []string{"results_no_update"}},
		{name: "a temporary table in place of the results", only: postgres, text: `CREATE TEMPORARY TABLE results AS SELECT '{RED}'::text AS id, 'red'::text AS component, 'passed'::text AS outcome, probed_at, 0 AS degraded FROM public.components WHERE name = 'red'; UPDATE public.components SET settled = 'available', outcome = 'passed', outcomes = 'p' WHERE name = 'red'`, refusedBy: []string{"components_follow_newer_result"}},
	}
}

// What the results of a component add up to.
func onStandings() []attack {
	return []attack{
		{name: "a red component made green", text: `UPDATE components SET settled = 'available', outcome = 'passed', outcomes = 'p' WHERE name = 'red'`, refusedBy: []string{"components_follow_newer_result"}},
		{name: "a red component settled green", text: `UPDATE components SET settled = 'available' WHERE name = 'red'`, refusedBy: []string{"components_settled"}},
		{name: "a red component with the pass of another", text: `UPDATE components SET settled = 'available', outcome = 'passed', outcomes = 'p', result_id = '{K}', probed_at = {AT} WHERE name = 'red'`, refusedBy: []string{"components_follow_newer_result"}},
		{name: "a pass made younger", text: `UPDATE components SET probed_at = probed_at + 3600000 WHERE name = 'asm'`, refusedBy: []string{"components_follow_newer_result"}},
		{name: "a green component renamed", text: `UPDATE components SET name = 'eve' WHERE name = 'asm'`, refusedBy: []string{"components_follow_newer_result"}},
		{name: "a green component replaced", only: sqlite, text: `INSERT OR REPLACE INTO components SELECT 'red', kind, definition, registered_at, settled, streak, outcomes, flapping, changed_at, result_id, probed_at, outcome, causes, reason, degraded, failure_causes, failure_reason, tools_digest, accepted_digest, accepted_at, document FROM components WHERE name = 'asm'`, refusedBy: []string{"components_follow_result"}},
		{name: "a component born green", text: `INSERT INTO components VALUES ('eve', 'mcp_server', 'd', 5, 'available', 0, 'p', 0, NULL, '{Y}', 5, 'passed', '[]', '', 0, '[]', '', '', '', NULL, NULL)`, refusedBy: []string{"components_follow_result"}},
		{name: "a component born settled", text: `INSERT INTO components VALUES ('eve', 'mcp_server', 'd', 5, 'available', 0, '', 0, NULL, NULL, NULL, NULL, '[]', '', 0, '[]', '', '', '', NULL, NULL)`, refusedBy: []string{"components_settled"}},
		{name: "a component of another colour", text: `UPDATE components SET settled = 'green' WHERE name = 'asm'`, refusedBy: []string{"components_settled"}},
		{name: "a green component with a streak", text: `UPDATE components SET streak = 1 WHERE name = 'asm'`, refusedBy: []string{"components_settled"}},
		{name: "a streak below zero", text: `UPDATE components SET settled = 'available', streak = -1 WHERE name = 'red'`, refusedBy: []string{"components_settled"}},
		{name: "a window of too many", text: `UPDATE components SET outcomes = 'ppppppppppppppppppppp' WHERE name = 'asm'`, refusedBy: []string{"components_outcomes"}},
		{name: "a window with another mark", text: `UPDATE components SET outcomes = 'fxp' WHERE name = 'asm'`, refusedBy: []string{"components_outcomes"}},
		{name: "a window that ends otherwise", text: `UPDATE components SET outcomes = 'pf' WHERE name = 'asm'`, refusedBy: []string{"components_outcomes"}},
	}
}

// The other rules of a component's row.
func onComponents() []attack {
	eve := func(name, kind, rest string) string {
		return `INSERT INTO components VALUES ('` + name + `', '` + kind + `', 'd', 5, '', 0, '', 0, NULL, NULL, NULL, NULL, ` + rest + `)`
	}
	const rest = `'[]', '', 0, '[]', '', '', '', NULL, NULL`
	return []attack{
		{name: "a component twice", text: eve("asm", "mcp_server", rest), refusedBy: []string{"components_key"}},
		{name: "a component in capitals", text: eve("Eve", "mcp_server", rest), refusedBy: []string{"components_name"}},
		{name: "a component without a name", text: eve("", "mcp_server", rest), refusedBy: []string{"components_name"}},
		{name: "a component of no kind", text: eve("eve", "", rest), refusedBy: []string{"components_registration"}},
		{name: "a document of no result", text: eve("eve", "mcp_server", `'[]', '', 0, '[]', '', '', '', NULL, '{}'`), refusedBy: []string{"components_newest"}},
		{name: "a result without a time", text: `UPDATE components SET probed_at = NULL WHERE name = 'asm'`, refusedBy: []string{"components_newest"}},
		{name: "a component with one cause", text: eve("eve", "mcp_server", `'"dns"', '', 0, '[]', '', '', '', NULL, NULL`), refusedBy: []string{"components_causes"}},
		{name: "a component that flaps twice", text: `UPDATE components SET flapping = 2 WHERE name = 'asm'`, refusedBy: []string{"components_flags"}},
		{name: "a degraded failure of a component", text: `UPDATE components SET degraded = 1 WHERE name = 'red'`, refusedBy: []string{"components_flags"}},
		{name: "tools accepted at no time", text: `UPDATE components SET accepted_at = NULL WHERE name = 'asm'`, refusedBy: []string{"components_accepted"}},
	}
}

// Lists of tools, hours and the account.
func onLists() []attack {
	return []attack{
		{name: "a list of tools twice", text: `INSERT INTO tool_lists SELECT * FROM tool_lists`, refusedBy: []string{"tool_lists_key"}},
		{name: "a list of tools without a digest", text: `INSERT INTO tool_lists VALUES ('', 0, '[]')`, refusedBy: []string{"tool_lists_digest"}},
		{name: "a list of tools that is none", text: `INSERT INTO tool_lists VALUES ('d', 0, '{}')`, refusedBy: []string{"tool_lists_tools"}},
		{name: "an hour twice", text: `INSERT INTO hours SELECT * FROM hours`, refusedBy: []string{"hours_key"}},
		{name: "an hour that begins late", text: `INSERT INTO hours VALUES (1, 'asm', 1, 0, 0, 5, 5, 1)`, refusedBy: []string{"hours_start"}},
		{name: "an hour of nothing", text: `INSERT INTO hours VALUES (0, 'asm', 0, 0, 0, 0, 0, 1)`, refusedBy: []string{"hours_counts"}},
		{name: "an hour with less than nothing", text: `INSERT INTO hours VALUES (0, 'asm', 2, -1, 0, 0, 0, 1)`, refusedBy: []string{"hours_counts"}},
		{name: "an hour whose longest is longer than all", text: `INSERT INTO hours VALUES (0, 'asm', 1, 0, 0, 4, 5, 1)`, refusedBy: []string{"hours_latency"}},
		{name: "an hour that needs nothing", text: `INSERT INTO hours VALUES (0, 'asm', 1, 0, 0, 5, 5, 0)`, refusedBy: []string{"hours_bytes"}},
		{name: "a second account", text: `INSERT INTO history VALUES (2, 0, 0)`, refusedBy: []string{"history_single"}},
		{name: "the account twice", text: `INSERT INTO history VALUES (1, 0, 0)`, refusedBy: []string{"history_key"}},
		{name: "an account below zero", text: `UPDATE history SET bytes = -1`, refusedBy: []string{"history_bytes"}},
		{name: "hours that need more than all", text: `UPDATE history SET hour_bytes = bytes + 1`, refusedBy: []string{"history_bytes"}},
	}
}
