package probe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// fakeClocks are both clocks of a machine, which a test moves.
type fakeClocks struct {
	mu  sync.Mutex
	now reading
}

func newFakeClocks() *fakeClocks {
	return &fakeClocks{now: reading{wall: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}}
}

func (c *fakeClocks) read() reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClocks) step(steady, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.steady += steady
	c.now.wall = c.now.wall.Add(wall)
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
		watch := Settings{clocks: clocks.read}.watched(row.limit)
		clocks.step(row.steady, row.wall)
		held, late, denied := registry.Pass(time.Second, "held"), registry.Fail(time.Second, registry.Timeout, "no answer"), registry.Fail(0, registry.Denied, "loopback")
		watch.end([]*registry.GateResult{&held, &late, nil, &denied})
		if excused := late.Cause == registry.Overloaded; excused != row.excuses || !excused && late.Detail != "no answer" {
			t.Errorf("%s: got %s: %s, want it excused: %v", name, late.Cause, late.Detail, row.excuses)
		}
		if late.OK || held != registry.Pass(time.Second, "held") || denied != registry.Fail(0, registry.Denied, "loopback") {
			t.Errorf("%s: what is no failure of the server has become %+v, %+v; the failure %+v", name, held, denied, late)
		}
	}
}

func TestWatch_tellsOfTheLongestStallThatEndedBefore(t *testing.T) {
	t.Parallel()
	clocks := newFakeClocks()
	watch := Settings{clocks: clocks.read}.watched(10 * time.Second)
	for _, stood := range []time.Duration{30 * time.Second, 5 * time.Second, time.Second / 2} {
		clocks.step(stood, stood)
		watch.look()
	}
	late := registry.Fail(time.Second, registry.Timeout, "no answer")
	watch.end([]*registry.GateResult{&late})
	const want = "this machine stood still for 29.4s until 2026-12-01T12:00:30.000Z, so this says nothing: timeout: no answer"
	if late.Detail != want {
		t.Errorf("got %q, want %q", late.Detail, want)
	}
}

// newRefusing starts a server that refuses everything; at the first request the
// clocks step, as they do in a stall.
func newRefusing(t *testing.T, clocks *fakeClocks, stall time.Duration) (url string) {
	t.Helper()
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { clocks.step(stall, stall) })
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestExamine_isUndecidedWhenThisMachineStoodStill probes components of each kind
// that fail, with and without a stall.
func TestExamine_isUndecidedWhenThisMachineStoodStill(t *testing.T) {
	t.Parallel()
	for stall, want := range map[time.Duration]registry.Outcome{0: registry.OutcomeFailed, time.Hour: registry.OutcomeUndecided} {
		clocks := newFakeClocks()
		settings := Settings{Timeout: time.Minute, Version: "test", Now: time.Now, clocks: clocks.read}
		check := func(what string, summary registry.Summary) {
			if summary.Outcome != want || strings.Contains(summary.Reason, "stood still") != (stall > 0) {
				t.Errorf("%s after a stall of %v is %s: %s; want %s", what, stall, summary.Outcome, summary.Reason, want)
			}
		}
		for i := range specsAt("") {
			spec := specsAt(newRefusing(t, clocks, stall))[i]
			result := Examine(t.Context(), &registry.Component{Name: "asm", Spec: spec}, settings)
			check(string(spec.Kind()), result.Summary())
			document, _, err := Recorded(result)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := registry.DecodeResult(spec.Kind(), document); err != nil {
				t.Errorf("the record of a %s does not decode: %v", spec.Kind(), err)
			}
		}
		typed, err := ParseMCPServer(newRefusing(t, clocks, stall), "")
		if err != nil {
			t.Fatal(err)
		}
		got := typed.Probe(t.Context(), settings)
		check("an address that was typed", got.Summary())
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
