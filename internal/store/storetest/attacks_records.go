package storetest

// Changes of status: appended only, and as the results say.
func onChanges() []attack {
	const into = `INTO changes (number, component, at, from_status, to_status, causes, result_id) VALUES (`
	return []attack{
		{name: "a change to green by a failure", text: `INSERT ` + into + `99, 'red', 5, 'unavailable', 'available', '[]', '{RED}')`, refusedBy: []string{"changes_follow_result"}},
		{name: "a change to green by the pass of another", text: `INSERT ` + into + `99, 'red', 5, 'unavailable', 'available', '[]', '{K}')`, refusedBy: []string{"changes_follow_result"}},
		{name: "a change to red by nothing", text: `INSERT ` + into + `99, 'asm', 5, 'available', 'unavailable', '[]', '')`, refusedBy: []string{"changes_follow_result"}},
		{name: "a change to what it was", text: `INSERT ` + into + `99, 'asm', 5, 'unknown', 'unknown', '[]', '')`, refusedBy: []string{"changes_step"}},
		{name: "a change to probing", text: `INSERT ` + into + `99, 'asm', 5, 'available', 'probing', '[]', '{K}')`, refusedBy: []string{"changes_step", "changes_follow_result"}},
		{name: "a change before all time", text: `INSERT ` + into + `99, 'asm', -5, 'available', 'unknown', '[]', '')`, refusedBy: []string{"changes_at"}},
		{name: "a change with one cause", text: `INSERT ` + into + `99, 'asm', 5, 'available', 'unknown', '"dns"', '')`, refusedBy: []string{"changes_causes"}},
		{name: "a change edited", text: `UPDATE changes SET at = 5`, refusedBy: []string{"changes_no_update"}},
		{name: "a change deleted", text: `DELETE FROM changes WHERE component = 'red'`, refusedBy: []string{"changes_no_delete"}},
		{name: "a change replaced", only: sqlite, text: `INSERT OR REPLACE ` + into + `1, 'asm', 5, 'available', 'unknown', '[]', '')`, refusedBy: []string{"changes_no_replace"}},
		{name: "a change twice", only: sqlite, peel: []string{"changes_no_replace"}, text: `INSERT ` + into + `1, 'asm', 5, 'available', 'unknown', '[]', '')`, refusedBy: []string{"changes_key"}},
		{name: "a change twice", only: postgres, text: `INSERT ` + into + `1, 'asm', 5, 'available', 'unknown', '[]', '')`, refusedBy: []string{"changes_key"}},
		{name: "changes truncated", only: postgres, text: `TRUNCATE changes`, refusedBy: []string{"changes_no_truncate"}},
	}
}

