package registry_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// ttl and tick are the time to live and the interval of the components here.
const (
	tick = 10 * time.Second
	ttl  = 30 * time.Second
)

// began is when everything here is registered.
func began() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// component is one with thresholds.
func component(rise, fall int) *registry.Component {
	made := server("asm")
	made.Interval, made.TTL, made.ProbingDeadline, made.Rise, made.Fall = tick, ttl, 45*time.Second, rise, fall
	return made
}

// outcomes are what the letters of a history stand for.
func outcomes() map[rune]registry.Outcome {
	return map[rune]registry.Outcome{
		'p': registry.OutcomePassed, 'f': registry.OutcomeFailed, 'u': registry.OutcomeUndecided,
	}
}

// standing is what a history adds up to: one result each tick for a letter (p
// passed, d passed and is degraded, f failed, u undecided), and nothing for a dot.
// It returns also the time of the last letter or dot.
func standing(history string, policy registry.Policy) (registry.Standing, time.Time) {
	now := began()
	made := registry.Standing{RegisteredAt: now}
	for i, letter := range history {
		now = now.Add(tick)
		seen := registry.Seen{ID: strconv.Itoa(100 + i), ProbedAt: now, Outcome: outcomes()[letter], Causes: []registry.Cause{}}
		switch letter {
		case '.':
			continue
		case 'd':
			seen.Outcome, seen.Degraded, seen.Reason = registry.OutcomePassed, true, "not executable: nmap"
		case 'f':
			seen.Causes, seen.Reason = []registry.Cause{registry.Timeout}, "healthz: timeout"
		case 'u':
			seen.Causes, seen.Reason = []registry.Cause{registry.Overloaded}, "healthz: overloaded"
		}
		made = made.After(seen, policy)
	}
	return made, now
}

func TestStatus_isThatOfTheTruthTable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rise, fall int
		history    string // see standing; the status is read at its end
		want       registry.Status
		degraded   bool
		cause      registry.Cause
	}{
		{1, 1, "", registry.Probing, false, ""},
		{1, 1, "....", registry.Probing, false, ""},
		{1, 1, ".....", registry.Unknown, false, ""},
		{1, 1, "p", registry.Available, false, ""},
		{1, 1, "f", registry.Unavailable, false, registry.Timeout},
		{1, 1, "u", registry.Unknown, false, registry.Overloaded},
		{1, 1, "d", registry.Available, true, ""},
		{1, 1, "pf", registry.Unavailable, false, registry.Timeout},
		{1, 1, "fp", registry.Available, false, ""},
		{1, 1, "pd", registry.Available, true, ""},
		{1, 1, "dp", registry.Available, false, ""},
		{1, 1, "pu", registry.Unknown, false, registry.Overloaded},
		// The first result decides alone, whatever rise and fall are.
		{3, 3, "p", registry.Available, false, ""},
		{3, 3, "f", registry.Unavailable, false, registry.Timeout},
		// Between the thresholds it stays, degraded, with the failed cause.
		{1, 3, "pf", registry.Available, true, registry.Timeout},
		{1, 3, "pff", registry.Available, true, registry.Timeout},
		{1, 3, "pfff", registry.Unavailable, false, registry.Timeout},
		{3, 1, "fp", registry.Unavailable, true, registry.Timeout},
		{3, 1, "fpp", registry.Unavailable, true, registry.Timeout},
		{3, 1, "fppp", registry.Available, false, ""},
		{3, 1, "fd", registry.Unavailable, true, registry.Timeout},
		{3, 1, "fppd", registry.Available, true, ""},
		// What comes between begins the count anew.
		{1, 3, "pffpff", registry.Available, true, registry.Timeout},
		{1, 3, "pffpfff", registry.Unavailable, false, registry.Timeout},
		{3, 1, "fppfpp", registry.Unavailable, true, registry.Timeout},
		// After an undecided result the next decides alone.
		{1, 3, "puf", registry.Unavailable, false, registry.Timeout},
		{3, 1, "fup", registry.Available, false, ""},
		{1, 3, "pffuf", registry.Unavailable, false, registry.Timeout},
		{3, 3, "uuup", registry.Available, false, ""},
		// A result counts as long as its time to live, and not longer.
		{1, 1, "p...", registry.Available, false, ""},
		{1, 1, "p....", registry.Unknown, false, ""},
		{1, 1, "f...", registry.Unavailable, false, registry.Timeout},
		{1, 1, "f....", registry.Unknown, false, registry.Timeout},
		{1, 3, "pf....", registry.Unknown, false, registry.Timeout},
		// And when it no longer did, the next decides alone.
		{3, 3, "p..f", registry.Available, true, registry.Timeout},
		{3, 3, "p...f", registry.Unavailable, false, registry.Timeout},
		{3, 3, "f..p", registry.Unavailable, true, registry.Timeout},
		{3, 3, "f...p", registry.Available, false, ""},
	} {
		c := component(row.rise, row.fall)
		made, now := standing(row.history, c.Policy())
		got := c.Read(made, now)
		causes := []registry.Cause{}
		if row.cause != "" {
			causes = append(causes, row.cause)
		}
		if got.Status != row.want || got.Degraded != row.degraded || !cmp.Equal(got.Causes, causes) {
			t.Errorf("rise %d, fall %d, %q: %s, degraded %v, causes %v, want %s, %v, %v", row.rise, row.fall, row.history,
				got.Status, got.Degraded, got.Causes, row.want, row.degraded, causes)
		}
		if (got.Status != registry.Available || got.Degraded) && got.Reason == "" {
			t.Errorf("rise %d, fall %d, %q: %s has no reason", row.rise, row.fall, row.history, got.Status)
		}
	}
}

