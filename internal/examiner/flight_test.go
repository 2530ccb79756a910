package examiner_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// only registers components that are at no address.
func only(names ...string) *registry.Registered {
	registered := &registry.Registered{}
	for _, name := range names {
		registered.Components = append(registered.Components, registry.Component{
			Name: name, Spec: &registry.MCPServer{URL: "http://127.0.0.1:1", Profile: registry.ThreeGates},
		})
	}
	return registered
}

// held probes begin when they are let, and count.
type held struct {
	let    chan struct{}
	began  atomic.Int64
	ended  atomic.Int64
	result registry.ProbeResult
}

func (h *held) examine(ctx context.Context, _ *registry.Component, settings probe.Settings) registry.Result {
	h.began.Add(1)
	defer h.ended.Add(1)
	result := h.result
	result.ProbedAt = settings.Now()
	select {
	case <-h.let:
	case <-ctx.Done():
	}
	return &result
}

func passing() registry.ProbeResult {
	pass := registry.Pass(time.Millisecond, "")
	return registry.ProbeResult{
		Healthz: pass, Test: pass, ListTools: registry.ToolsResult{GateResult: pass, ToolCount: 1},
		Tools: []string{"scan"}, ToolList: []registry.Tool{{Name: "scan"}}, ToolsDigest: "sha256:1",
	}
}

func TestExamine_isSharedAndOutlivesTheCallerWhoBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := start(t, only("asm")), &held{let: make(chan struct{}), result: passing()}
		b.ExamineWith(h.examine)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := b.Examine(ctx, "asm")
			wantFault(t, err, fault.Unavailable)
		})
		synctest.Wait()
		var first, second registry.Record
		for _, into := range []*registry.Record{&first, &second} {
			all.Go(func() {
				var err error
				if *into, err = b.Examine(t.Context(), "asm"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := b.Waiting("asm"); got != 2 || h.ended.Load() != 0 {
			t.Errorf("%d wait, %d probes have ended; want 2 and 0", got, h.ended.Load())
		}
		close(h.let)
		all.Wait()
		if first.ID == "" || first.ID != second.ID || h.began.Load() != 1 {
			t.Errorf("got the results %q and %q of %d probes", first.ID, second.ID, h.began.Load())
		}
		if id, err := uuid.Parse(first.ID); err != nil || id.Version() != 7 {
			t.Errorf("%s is no UUID of version 7: %v", first.ID, err)
		}
		if b.store.recorded != 0 {
			t.Error("a result is recorded although nobody asked for that")
		}
	})
}

func TestExamine_endsTheProbeWhenAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := start(t, only("asm")), &held{let: make(chan struct{}), result: passing()}
		b.ExamineWith(h.examine)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := b.Probe(ctx, "asm")
				wantFault(t, err, fault.Unavailable)
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if h.began.Load() != 1 || h.ended.Load() != 1 {
			t.Errorf("%d probes began, %d have ended; want 1 and 1", h.began.Load(), h.ended.Load())
		}
		if b.store.recorded != 0 {
			t.Error("what an interrupted probe did not find out is recorded")
		}
		close(h.let)
		if _, err := b.Probe(t.Context(), "asm"); err != nil || h.began.Load() != 2 {
			t.Errorf("the next probe: %v, number %d", err, h.began.Load())
		}
		_, err := b.Probe(ctx, "asm")
		wantFault(t, err, fault.Unavailable)
		if h.began.Load() != 2 {
			t.Error("a probe was begun for somebody who has left before")
		}
	})
}

func TestProbe_tellsAnInterruptionFromALackOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := start(t, only("asm")), &held{let: make(chan struct{}), result: passing()}
		b.ExamineWith(h.examine)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		interrupted, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		for want, ctx := range map[string]context.Context{"when the time for it was over": short, "when it was interrupted": interrupted} {
			if _, err := b.Probe(ctx, "asm"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want what says %q", err, want)
			}
		}
	})
}

