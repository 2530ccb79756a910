package probe

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// fakeClocks are the clocks of a machine, which a test moves.
type fakeClocks struct {
	mu   sync.Mutex
	now  reading
	live bool // gates run by the true clock beside them
}

func newFakeClocks() *fakeClocks {
	return &fakeClocks{now: reading{at: time.Now(), wall: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}}
}

// newLiveClocks are for a probe of a real server.
func newLiveClocks() *fakeClocks {
	clocks := newFakeClocks()
	clocks.live = true
	return clocks
}

func (c *fakeClocks) read() reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live {
		c.now.at = time.Now()
	}
	return c.now
}

func (c *fakeClocks) step(steady, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.at = c.now.at.Add(steady)
	c.now.steady += steady
	c.now.wall = c.now.wall.Add(wall)
}

// asked is a gate that was asked from one moment after a reading to another, and
// failed.
func asked(from reading, began, ended time.Duration, cause registry.Cause) *registry.GateResult {
	gate := registry.Fail(ended-began, cause, "no answer")
	gate.Began, gate.Ended = from.at.Add(began), from.at.Add(ended)
	return &gate
}

// these are the gates of a result that is made of them.
func these(gates ...*registry.GateResult) func() []*registry.GateResult {
	return func() []*registry.GateResult { return gates }
}

func TestWatch_excusesOnlyWhatFailedInAStall(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limit, steady, wall time.Duration
		excuses             bool
	}{
		"no stall":                             {time.Minute, 0, 0, false},
		"a pause between two looks":            {10 * time.Second, 625 * time.Millisecond, 625 * time.Millisecond, false},
		"a fifth of the time-out":              {10 * time.Second, 2625 * time.Millisecond, 2625 * time.Millisecond, false},
		"half of the time-out":                 {10 * time.Second, 5 * time.Second, 5 * time.Second, true},
		"a busy machine and a short time-out":  {time.Second, time.Second, time.Second, false},
		"a stop of a short time-out":           {time.Second, 2 * time.Second, 2 * time.Second, true},
		"a long time-out":                      {10 * time.Minute, 15 * time.Second, 15 * time.Second, true},
		"a machine that slept":                 {10 * time.Second, 0, time.Hour, true},
		"a machine that slept in a long probe": {10 * time.Minute, time.Second, time.Hour, true},
		"a step of the clock":                  {10 * time.Second, 0, 10 * time.Second, false},
		"the clock put back":                   {10 * time.Second, 0, -time.Hour, false},
		"the clock put back in a stop":         {10 * time.Second, 5 * time.Second, -time.Hour, true},
	} {
		clocks := newFakeClocks()
		from := clocks.now
		watch := Settings{clocks: clocks.read}.watched(row.limit)
		clocks.step(row.steady, row.wall)
		late, held := asked(from, -time.Millisecond, row.steady+time.Millisecond, registry.Timeout), registry.Pass(time.Second, "held")
		held.Began, held.Ended = late.Began, late.Ended
		denied, passed := asked(from, -time.Millisecond, row.steady+time.Millisecond, registry.Denied), held
		watch.end(these(&held, late, nil, denied))
		if excused := late.Cause == registry.Overloaded; excused != row.excuses || !excused && late.Detail != "no answer" {
			t.Errorf("%s: got %s: %s, want it excused: %v", name, late.Cause, late.Detail, row.excuses)
		}
		if late.OK || held != passed || denied.Cause != registry.Denied || denied.Detail != "no answer" {
			t.Errorf("%s: what is no failure of the server has become %+v, %+v; the failure %+v", name, held, denied, late)
		}
	}
}

