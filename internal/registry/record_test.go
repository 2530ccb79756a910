package registry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// brought is the record of a result that brought tools home.
func brought(id string, at time.Time, outcome registry.Outcome, digest string) registry.Record {
	return registry.Record{
		ID: id, Registration: registered("sha256:1"), Policy: component(1, 1).Policy(),
		Summary: registry.Summary{ProbedAt: at, Outcome: outcome, Causes: []registry.Cause{}, ToolsDigest: digest},
	}
}

// fold has a store know records, from nothing, and returns every change.
func fold(known registry.Known, records ...registry.Record) (registry.Known, []registry.Change) {
	var all []registry.Change
	for _, record := range records {
		var changes []registry.Change
		known, changes = known.After(record)
		all = append(all, changes...)
	}
	return known, all
}

func TestKnown_acceptsTheToolsOfTheFirstPass(t *testing.T) {
	t.Parallel()
	passed, failed := registry.OutcomePassed, registry.OutcomeFailed
	at := func(ticks int) time.Time { return began().Add(time.Duration(ticks) * tick) }
	known, _ := fold(registry.Known{}, brought("1", at(0), failed, "sha256:a"))
	if known.AcceptedDigest != "" || known.ToolsDigest != "sha256:a" || known.Drifted() {
		t.Errorf("after a failure: %+v, want tools that nobody accepted", known)
	}
	known, _ = fold(known, brought("2", at(1), passed, ""))
	if known.AcceptedDigest != "" {
		t.Errorf("after a pass without tools: %+v", known)
	}
	known, _ = fold(known, brought("3", at(2), passed, "sha256:b"))
	if known.AcceptedDigest != "sha256:b" || !known.AcceptedAt.Equal(at(2)) || known.Drifted() {
		t.Errorf("after the first pass: %+v", known)
	}
	known, _ = fold(known, brought("4", at(3), passed, "sha256:c"), brought("5", at(4), failed, ""), brought("0", at(1), passed, "sha256:b"))
	if known.AcceptedDigest != "sha256:b" || known.ToolsDigest != "sha256:c" || !known.Drifted() {
		t.Errorf("after a change, a failure and a late result: %+v, want a drift from the accepted tools", known)
	}
	known, _ = fold(known, brought("6", at(5), failed, "sha256:b"))
	if known.Drifted() {
		t.Errorf("when the tools are the accepted ones again: %+v", known)
	}
}

func TestKnown_forgetsResultsButNotTheAcceptanceOfAnotherDefinition(t *testing.T) {
	t.Parallel()
	first, _ := fold(registry.Known{}, brought("1", began(), registry.OutcomePassed, "sha256:a"))
	again := brought("2", began().Add(tick), registry.OutcomeFailed, "sha256:b")
	again.Registration.Definition = "sha256:2"
	got, changes := first.After(again)
	if got.Standing.Settled != registry.Unavailable || got.Standing.Outcomes != "f" || !got.Standing.RegisteredAt.Equal(began().Add(tick)) {
		t.Errorf("the standing is %+v, want that of one failure", got.Standing)
	}
	if got.AcceptedDigest != "sha256:a" || !got.Drifted() {
		t.Errorf("the accepted tools are %q, want those from before, and a drift", got.AcceptedDigest)
	}
	if len(changes) != 1 || changes[0].From != registry.Probing {
		t.Errorf("the changes are %+v, want one from probing", changes)
	}
	other := registry.Registration{Name: "asm", Kind: "toaster", Definition: "sha256:3"}
	if got := first.Register(other, began()); got.AcceptedDigest != "" || got.Standing.Last.ID != "" {
		t.Errorf("as another kind it is %+v, want nothing from before", got)
	}
	if diff := cmp.Diff(first, first.Register(first.Registration, began().Add(time.Hour))); diff != "" {
		t.Errorf("the same registration changed (-before +after):\n%s", diff)
	}
}

// TestKnown_passesOverALeftoverOfTheDefinitionBefore is a probe that was under way
// while the component was redefined.
func TestKnown_passesOverALeftoverOfTheDefinitionBefore(t *testing.T) {
	t.Parallel()
	redefined := registry.Known{}.Register(registered("sha256:2"), began().Add(500*time.Microsecond))
	got, changes := redefined.After(brought("1", began().Add(-time.Millisecond), registry.OutcomePassed, "sha256:a"))
	if diff := cmp.Diff(redefined, got); diff != "" || len(changes) > 0 {
		t.Errorf("a leftover brought the changes %v and (-before +after):\n%s", changes, diff)
	}
	got, _ = redefined.After(brought("1", began(), registry.OutcomePassed, "sha256:a"))
	if got.Registration.Definition != "sha256:1" || got.Standing.Settled != registry.Available {
		t.Errorf("a later probe of another definition was passed over: %+v", got)
	}
}