// Preflights that their slots do not allow.
func onPreflights() []attack {
	kept := func(slots string) string {
		return `INSERT INTO preflights VALUES ('r', 5, 'd', 1, 1, '` + slots + `', NULL)`
	}
	filled := `{"slot":"s","required":true,"ok":true,"component":"asm","attempts":[{"component":"asm","passed":true}]}`
	var attacks []attack
	for _, slots := range []string{
		`[]`, `{}`, `null`, `[1]`, `[null]`, `[[]]`, `[{}]`, `[{"required":true}]`, `[{"ok":true}]`, `[` + filled + `,{}]`,
		`[{"required":true,"ok":false,"component":"asm","attempts":[{"component":"asm","passed":true}]}]`,
		`[{"required":"false","ok":false}]`, `[{"required":0,"ok":false}]`, `[{"required":null,"ok":false}]`,
		`[{"required":true,"ok":"true","component":"asm","attempts":[{"component":"asm","passed":true}]}]`,
		`[{"required":true,"ok":true,"component":"asm","attempts":[]}]`, `[{"required":true,"ok":true,"component":"asm"}]`,
		`[{"required":true,"ok":true,"component":"asm","attempts":[{"component":"asm","passed":false}]}]`,
		`[{"required":true,"ok":true,"component":"asm","attempts":[{"component":"red","passed":true}]}]`,
		`[{"required":true,"ok":true,"attempts":[{"passed":true}]}]`,
		`[` + filled + `,{"required":true,"ok":false,"attempts":[]}]`,
	} {
		attacks = append(attacks, attack{name: "a preflight allowed by " + slots, text: kept(slots), refusedBy: []string{"preflights_allowed"}})
	}
	return append(attacks, []attack{
		{name: "a preflight allowed without JSON", only: sqlite, text: kept("no"), refusedBy: []string{"preflights_allowed"}},
		{name: "a preflight allowed, without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`, text: kept(`[]`), refusedBy: []string{"preflights_allowed"}},
		{name: "a preflight allowed twice over", text: `INSERT INTO preflights VALUES ('r', 5, 'd', 2, 1, '[` + filled + `]', NULL)`, refusedBy: []string{"preflights_flag"}},
		{name: "a preflight without a run", text: `INSERT INTO preflights VALUES ('', 5, 'd', 0, 1, '[]', NULL)`, refusedBy: []string{"preflights_run"}},
		{name: "a preflight of one slot", text: `INSERT INTO preflights VALUES ('r', 5, 'd', 0, 1, '{}', NULL)`, refusedBy: []string{"preflights_slots"}},
		{name: "a ticket of a refused preflight", text: `INSERT INTO preflights VALUES ('r', 5, 'd', 0, 1, '[]', '{}')`, refusedBy: []string{"preflights_ticket"}},
		{name: "a preflight that needs nothing", text: `INSERT INTO preflights VALUES ('r', 5, 'd', 0, 0, '[]', NULL)`, refusedBy: []string{"preflights_bytes"}},
		{name: "a preflight made allowed", text: `UPDATE preflights SET allowed = 1`, refusedBy: []string{"preflights_no_update"}},
		{name: "a preflight replaced", only: sqlite, text: `INSERT OR REPLACE INTO preflights VALUES ({PREFLIGHT}, 0, 1, '[]', NULL)`, refusedBy: []string{"preflights_no_replace"}},
		{name: "a preflight twice", only: sqlite, peel: []string{"preflights_no_replace"}, text: `INSERT INTO preflights VALUES ({PREFLIGHT}, 0, 1, '[]', NULL)`, refusedBy: []string{"preflights_key"}},
		{name: "a preflight twice", only: postgres, text: `INSERT INTO preflights VALUES ({PREFLIGHT}, 0, 1, '[]', NULL)`, refusedBy: []string{"preflights_key"}},
	}...)
}

// The lease.
func onLeases() []attack {
	return []attack{
		{name: "a fence lowered", text: `UPDATE leases SET fence = -1`, refusedBy: []string{"leases_forward_only"}},
		{name: "a beat taken back", text: `UPDATE leases SET beat = beat - 1`, refusedBy: []string{"leases_forward_only"}},
		{name: "a lease renamed", text: `UPDATE leases SET name = 'other'`, refusedBy: []string{"leases_forward_only"}},
		{name: "a lease deleted", text: `DELETE FROM leases`, refusedBy: []string{"leases_no_delete"}},
		{name: "a lease with a fence below zero", text: `INSERT INTO leases VALUES ('other', '', -1, 0)`, refusedBy: []string{"leases_numbers"}},
		{name: "a lease replaced", only: sqlite, text: `INSERT OR REPLACE INTO leases VALUES ('patrol', 'mallory', 0, 0)`, refusedBy: []string{"leases_no_replace"}},
		{name: "a lease twice", only: sqlite, peel: []string{"leases_no_replace"}, text: `INSERT INTO leases VALUES ('patrol', 'mallory', 0, 0)`, refusedBy: []string{"leases_key"}},
		{name: "a lease twice", only: postgres, text: `INSERT INTO leases VALUES ('patrol', 'mallory', 0, 0)`, refusedBy: []string{"leases_key"}},
		{name: "leases truncated", only: postgres, text: `TRUNCATE leases`, refusedBy: []string{"leases_no_truncate"}},
	}
}