func TestRead_tellsAgeResultAndBeginning(t *testing.T) {
	t.Parallel()
	for history, want := range map[string]struct{ age, since int }{
		"":              {-1, 0},
		".":             {-1, 0},
		".......":       {-1, 45}, // its deadline
		"p":             {0, 10},
		"ppp":           {0, 10},
		"pppf":          {0, 40},
		"pff.":          {10, 20},
		"u":             {0, 10},
		"puu":           {0, 20},
		"p......":       {60, 40}, // its time to live
		"u......":       {60, 10}, // it was unknown before
		"p......p":      {0, 80},
		"p.....u......": {60, 40}, // it has been unknown ever since
	} {
		c := component(1, 1)
		made, now := standing(history, c.Policy())
		got := c.Read(made, now)
		if since := began().Add(time.Duration(want.since) * time.Second).Format("2006-01-02T15:04:05.000Z"); got.Since != since {
			t.Errorf("%q: since %s, want %s", history, got.Since, since)
		}
		if want.age < 0 {
			if got.AgeMs != nil || got.ResultID != nil {
				t.Errorf("%q: age %v and result %v, want none", history, got.AgeMs, got.ResultID)
			}
			continue
		}
		if got.AgeMs == nil || *got.AgeMs != int64(want.age)*1000 || got.ResultID == nil || *got.ResultID != made.Last.ID {
			t.Errorf("%q: age %v of %v, want %d s of %s", history, got.AgeMs, got.ResultID, want.age, made.Last.ID)
		}
	}
}

// TestRead_doesNotTrustWhatIsDatedAhead shows that a clock that went backwards
// makes nothing eternally green, or eternally probing.
func TestRead_doesNotTrustWhatIsDatedAhead(t *testing.T) {
	t.Parallel()
	c := component(1, 1)
	passed, at := standing("p", c.Policy())
	registered := registry.Standing{RegisteredAt: at}
	for _, row := range []struct {
		behind             time.Duration // the reader's clock is
		passed, registered registry.Status
	}{
		{0, registry.Available, registry.Probing},
		{time.Millisecond, registry.Available, registry.Probing},
		{registry.MaxSkew, registry.Available, registry.Probing},
		{registry.MaxSkew + time.Millisecond, registry.Unknown, registry.Unknown},
		{24 * time.Hour, registry.Unknown, registry.Unknown},
		{200 * 365 * 24 * time.Hour, registry.Unknown, registry.Unknown},
	} {
		now := at.Add(-row.behind)
		got := c.Read(passed, now)
		if got.Status != row.passed || *got.AgeMs != 0 || passed.Fresh(now, c.Policy()) != (row.passed == registry.Available) {
			t.Errorf("a pass %s ahead is %s (age %d ms), want %s", row.behind, got.Status, *got.AgeMs, row.passed)
		}
		if got := c.Read(registered, now); got.Status != row.registered {
			t.Errorf("a registration %s ahead is %s, want %s", row.behind, got.Status, row.registered)
		}
	}
	for name, zero := range map[string]registry.Reading{
		"nothing":            c.Read(registry.Standing{}, at),
		"a year-one result":  c.Read(registry.Standing{Last: registry.Seen{ID: "1"}, Settled: registry.Available}, at),
		"a year-one clock":   c.Read(passed, time.Time{}),
		"the whole of times": c.Read(passed, at.Add(1<<63-1)),
	} {
		if zero.Status != registry.Unknown {
			t.Errorf("%s is %s, want unknown", name, zero.Status)
		}
	}
}

func TestAfter_takesResultsByTheirTimeAndOnce(t *testing.T) {
	t.Parallel()
	policy := component(1, 1).Policy()
	before, at := standing("ppp", policy)
	for name, next := range map[string]registry.Seen{
		"the same again":      {ID: before.Last.ID, ProbedAt: at.Add(tick), Outcome: registry.OutcomeFailed},
		"an older one":        {ID: "200", ProbedAt: at.Add(-time.Millisecond), Outcome: registry.OutcomeFailed},
		"one an hour late":    {ID: "200", ProbedAt: at.Add(-registry.MaxLate), Outcome: registry.OutcomeFailed},
		"a lesser id at once": {ID: "0", ProbedAt: at, Outcome: registry.OutcomeFailed},
		"no id":               {ProbedAt: at.Add(tick), Outcome: registry.OutcomeFailed},
		"no time":             {ID: "200", Outcome: registry.OutcomeFailed},
	} {
		if diff := cmp.Diff(before, before.After(next, policy)); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", name, diff)
		}
	}
	greater := registry.Seen{ID: "200", ProbedAt: at, Outcome: registry.OutcomeFailed}
	if got := before.After(greater, policy); got.Settled != registry.Unavailable {
		t.Errorf("a greater id of the same time was passed over: %+v", got)
	}
}