// TestWatch_excusesOnlyWhatWasAskedInAStall has a stop of 5 s begin 3 s after the
// clocks were looked at first, or a machine sleep for an hour at that moment.
func TestWatch_excusesOnlyWhatWasAskedInAStall(t *testing.T) {
	t.Parallel()
	for stood, steady := range map[time.Duration]time.Duration{5 * time.Second: 5 * time.Second, time.Hour: 0} {
		over := 3*time.Second + steady
		for name, row := range map[string]struct {
			began, ended time.Duration
			excuses      bool
		}{
			"over before":          {0, time.Second, false},
			"begun before":         {time.Second, over + time.Millisecond, true},
			"begun after":          {over + time.Millisecond, over + time.Second, false},
			"a copy of one before": {0, 2 * time.Second, false},
		} {
			clocks := newFakeClocks()
			from := clocks.now
			watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
			for range 6 {
				clocks.step(time.Second/2, time.Second/2)
				watch.look()
			}
			clocks.step(steady, stood)
			watch.look()
			clocks.step(time.Second/2, time.Second/2)
			gate := asked(from, row.began, row.ended, registry.Unreachable)
			watch.end(these(gate))
			if excused := gate.Cause == registry.Overloaded; excused != row.excuses {
				t.Errorf("%s a stall of %v: got %s: %s, want it excused: %v", name, stood, gate.Cause, gate.Detail, row.excuses)
			}
		}
	}
}

// TestWatch_excusesNoMoreThanAStallBringsAbout goes through all causes, so that each
// new one is thought about.
func TestWatch_excusesNoMoreThanAStallBringsAbout(t *testing.T) {
	t.Parallel()
	excused := []registry.Cause{registry.DNS, registry.Unreachable, registry.Timeout, registry.ProtocolError}
	for _, entry := range registry.Causes() {
		clocks := newFakeClocks()
		from := clocks.now
		watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
		clocks.step(13*time.Second, 13*time.Second)
		gate := asked(from, 0, 13*time.Second, entry.Cause)
		watch.end(these(gate))
		want := entry.Cause
		if slices.Contains(excused, want) {
			want = registry.Overloaded
		}
		if gate.Cause != want {
			t.Errorf("a stall makes %s of %s, want %s", gate.Cause, entry.Cause, want)
		}
	}
}

func TestWatch_judgesWhatWasNotAskedByWhatItFailedFor(t *testing.T) {
	t.Parallel()
	for cause, excuses := range map[registry.Cause]bool{registry.Timeout: true, registry.Unreachable: false, registry.NotConfigured: false} {
		clocks := newFakeClocks()
		from := clocks.now
		watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
		clocks.step(time.Second/2, time.Second/2)
		watch.look()
		clocks.step(5*time.Second, 5*time.Second)
		late, before := asked(from, 0, 6*time.Second, registry.Timeout), asked(from, 0, time.Millisecond, registry.Unreachable)
		unasked := registry.Fail(0, cause, "the tools could not be listed")
		watch.end(these(&unasked, late, before))
		if excused := unasked.Cause == registry.Overloaded; excused != excuses || late.Cause != registry.Overloaded || before.Cause != registry.Unreachable {
			t.Errorf("%s: what was not asked is %s: %s; want it excused: %v", cause, unasked.Cause, unasked.Detail, excuses)
		}
	}
}

func TestWatch_tellsOfTheLongestStall(t *testing.T) {
	t.Parallel()
	clocks := newFakeClocks()
	from := clocks.now
	watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
	for _, stood := range []time.Duration{30 * time.Second, 5 * time.Second, time.Second / 2} {
		clocks.step(stood, stood)
		watch.look()
	}
	whole, second := asked(from, 0, 36*time.Second, registry.Timeout), asked(from, 30*time.Second, 36*time.Second, registry.Timeout)
	watch.end(these(whole, second))
	const want = "this process stood still for 29.4s until 2026-12-01T12:00:30.000Z, so this says nothing: timeout: no answer"
	if whole.Detail != want {
		t.Errorf("got %q, want %q", whole.Detail, want)
	}
	if want := strings.NewReplacer("29.4s", "4.4s", "00:30", "00:35").Replace(want); second.Detail != want {
		t.Errorf("what was asked after the longest: got %q, want %q", second.Detail, want)
	}
}

func TestWatch_keepsItsBoundOfStalls(t *testing.T) {
	t.Parallel()
	clocks := newFakeClocks()
	watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
	for range 2 * maxStalls {
		clocks.step(5*time.Second, 5*time.Second)
		watch.look()
	}
	watch.end(these())
	if len(watch.stalls) != maxStalls {
		t.Errorf("%d stalls are kept", len(watch.stalls))
	}
}

