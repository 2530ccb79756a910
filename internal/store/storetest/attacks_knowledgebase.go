package storetest

import "strings"

// provenKnowledge is the proof of a pass of a knowledge base.
const provenKnowledge = `{"healthz":true,"test":true,"listTools":true,"toolCount":1,"retrieve":true,"chunks":3,"missingChunks":0,"pinnedVersion":true,"count":3}`

// A pass of a knowledge base beside a proof that does not say so.
func onKnowledgeBases() []attack {
	var attacks []attack
	for _, change := range [][2]string{
		{`"healthz":true`, `"healthz":false`},
		{`"healthz":true,`, ``},
		{`"test":true`, `"test":false`},
		{`"test":true`, `"test":"true"`},
		{`"listTools":true`, `"listTools":false`},
		{`"listTools":true`, `"listTools":1`},
		{`"toolCount":1`, `"toolCount":0`},
		{`"toolCount":1,`, ``},
		{`"toolCount":1`, `"toolCount":"1"`},
		{`"retrieve":true`, `"retrieve":false`},
		{`"retrieve":true,`, ``},
		{`"chunks":3`, `"chunks":0`},
		{`"chunks":3`, `"chunks":-3`},
		{`"chunks":3`, `"chunks":"3"`},
		{`"chunks":3`, `"chunks":null`},
		{`"chunks":3,`, ``},
		{`"chunks":3`, `"chunks":0.5`},
		{`"missingChunks":0`, `"missingChunks":1`},
		{`"missingChunks":0,`, ``},
		{`"missingChunks":0`, `"missingChunks":"0"`},
		{`"pinnedVersion":true`, `"pinnedVersion":false`},
		{`"pinnedVersion":true,`, ``},
		{`"count":3`, `"count":0`},
		{`"count":3`, `"count":null`},
		{`"count":3`, `"count":"3"`},
	} {
		forged := strings.Replace(provenKnowledge, change[0], change[1], 1)
		if forged == provenKnowledge {
			panic("the proof has no " + change[0])
		}
		attacks = append(attacks, attack{
			name: "a pass of a knowledge base with the proof " + forged, text: aResult("knowledge_base", "passed", forged),
			refusedBy: []string{"results_knowledge_base_passed"},
		})
	}
	twice := strings.Replace(provenKnowledge, `"chunks":3`, `"chunks":3,"chunks":0`, 1)
	return append(attacks, []attack{
		{name: "a pass of a knowledge base with its chunks twice", only: sqlite, text: aResult("knowledge_base", "passed", twice), refusedBy: []string{"results_knowledge_base_passed"}},
		{
			name: "a pass of a knowledge base with zero chunks, without checks", only: sqlite, setting: `PRAGMA ignore_check_constraints = ON`,
			text: aResult("knowledge_base", "passed", strings.Replace(provenKnowledge, `"chunks":3`, `"chunks":0`, 1)), refusedBy: []string{"results_knowledge_base_passed"},
		},
		{name: "a pass of a knowledge base by the gates alone", text: aResult("knowledge_base", "passed", proven), refusedBy: []string{"results_knowledge_base_passed"}},
	}...)
}
