package storetest

import "strings"

// provenHarness is the proof of a pass of a harness.
const provenHarness = `{"pinned":true,"resolved":true,"signed":null,"scanned":true,"subject":true,"recent":true,"covered":true,"clean":true,"packages":12,"unprovenAccepted":false,"blocking":0}`

// A pass of a harness beside a proof that does not say so.
func onHarnesses() []attack {
	var attacks []attack
	changes := [][2]string{
		{`"signed":null`, `"signed":false`},
		{`"signed":null,`, ``},
		{`"signed":null`, `"signed":"null"`},
		{`"packages":12`, `"packages":0`},
		{`"packages":12`, `"packages":-1`},
		{`"packages":12`, `"packages":"12"`},
		{`"packages":12,`, ``},
		{`"packages":12`, `"packages":1.5`},
		{`"packages":12,"unprovenAccepted":false`, `"packages":0,"unprovenAccepted":"true"`},
		{`"packages":12,"unprovenAccepted":false`, `"packages":-1,"unprovenAccepted":true`},
		{`"blocking":0`, `"blocking":1`},
		{`"blocking":0`, `"blocking":-1`},
		{`"blocking":0`, `"blocking":null`},
		{`,"blocking":0`, ``},
		{`"blocking":0`, `"blocking":"0"`},
	}
	for _, part := range []string{"pinned", "resolved", "scanned", "subject", "recent", "covered", "clean"} {
		changes = append(changes, [][2]string{
			{`"` + part + `":true`, `"` + part + `":false`},
			{`"` + part + `":true,`, ``},
			{`"` + part + `":true`, `"` + part + `":1`},
			{`"` + part + `":true`, `"` + part + `":null`},
		}...)
	}
	for _, change := range changes {
		forged := strings.Replace(provenHarness, change[0], change[1], 1)
		if forged == provenHarness {
			panic("the proof has no " + change[0])
		}
		attacks = append(attacks, attack{
			name: "a pass of a harness with the proof " + forged, text: aResult("harness", "passed", forged), refusedBy: []string{"results_harness_passed"},
		})
	}
	twice := strings.Replace(provenHarness, `"clean":true`, `"clean":true,"clean":false`, 1)
	return append(attacks, []attack{
		{name: "a pass of a harness with a member twice", only: sqlite, text: aResult("harness", "passed", twice), refusedBy: []string{"results_harness_passed"}},
		{name: "a pass of a harness by the proof of a server", text: aResult("harness", "passed", proven), refusedBy: []string{"results_harness_passed"}},
		{name: "a pass of a server by the proof of a harness", text: aResult("mcp_server", "passed", provenHarness), refusedBy: []string{"results_mcp_server_passed"}},
	}...)
}
