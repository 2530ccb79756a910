package storetest

import "strings"

// Proofs of passes of models.
const (
	provenChat      = `{"invoke":true,"mode":"chat","model":true,"input":12,"output":4,"total":16,"content":true,"text":true,"left":17,"right":25,"answer":42,"vector":{"length":0,"numbers":false,"nonZero":false},"documents":0,"scored":0}`
	provenEmbedding = `{"invoke":true,"mode":"embedding","model":true,"input":5,"output":0,"content":false,"text":false,"left":0,"right":0,"vector":{"length":64,"wanted":64,"numbers":true,"nonZero":true},"documents":0,"scored":0}`
	provenRerank    = `{"invoke":true,"mode":"rerank","model":true,"input":0,"output":0,"content":false,"text":false,"left":0,"right":0,"vector":{"length":0,"numbers":false,"nonZero":false},"documents":3,"scored":3}`
)

// A pass of a model beside a proof that does not say so, and a budget gone round.
func onModel() []attack {
	var attacks []attack
	for proof, changes := range forgeries() {
		for _, change := range changes {
			forged := strings.Replace(proof, change[0], change[1], 1)
			if forged == proof {
				panic("the proof has no " + change[0])
			}
			attacks = append(attacks, attack{
				name: "a pass of a model with the proof " + forged, text: aResult("model", "passed", forged), refusedBy: []string{"results_model_passed"},
			})
		}
	}
	twice := strings.Replace(provenChat, `"answer":42`, `"answer":42,"answer":41`, 1)
	nested := strings.Replace(provenEmbedding, `"nonZero":true`, `"nonZero":true,"nonZero":false`, 1)
	return append(attacks, []attack{
		{name: "a pass of a model with a member twice", only: sqlite, text: aResult("model", "passed", twice), refusedBy: []string{"results_model_passed"}},
		{name: "a pass of a model with a member of its vector twice", only: sqlite, text: aResult("model", "passed", nested), refusedBy: []string{"results_model_passed"}},
		{name: "a pass of a model by the proof of a server", text: aResult("model", "passed", proven), refusedBy: []string{"results_model_passed"}},
		{name: "a pass of a server by the proof of a model", text: aResult("mcp_server", "passed", provenChat), refusedBy: []string{"results_mcp_server_passed"}},
		{name: "tokens given back that were never spent", text: `INSERT INTO token_days VALUES ('writer', 20000, -1)`, refusedBy: []string{"token_days_counts"}},
		{name: "tokens of a day twice", text: `INSERT INTO token_days VALUES ('writer', 20000, 1), ('writer', 20000, 1)`, refusedBy: []string{"token_days_key"}},
	}...)
}

// forgeries are changes of a part of each proof, after which it proves nothing.
func forgeries() map[string][][2]string {
	return map[string][][2]string{
		provenChat: {
			{`"invoke":true`, `"invoke":false`},
			{`"invoke":true,`, ``},
			{`"invoke":true`, `"invoke":"true"`},
			{`"model":true`, `"model":false`},
			{`"input":12`, `"input":0`},
			{`"output":4,"total":16`, `"output":0,"total":12`},
			{`"input":12`, `"input":-12`},
			{`"input":12`, `"input":"12"`},
			{`"input":12,`, ``},
			{`"output":4,"total":16`, `"total":12`},
			{`"total":16`, `"total":17`},
			{`"total":16`, `"total":null`},
			{`"total":16`, `"total":"16"`},
			{`"content":true`, `"content":false`},
			{`"answer":42`, `"answer":43`},
			{`,"answer":42`, ``},
			{`"answer":42`, `"answer":"42"`},
			{`"left":17`, `"left":16`},
			{`"text":true,`, ``},
			{`"text":true`, `"text":1`},
			{`"mode":"chat"`, `"mode":"talk"`},
			{`"mode":"chat",`, ``},
			{`"mode":"chat"`, `"mode":"embedding"`},
			{`"mode":"chat"`, `"mode":"rerank"`},
		},
		provenEmbedding: {
			{`"input":5`, `"input":0`},
			{`"length":64`, `"length":63`},
			{`"length":64,"wanted":64`, `"length":0,"wanted":0`},
			{`"length":64,"wanted":64`, `"length":"64"`},
			{`"length":64,"wanted":64,`, ``},
			{`"numbers":true`, `"numbers":false`},
			{`"nonZero":true`, `"nonZero":false`},
			{`"input":5,"output":0`, `"input":5,"output":0,"total":6`},
		},
		provenRerank: {
			{`"scored":3`, `"scored":2`},
			{`"documents":3,"scored":3`, `"documents":0,"scored":0`},
			{`,"scored":3`, ``},
			{`"documents":3`, `"documents":"3"`},
			{`"model":true`, `"model":false`},
			{`"input":0,"output":0`, `"input":0,"output":0,"total":5`},
		},
	}
}