// TestWatch_isEndedWhateverItsGatesDo ends its goroutine before it asks for the gates.
func TestWatch_isEndedWhateverItsGatesDo(t *testing.T) {
	t.Parallel()
	clocks := newFakeClocks()
	watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
	clocks.step(time.Hour, time.Hour)
	func() {
		defer func() { _ = recover() }()
		watch.end(func() []*registry.GateResult { panic("no such row") })
	}()
	select {
	case <-watch.done:
	default:
		t.Error("a panic left the watch behind")
	}
}

// newBreaking starts a server that ends each connection without an answer; at the
// first request the clocks step, as they do in a stall.
func newBreaking(t *testing.T, clocks *fakeClocks, stall time.Duration) (url string) {
	t.Helper()
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once.Do(func() { clocks.step(stall, stall) })
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestExamine_isUndecidedWhenThisProcessStoodStill probes components of each kind
// that give no answer, with and without a stall.
func TestExamine_isUndecidedWhenThisProcessStoodStill(t *testing.T) {
	t.Parallel()
	for stall, want := range map[time.Duration]registry.Outcome{0: registry.OutcomeFailed, time.Hour: registry.OutcomeUndecided} {
		with := func(clocks *fakeClocks) Settings {
			return Settings{Timeout: time.Minute, Version: "test", Now: time.Now, clocks: clocks.read}
		}
		check := func(what string, summary registry.Summary) {
			if summary.Outcome != want || strings.Contains(summary.Reason, "stood still") != (stall > 0) {
				t.Errorf("%s after a stall of %v is %s: %s; want %s", what, stall, summary.Outcome, summary.Reason, want)
			}
		}
		for i := range specsAt("") {
			clocks := newLiveClocks()
			spec := specsAt(newBreaking(t, clocks, stall))[i]
			result := Examine(t.Context(), &registry.Component{Name: "asm", Spec: spec}, with(clocks))
			check(string(spec.Kind()), result.Summary())
			document, _, err := Recorded(result)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := registry.DecodeResult(spec.Kind(), document); err != nil {
				t.Errorf("the record of a %s does not decode: %v", spec.Kind(), err)
			}
		}
		clocks := newLiveClocks()
		typed, err := ParseMCPServer(newBreaking(t, clocks, stall), "")
		if err != nil {
			t.Fatal(err)
		}
		got := typed.Probe(t.Context(), with(clocks))
		check("an address that was typed", got.Summary())
	}
}

// TestExamine_failsForWhatAServerSaidThoughThisProcessStoodStill has a server refuse
// one page at once, and end the other connections in a stall.
func TestExamine_failsForWhatAServerSaidThoughThisProcessStoodStill(t *testing.T) {
	t.Parallel()
	clocks := newLiveClocks()
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		once.Do(func() { clocks.step(time.Hour, time.Hour) })
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	settings := Settings{Version: "test", Now: time.Now, clocks: clocks.read}
	summary := Examine(t.Context(), &registry.Component{Name: "asm", Spec: specsAt(server.URL)[0]}, settings).Summary()
	if want := []registry.Cause{registry.HTTPStatus, registry.Overloaded}; summary.Outcome != registry.OutcomeFailed || !slices.Equal(summary.Causes, want) {
		t.Errorf("it is %s for %v: %s; want it failed for %v", summary.Outcome, summary.Causes, summary.Reason, want)
	}
}

// TestKinds_haveRowsThatAreWhole looks for a function that a row leaves out.
func TestKinds_haveRowsThatAreWhole(t *testing.T) {
	t.Parallel()
	for _, row := range kinds() {
		fields := reflect.ValueOf(row)
		for i := range fields.NumField() {
			if fields.Field(i).IsZero() {
				t.Errorf("the kind %s has no %s", row.kind, fields.Type().Field(i).Name)
			}
		}
	}
}

// specsAt describes one component of each kind that a server is asked about.
func specsAt(url string) []registry.Spec {
	server := registry.MCPServer{URL: url, Profile: registry.ThreeGates}
	return []registry.Spec{
		&server,
		&registry.KnowledgeBase{MCPServer: server, Retrieve: registry.Retrieval{Tool: "search"}},
		&registry.Model{Provider: registry.ProviderAnthropic, Mode: registry.ModeChat, Model: "m", BaseURL: url},
		&registry.Harness{Image: strings.TrimPrefix(url, "http://") + "/a@sha256:" + strings.Repeat("0", 64)},
	}
}
