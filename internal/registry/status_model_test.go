package registry_test

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/registry"
)

// How many random histories are tried: the larger number where COUNTERSIGN_SOAK
// is set.
const (
	histories       = 4_000
	historiesSoaked = 1_000_000
)

// tries has rapid make so many tries in a test, unless the command line says how
// many. The test is not to be parallel, since it sets a flag.
func tries(t *testing.T, most int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	usual := checks.Value.String()
	if usual != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(most)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := checks.Value.Set(usual); err != nil {
			t.Error(err)
		}
	})
}

// automaton is the reference for rise, fall, flapping and freshness, in seconds.
// It keeps every outcome and judges flapping by looking at all of them again.
type automaton struct {
	rise, fall, ttl int
	state           string // of the status, "" at first
	against         int    // results in a row that contradict the state
	last            int    // when the newest result was
	outcomes        []byte
	flapping        bool
}

func (a *automaton) result(at int, outcome byte) {
	if len(a.outcomes) > 0 && at-a.last > a.ttl || outcome == 'u' {
		a.state, a.against = "unknown", 0
	}
	a.last, a.outcomes = at, append(a.outcomes, outcome)
	if says := map[byte]string{'p': "available", 'f': "unavailable"}[outcome]; says == a.state {
		a.against = 0
	} else if a.against++; outcome != 'u' && (a.state != "available" && a.state != "unavailable" ||
		a.state == "unavailable" && a.against >= a.rise || a.state == "available" && a.against >= a.fall) {
		a.state, a.against = says, 0
	}
	a.flap()
}

func (a *automaton) flap() {
	changes, previous := 0.0, byte('u')
	for _, outcome := range a.outcomes[max(0, len(a.outcomes)-20):] {
		if outcome != 'u' {
			if previous != 'u' && previous != outcome {
				changes++
			}
			previous = outcome
		}
	}
	a.flapping = changes/19 > 0.5 || a.flapping && changes/19 >= 0.25
}

func (a *automaton) status(now int) string {
	if now-a.last > a.ttl {
		return "unknown"
	}
	return a.state
}

// TestStatus_isThatOfTheReferenceAutomaton runs random histories past both. What
// the changes say is held against every reading too: a reader of the history sees
// what readers of the status saw at the time.
func TestStatus_isThatOfTheReferenceAutomaton(t *testing.T) {
	most := histories
	if os.Getenv("COUNTERSIGN_SOAK") != "" {
		most = historiesSoaked
	}
	tries(t, most)
	rapid.Check(t, func(t *rapid.T) {
		reference := automaton{
			rise: rapid.IntRange(1, 5).Draw(t, "rise"), fall: rapid.IntRange(1, 5).Draw(t, "fall"),
			ttl: rapid.IntRange(1, 90).Draw(t, "ttl"),
		}
		run := &modelRun{t: t, component: component(reference.rise, reference.fall), reference: reference}
		run.component.TTL = time.Duration(reference.ttl) * time.Second
		run.known = registry.Known{}.Register(registered("sha256:1"), began())
		outcomes := rapid.SampledFrom([]string{"pf", "pppppf", "pffff", "pfu", "ppppfffu", "pu", "u"}).Draw(t, "outcomes")
		slow := rapid.SampledFrom([]int{1, 1, reference.ttl, reference.ttl + 1, 200}).Draw(t, "slow")
		for range rapid.IntRange(1, 45).Draw(t, "results") {
			run.step(rapid.IntRange(1, slow).Draw(t, "after"), outcomes[rapid.IntRange(0, len(outcomes)-1).Draw(t, "outcome")])
		}
		run.replay()
	})
}

// modelRun is one history, in what is known and in the reference.
type modelRun struct {
	t         *rapid.T
	component *registry.Component
	reference automaton
	known     registry.Known
	newest    registry.Record
	now       int // in seconds since the registration
	changes   []registry.Change
}

// step adds a result so many seconds after the one before.
func (r *modelRun) step(after int, outcome byte) {
	before := r.known.Standing
	end := r.now + after
	record := registry.Record{
		ID: resultID(end), Registration: registered("sha256:1"), Policy: r.component.Policy(),
		Summary: registry.Summary{ProbedAt: r.at(end), Outcome: outcomes()[rune(outcome)], Causes: []registry.Cause{}, Reason: "words"},
	}
	known, changes := r.known.After(record)
	r.changes = append(r.changes, changes...)
	for at := r.now; at < end; at += max(1, after/3) {
		r.agree(at, r.component.Read(before, r.at(at)))
	}
	r.known, r.now = known, end
	r.reference.result(end, outcome)
	got := r.component.Read(known.Standing, r.at(end))
	r.agree(end, got)
	if string(got.Status) != r.reference.status(end) || known.Standing.Flapping != r.reference.flapping {
		r.t.Fatalf("%s: %s, flapping %v; the reference has %s, %v", r.reference.outcomes,
			got.Status, known.Standing.Flapping, r.reference.status(end), r.reference.flapping)
	}
	later := end + r.reference.ttl
	for _, at := range []int{later, later + 1} {
		if got := r.component.Read(known.Standing, r.at(at)).Status; string(got) != r.reference.status(at) {
			r.t.Fatalf("%s, %d s later: %s, the reference has %s", r.reference.outcomes, at-end, got, r.reference.status(at))
		}
	}
	if isUnavailable := known.Standing.Settled == registry.Unavailable; isUnavailable != (known.Standing.Failure.Reason != "") {
		r.t.Fatalf("%s: the failure is %+v", r.reference.outcomes, known.Standing.Failure)
	}
	r.newest = record
}

// replay has the newest record come again.
func (r *modelRun) replay() {
	if again, none := r.known.After(r.newest); len(none) > 0 || !cmp.Equal(r.known, again) {
		r.t.Fatalf("the same record again changed %v:\n%s", none, cmp.Diff(r.known, again))
	}
}

// agree holds a reading against the changes that are kept so far. A change that a
// result brings holds from its moment on, and one for want of a result from the
// moment after.
func (r *modelRun) agree(at int, got registry.Reading) {
	want := registry.Probing
	for _, change := range r.changes {
		if change.At.After(r.at(at)) || change.At.Equal(r.at(at)) && change.ResultID != resultID(at) {
			continue
		}
		if change.From != want {
			r.t.Fatalf("a change from %s follows one to %s: %+v", change.From, want, r.changes)
		}
		want = change.To
	}
	if got.Status != want {
		r.t.Fatalf("at %d s it was %s, and the changes say %s: %+v", at, got.Status, want, r.changes)
	}
}

func (r *modelRun) at(seconds int) time.Time {
	return began().Add(time.Duration(seconds) * time.Second)
}

// resultID is the id of the result of a second.
func resultID(seconds int) string { return strconv.Itoa(1e6 + seconds) }

// registered is the registration of asm under a definition.
func registered(definition string) registry.Registration {
	return registry.Registration{Name: "asm", Kind: registry.KindMCPServer, Definition: definition}
}
