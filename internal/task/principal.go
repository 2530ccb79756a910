package task

// kindAnonymous is the kind of a principal of whom nothing is known.
const kindAnonymous = "anonymous"

// Anonymous is on whose behalf a call over HTTP is made. Nobody is authenticated
// there yet, so all who call share it.
func Anonymous() Caller {
	return Caller{Principal: Principal{Kind: kindAnonymous, ID: "http"}}
}

// Doubt is what speaks against that the prover and the verifier of a task are two.
// The zero value is none.
type Doubt struct {
	Words string // a clause without a full stop
	// Grave: one principal stands behind both names. Otherwise the record cannot
	// tell, since nobody was authenticated.
	Grave bool
}

// DoubtOf returns what the transitions of a task, in their order, leave in doubt.
func DoubtOf(transitions []Transition) Doubt {
	const claim, verdict = 1, 2
	switch {
	case len(transitions) <= verdict || transitions[claim].Principal != transitions[verdict].Principal:
		return Doubt{}
	case transitions[claim].Principal.Kind == kindAnonymous:
		return Doubt{Words: "nobody was authenticated over HTTP, so the record tells prover and verifier apart by their names alone"}
	}
	return Doubt{"prover and verifier have different names and the same principal", true}
}