func TestKnown_keepsTheChangesOfStatus(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return began().Add(time.Duration(seconds) * time.Second) }
	record := func(id string, seconds int, outcome registry.Outcome, causes ...registry.Cause) registry.Record {
		made := brought(id, at(seconds), outcome, "")
		made.Summary.Causes = causes
		return made
	}
	passed, failed, undecided := registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided
	none := []registry.Cause{}
	for name, row := range map[string]struct {
		records []registry.Record
		want    []registry.Change
	}{
		"the first result": {
			[]registry.Record{record("1", 10, failed, registry.DNS)},
			[]registry.Change{{"asm", at(10), registry.Probing, registry.Unavailable, []registry.Cause{registry.DNS}, "1", false}},
		},
		"another reason for the same": {
			[]registry.Record{record("1", 10, failed, registry.DNS), record("2", 20, failed, registry.Timeout)},
			[]registry.Change{{"asm", at(10), registry.Probing, registry.Unavailable, []registry.Cause{registry.DNS}, "1", false}},
		},
		"from and to unknown": {
			[]registry.Record{record("1", 10, passed), record("2", 20, undecided, registry.Denied), record("3", 30, undecided), record("4", 40, passed)},
			[]registry.Change{
				{"asm", at(10), registry.Probing, registry.Available, none, "1", false},
				{"asm", at(20), registry.Available, registry.Unknown, []registry.Cause{registry.Denied}, "2", false},
				{"asm", at(40), registry.Unknown, registry.Available, none, "4", false},
			},
		},
		"an undecided beginning": {
			[]registry.Record{record("1", 10, undecided, registry.Overloaded), record("2", 20, passed)},
			[]registry.Change{
				{"asm", at(10), registry.Probing, registry.Unknown, []registry.Cause{registry.Overloaded}, "1", false},
				{"asm", at(20), registry.Unknown, registry.Available, none, "2", false},
			},
		},
		"a result that was too old for a while": {
			[]registry.Record{record("1", 10, passed), record("2", 41, passed)},
			[]registry.Change{
				{"asm", at(10), registry.Probing, registry.Available, none, "1", false},
				{"asm", at(40), registry.Available, registry.Unknown, none, "1", false},
				{"asm", at(41), registry.Unknown, registry.Available, none, "2", false},
			},
		},
		"an undecided result that was too old": {
			[]registry.Record{record("1", 10, undecided), record("2", 100, undecided)},
			[]registry.Change{{"asm", at(10), registry.Probing, registry.Unknown, none, "1", false}},
		},
		"a deadline that was outlived": {
			[]registry.Record{record("1", 46, passed)},
			[]registry.Change{
				{"asm", at(45), registry.Probing, registry.Unknown, none, "", false},
				{"asm", at(46), registry.Unknown, registry.Available, none, "1", false},
			},
		},
		"a clock that was set back": {
			[]registry.Record{record("1", 10, passed), record("2", 10-3601, failed)},
			[]registry.Change{
				{"asm", at(10), registry.Probing, registry.Available, none, "1", false},
				{"asm", at(10 - 3601), registry.Available, registry.Unknown, none, "1", false},
				{"asm", at(10 - 3601), registry.Unknown, registry.Unavailable, none, "2", false},
			},
		},
	} {
		known, got := fold(registry.Known{}.Register(registered("sha256:1"), began()), row.records...)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if last := row.want[len(row.want)-1].At; !known.Standing.ChangedAt.Equal(last) {
			t.Errorf("%s: changed at %s, want %s", name, known.Standing.ChangedAt, last)
		}
	}
}

func TestKnown_knowsNothingByARecordWithoutIDOrTime(t *testing.T) {
	t.Parallel()
	for _, record := range []registry.Record{brought("", began(), registry.OutcomePassed, ""), brought("1", time.Time{}, registry.OutcomePassed, "")} {
		if known, changes := fold(registry.Known{}, record); known.Registration != (registry.Registration{}) || len(changes) > 0 {
			t.Errorf("%+v made it %+v", record, known)
		}
	}
}

func TestTellRedefined_marksWhatIsProbingAgain(t *testing.T) {
	first := registry.Change{From: registry.Probing, To: registry.Available}
	down := registry.Change{From: registry.Available, To: registry.Unavailable}
	again := registry.Change{From: registry.Probing, To: registry.Unknown}
	for _, c := range []struct {
		changes []registry.Change
		most    int
		want    []bool
	}{
		{nil, 2, nil},
		{[]registry.Change{first}, 2, []bool{false}},
		{[]registry.Change{down, first}, 2, []bool{false, false}},
		{[]registry.Change{again, down, first}, 3, []bool{true, false, false}},
		{[]registry.Change{down, again, first}, 2, []bool{false, true}},
	} {
		var got []bool
		for _, change := range registry.TellRedefined(c.changes, c.most) {
			got = append(got, change.Redefined)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.changes, got, c.want)
		}
	}
}