func TestProbe_waitsForRoomWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, only("a", "b"), func(o *examiner.Options) { o.MaxProbes = 1 })
		h := &held{let: make(chan struct{}), result: passing()}
		b.ExamineWith(h.examine)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := b.Probe(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Probe(ctx, "b")
		wantFault(t, err, fault.Unavailable)
		if err == nil || !strings.Contains(err.Error(), "still waited for one of 1 others") || h.began.Load() != 1 {
			t.Errorf("got %v after %d probes", err, h.began.Load())
		}
		// The patrol waits for no room, and whoever does is taken along.
		all.Go(func() {
			if _, err := b.Probe(t.Context(), "b"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 2 {
			all.Go(func() {
				if _, err := b.Examine(t.Context(), "b"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if h.began.Load() != 2 || b.Waiting("b") != 3 {
			t.Errorf("%d probes began, %d wait for b; want 2 and 3", h.began.Load(), b.Waiting("b"))
		}
		close(h.let)
		all.Wait()
	})
}

func TestProbe_countsOnlyWhenItIsRecorded(t *testing.T) {
	t.Parallel()
	b, h := start(t, only("asm")), &held{let: make(chan struct{}), result: passing()}
	close(h.let)
	b.ExamineWith(h.examine)
	b.store.breakDown(errBroken)
	_, err := b.Probe(t.Context(), "asm")
	wantFault(t, err, fault.Unavailable)
	if record, err := b.Examine(t.Context(), "asm"); err != nil || record.Summary.Outcome != registry.OutcomePassed {
		t.Errorf("the patrol, which records for itself, got %+v, %v", record, err)
	}
	b.store.breakDown(nil)
	got, err := b.Probe(t.Context(), "asm")
	if err != nil || !got.Passed || got.Status != registry.Available {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := b.store.Result(t.Context(), *got.ResultID); err != nil {
		t.Error(err)
	}
}

func TestProbe_namesTheNearest(t *testing.T) {
	t.Parallel()
	b := start(t, only("asm", "files"))
	for name, hint := range map[string]string{"asn": "Is it asm that is meant?", "writer": "The configuration names asm, for example."} {
		_, err := b.Probe(t.Context(), name)
		wantFault(t, err, fault.NotFound)
		if got, _ := fault.Of(err); got == nil || got.Hint != hint {
			t.Errorf("%s: got %v", name, got)
		}
	}
	_, err := start(t, only()).Examine(t.Context(), "asm")
	wantFault(t, err, fault.NotFound)
}

func TestProbe_thatEndsInAPanicIsUndecided(t *testing.T) {
	t.Parallel()
	b := startWith(t, &registry.Registered{Components: []registry.Component{{
		Name: "asm", Spec: &registry.MCPServer{
			URL: "http://127.0.0.1:1", Profile: registry.ThreeGates, Private: []registry.Secret{registry.SecretAt("env:KEY")},
		},
	}}}, func(o *examiner.Options) {
		o.Resolve = func(string) (string, error) { panic("no such drawer") }
	})
	got, err := b.Probe(t.Context(), "asm")
	if err != nil || got.Status != registry.Unknown || len(got.Causes) != 1 || got.Causes[0] != registry.Overloaded {
		t.Errorf("got %+v, %v", got.Reading, err)
	}
	b.ExamineWith(func(context.Context, *registry.Component, probe.Settings) registry.Result { panic("worse") })
	if _, err = b.Probe(t.Context(), "asm"); err == nil || !strings.Contains(err.Error(), "panic: worse") || b.Waiting("asm") != 0 {
		t.Errorf("got %v, and %d still wait", err, b.Waiting("asm"))
	}
}

// TestPreflights_shareProbes holds the only answer of the server back until all
// preflights wait for it.
func TestPreflights_shareProbes(t *testing.T) {
	t.Parallel()
	const many = 1000
	server := startDouble(t)
	b := start(t, &registry.Registered{
		Components: []registry.Component{server.component("asm")},
		Slots:      []registry.Slot{{Name: "recon", Primary: "asm"}, {Name: "again", Primary: "asm"}},
		Runs:       []registry.Run{{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}, {Slot: "again"}}}},
	})
	server.hold = func() {
		for b.Waiting("asm") < many && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	var all sync.WaitGroup
	tickets := make([]*registry.Ticket, many)
	for i := range tickets {
		all.Go(func() {
			got, err := b.Preflight(t.Context(), "nightly")
			if err != nil || !got.Allowed || got.Ticket == nil {
				t.Errorf("got %+v, %v", got, err)
				return
			}
			tickets[i] = got.Ticket
		})
	}
	all.Wait()
	if server.probes.Load() != 1 || b.store.recorded != 1 || len(b.store.asked) != 1 {
		t.Errorf("%d probes, %d records, %d reads; want one of each", server.probes.Load(), b.store.recorded, len(b.store.asked))
	}
	kept := map[string]bool{}
	for _, each := range b.store.preflights {
		kept[each.Preflight.Ticket.Signature] = true
	}
	for i := range tickets {
		if tickets[i] == nil || tickets[i].Slots[0].ResultID != tickets[0].Slots[0].ResultID || !kept[tickets[i].Signature] {
			t.Fatalf("the ticket %+v, beside %+v, is not recorded", tickets[i], tickets[0])
		}
	}
}