// TestAfter_recoversFromAClockThatWasSetBack shows that a result from the future
// does not keep later ones from counting for ever, and that one which truly comes
// that late turns nothing green.
func TestAfter_recoversFromAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	c := component(3, 3)
	future, ahead := standing("p", c.Policy())
	now := ahead.Add(-24 * time.Hour)
	healed := future.After(registry.Seen{ID: "200", ProbedAt: now, Outcome: registry.OutcomeFailed}, c.Policy())
	if got := c.Read(healed, now); got.Status != registry.Unavailable || *got.ResultID != "200" {
		t.Errorf("after the clock was set back: %+v", got)
	}
	late := registry.Seen{ID: "200", ProbedAt: ahead.Add(-registry.MaxLate - time.Millisecond), Outcome: registry.OutcomePassed}
	failed, _ := standing("f", c.Policy())
	if got := c.Read(failed.After(late, c.Policy()), ahead); got.Status != registry.Unknown {
		t.Errorf("a pass that came late is read as %s, want unknown", got.Status)
	}
	long := *c
	long.TTL = 10 * registry.MaxLate
	if got := failed.After(late, long.Policy()); got.Last.ID != failed.Last.ID {
		t.Error("a result that is late within its time to live was taken as the newest")
	}
}

func TestFlapping_isRaisedAndClearedWithHysteresis(t *testing.T) {
	t.Parallel()
	const pp = "pppppppppppppppppppp"
	for history, want := range map[string]bool{
		"pfpfpfpfpf":              false, // 9 changes of 19
		"pfpfpfpfpfp":             true,  // 10
		"fpfpfpfpfpf":             true,
		"pufupufupufupufup":       false, // 8, seen across undecided results
		"pfupfupfupfupfup":        true,  // 10
		"pfpfpfpfpfpuuuuuu":       true,  // undecided results calm nothing
		"pupupupupupupupupupupup": false, // no pass was followed by a failure
		"pfpfpfpfpfp" + pp[:14]:   true,  // 5 are left in the window
		"pfpfpfpfpfp" + pp[:15]:   false, // 4
		pp + "fpfpfpfpf":          false, // 9
		pp + "fpfpfpfpfp":         true,  // 10
	} {
		made, _ := standing(history, component(1, 1).Policy())
		if made.Flapping != want {
			t.Errorf("%q: flapping %v, want %v", history, made.Flapping, want)
		}
		if len(made.Outcomes) > registry.Window || !hasSuffix(history, made.Outcomes) {
			t.Errorf("%q: the window is %q", history, made.Outcomes)
		}
	}
}

func hasSuffix(history, window string) bool { return history[len(history)-len(window):] == window }

// TestUntilAs_isWhenTheClockAloneChangesTheStatus reads every moment around those at
// which a status could change, of what is registered as it was and anew.
func TestUntilAs_isWhenTheClockAloneChangesTheStatus(t *testing.T) {
	t.Parallel()
	one := component(1, 1)
	registration, err := one.Registration()
	if err != nil {
		t.Fatal(err)
	}
	other := registration
	other.Definition += "0"
	policy := one.Policy()
	for _, history := range []string{"", "p", "f", "u", "pf"} {
		made, _ := standing(history, policy)
		made.RegisteredAt = began()
		for _, as := range []registry.Registration{registration, other} {
			known := registry.Known{Registration: as, Standing: made}
			told := func(at time.Time) string {
				reading := one.ReadAs(registration, known, at)
				return string(reading.Status) + ": " + reading.Reason
			}
			for _, from := range []time.Time{began(), made.Last.ProbedAt} {
				for _, after := range []time.Duration{-registry.MaxSkew, 0, policy.TTL, policy.ProbingDeadline} {
					for _, around := range []time.Duration{-1, 0, 1} {
						at := from.Add(after + around)
						until := one.UntilAs(registration, known, at)
						if until.IsZero() {
							until = at.Add(1000 * time.Hour)
						} else if told(until) == told(at) || !until.After(at) {
							t.Errorf("%q at %v is %q, and still at %v", history, at, told(at), until)
						}
						if before := until.Add(-1); told(before) != told(at) {
							t.Errorf("%q at %v is %q, and at %v, before %v, %q", history, at, told(at), before, until, told(before))
						}
					}
				}
			}
		}
	}
}
