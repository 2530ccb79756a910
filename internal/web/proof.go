package web

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
)

// proof is what a result passed or failed by, for a row: a lamp for each part, and
// what was found in words. It is empty where it was not read.
type proof struct {
	Parts []partLamp
	Words string
}

// partLamp is a part of a proof, and whether it held.
type partLamp struct {
	Name      string
	OK        bool
	Undecided bool // that it did not hold says nothing about the component
	NotJudged bool // it did not come to it, since a part before it did not hold
}

// Word says whether the part held.
func (p partLamp) Word() string {
	switch {
	case p.OK:
		return "passed"
	case p.NotJudged:
		return "not judged"
	case p.Undecided:
		return "undecided"
	}
	return "failed"
}

// Held is how many parts held.
func (p proof) Held() int {
	held := 0
	for _, part := range p.Parts {
		if part.OK {
			held++
		}
	}
	return held
}

// maxLamps is how many parts are shown with a lamp each; of more, only those that
// were judged and did not hold.
const maxLamps = 4

// Shown are the parts that have a lamp of their own.
func (p proof) Shown() []partLamp {
	if len(p.Parts) <= maxLamps {
		return p.Parts
	}
	var failed []partLamp
	for _, part := range p.Parts {
		if !part.OK && !part.NotJudged {
			failed = append(failed, part)
		}
	}
	return failed
}

// Sum says of many parts how many held; empty of few.
func (p proof) Sum() string {
	if len(p.Parts) <= maxLamps {
		return ""
	}
	said, unjudged := fmt.Sprintf("%d of %d parts hold", p.Held(), len(p.Parts)), 0
	for _, part := range p.Parts {
		if part.NotJudged {
			unjudged++
		}
	}
	if unjudged > 0 {
		said += fmt.Sprintf(", %d not judged", unjudged)
	}
	return said
}

// proofWords are the members of a proof that words are made of.
type proofWords struct {
	ToolCount int `json:"toolCount"`

	Chunks *int `json:"chunks"`

	Mode   registry.Mode   `json:"mode"`
	Left   int             `json:"left"`
	Right  int             `json:"right"`
	Answer *int            `json:"answer"`
	Vector registry.Vector `json:"vector"`
	Input  int             `json:"input"`
	Output int             `json:"output"`
	Scored int             `json:"scored"`

	Packages int `json:"packages"`
	Blocking int `json:"blocking"`
}

// proofOf reads the proof of a result.
func proofOf(kind registry.Kind, result registry.RecentResult) proof {
	var members map[string]json.RawMessage
	if json.Unmarshal(result.Proof, &members) != nil {
		return proof{}
	}
	var made proof
	undecided := result.Outcome == registry.OutcomeUndecided
	var unjudged []string // Older results do not name them.
	_ = json.Unmarshal(members[registry.ProofNotJudged], &unjudged)
	for _, name := range registry.Parts() {
		if held := string(members[name]); held == "true" || held == "false" {
			made.Parts = append(made.Parts, partLamp{
				Name: name, OK: held == "true", Undecided: undecided, NotJudged: slices.Contains(unjudged, name),
			})
		}
	}
	if kind == registry.KindModel { // What the answer holds counts beside that there was one.
		made.Parts = []partLamp{{Name: "invoke", OK: result.Outcome == registry.OutcomePassed, Undecided: undecided}}
	}
	var words proofWords
	if json.Unmarshal(result.Proof, &words) == nil {
		made.Words = words.of(kind)
	}
	return made
}

// of is what was found, in words; empty when nothing was.
func (w proofWords) of(kind registry.Kind) string {
	switch kind {
	case registry.KindKnowledgeBase:
		if w.Chunks != nil && *w.Chunks > 0 {
			return counted(*w.Chunks, "chunk")
		}
	case registry.KindModel:
		return w.ofModel()
	case registry.KindHarness:
		if w.Packages > 0 {
			return counted(w.Packages, "package") + ", " + counted(w.Blocking, "finding") + " in the way"
		}
	case registry.KindMCPServer:
		if w.ToolCount > 0 {
			return counted(w.ToolCount, "tool")
		}
	}
	return ""
}

func (w proofWords) ofModel() string {
	switch {
	case w.Answer != nil:
		return fmt.Sprintf("%d + %d = %d, %s", w.Left, w.Right, *w.Answer, counted(w.Input+w.Output, "token"))
	case w.Vector.Length > 0:
		return counted(w.Vector.Length, "dimension")
	case w.Scored > 0:
		return counted(w.Scored, "score")
	case w.Input+w.Output > 0:
		return counted(w.Input+w.Output, "token")
	}
	return ""
}
