package task

import (
	"strings"
	"testing"
)

func TestDoubtOf_isGraveOnlyWhereAPrincipalIsKnown(t *testing.T) {
	session, process := Principal{"session", "s-1"}, Principal{"process", "p-1"}
	nobody := Anonymous().Principal
	by := func(principals ...Principal) (all []Transition) {
		for _, each := range principals {
			all = append(all, Transition{Principal: each})
		}
		return all
	}
	for name, of := range map[string]struct {
		transitions []Transition
		says        string
		grave       bool
	}{
		"no record":                {nil, "", false},
		"a claim without verdict":  {by(nobody, nobody), "", false},
		"two principals":           {by(session, session, process), "", false},
		"one who may be known":     {by(process, nobody, session), "", false},
		"one behind both":          {by(process, session, session), "the same principal", true},
		"nobody was authenticated": {by(process, nobody, nobody), "nobody was authenticated", false},
	} {
		got := DoubtOf(of.transitions)
		if got.Grave != of.grave || !strings.Contains(got.Words, of.says) || (of.says == "") != (got.Words == "") {
			t.Errorf("%s: the doubt is %+v", name, got)
		}
	}
}
