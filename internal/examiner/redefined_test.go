package examiner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// at registers asm at an address.
func at(url string) *registry.Registered {
	return &registry.Registered{
		Components: []registry.Component{{Name: "asm", Spec: &registry.MCPServer{URL: url, Profile: registry.ThreeGates}}},
		Slots:      []registry.Slot{{Name: "recon", Primary: "asm"}},
		Runs:       []registry.Run{{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}}}},
	}
}

// TestUse_letsAProbeOfAFormerDefinitionCountForThatOnly lets the two probes end in
// either order.
func TestUse_letsAProbeOfAFormerDefinitionCountForThatOnly(t *testing.T) {
	for _, oldFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			let := map[string]chan struct{}{"http://old": make(chan struct{}), "http://new": make(chan struct{})}
			b := start(t, at("http://old"))
			b.ExamineWith(func(_ context.Context, component *registry.Component, settings probe.Settings) registry.Result {
				result := passing()
				result.ProbedAt = settings.Now()
				url := component.Spec.(*registry.MCPServer).URL
				if url == "http://old" {
					result.Healthz = registry.Fail(0, registry.Refused, "old")
				}
				<-let[url]
				return &result
			})
			var old, fresh registry.Examination
			probed := func(into *registry.Examination) {
				var err error
				if *into, err = b.Probe(t.Context(), "asm"); err != nil {
					t.Error(err)
				}
			}
			var olds, news sync.WaitGroup
			olds.Go(func() { probed(&old) })
			synctest.Wait()
			if err := b.Use(t.Context(), at("http://new")); err != nil {
				t.Fatal(err)
			}
			news.Go(func() { probed(&fresh) })
			synctest.Wait()
			ends := []func(){
				func() { close(let["http://old"]); olds.Wait() },
				func() { close(let["http://new"]); news.Wait() },
			}
			if !oldFirst {
				ends[0], ends[1] = ends[1], ends[0]
			}
			for _, end := range ends {
				end()
			}
			if old.Passed || old.Status != registry.Unavailable || !fresh.Passed || fresh.Status != registry.Available {
				t.Errorf("old first %v: got %+v and %+v", oldFirst, old.Reading, fresh.Reading)
			}
			page, err := b.Components(t.Context(), registry.ComponentQuery{})
			if err != nil || len(page.Components) != 1 || page.Components[0].Status != registry.Available {
				t.Errorf("old first %v: got %+v, %v", oldFirst, page, err)
			}
			for _, id := range []*string{old.ResultID, fresh.ResultID} {
				if _, err := b.store.Result(t.Context(), *id); err != nil {
					t.Errorf("old first %v: %v", oldFirst, err)
				}
			}
		})
	}
}

// TestUse_keepsProbesOfAFormerDefinitionFromBeginning redefines a component while
// a preflight and a probe of it wait for room.
func TestUse_keepsProbesOfAFormerDefinitionFromBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := startWith(t, only("other"), func(o *examiner.Options) { o.MaxProbes = 1 })
		both := func(url string) *registry.Registered {
			registered := at(url)
			registered.Components = append(registered.Components, only("other").Components...)
			return registered
		}
		if err := one.Use(t.Context(), both("http://old")); err != nil {
			t.Fatal(err)
		}
		let, probed := make(chan struct{}), make(chan string, 10)
		one.ExamineWith(func(_ context.Context, component *registry.Component, settings probe.Settings) registry.Result {
			probed <- component.Spec.(*registry.MCPServer).URL
			if component.Name == "other" {
				<-let
			}
			result := passing()
			result.ProbedAt = settings.Now()
			return &result
		})
		var all sync.WaitGroup
		all.Go(func() { _, _ = one.Probe(t.Context(), "other") })
		synctest.Wait()
		var preflight registry.Preflight
		all.Go(func() {
			var err error
			if preflight, err = one.Preflight(t.Context(), "nightly"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := one.Use(t.Context(), both("http://new")); err != nil {
			t.Fatal(err)
		}
		close(let)
		all.Wait()
		close(probed)
		var order []string
		for url := range probed {
			order = append(order, url)
		}
		if diff := cmp.Diff([]string{"http://127.0.0.1:1", "http://new"}, order); diff != "" || !preflight.Allowed {
			t.Errorf("allowed %v; probed (-want +got):\n%s", preflight.Allowed, diff)
		}
	})
}

// TestComponent_tellsWhereItsDefinitionChanged defines asm anew before each probe.
func TestComponent_tellsWhereItsDefinitionChanged(t *testing.T) {
	t.Parallel()
	b := start(t, at("http://0"))
	b.ExamineWith(func(_ context.Context, _ *registry.Component, settings probe.Settings) registry.Result {
		result := passing()
		result.ProbedAt = settings.Now()
		return &result
	})
	for defined := range 30 {
		if err := b.Use(t.Context(), at(fmt.Sprintf("http://%d", defined))); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Probe(t.Context(), "asm"); err != nil {
			t.Fatal(err)
		}
		b.clock.pass(time.Second)
		view, err := b.Component(t.Context(), "asm")
		if err != nil || len(view.Changes) != min(defined+1, 20) {
			t.Fatalf("definition %d: %d changes, %v", defined, len(view.Changes), err)
		}
		for i, change := range view.Changes {
			if isFirst := i == defined; change.From != registry.Probing || change.Redefined == isFirst {
				t.Errorf("definition %d: change %d is from %s; redefined: %v", defined, i, change.From, change.Redefined)
			}
		}
	}
}

func TestUse_goesOnWithTheFormerSetWhenTheStoreIsGone(t *testing.T) {
	t.Parallel()
	b := start(t, at("http://old"))
	b.store.breakDown(errBroken)
	wantFault(t, b.Use(t.Context(), at("http://new")), fault.Unavailable)
	if got := b.Registered().Components[0].Spec.(*registry.MCPServer).URL; got != "http://old" {
		t.Errorf("asm is registered at %s", got)
	}
}

// An alert that is old links to what is no longer registered.
func TestComponent_tellsWhatWasKeptOfOneThatIsNoLongerRegistered(t *testing.T) {
	t.Parallel()
	b := start(t, only("a", "b"))
	digest := "sha256:1"
	b.ExamineWith(func(_ context.Context, _ *registry.Component, settings probe.Settings) registry.Result {
		result := passing()
		result.ProbedAt, result.ToolsDigest = settings.Now(), digest
		return &result
	})
	for _, digest = range []string{"sha256:1", "sha256:2"} {
		if _, err := b.Probe(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		b.clock.pass(time.Second)
	}
	if view, err := b.Component(t.Context(), "b"); err != nil || view.Drift == nil {
		t.Fatalf("while it is registered it tells no drift: %+v, %v", view, err)
	}
	if err := b.Use(t.Context(), only("a")); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(time.Minute)
	view, err := b.Component(t.Context(), "b")
	if err != nil || !view.Unregistered || view.Status != registry.Unknown || view.Result == nil || len(view.Changes) != 1 || *view.AgeMs != (time.Minute+time.Second).Milliseconds() {
		t.Errorf("got %+v, %v", view, err)
	}
	if view.Drift != nil || view.AcceptedDigest == "" {
		t.Errorf("it tells the drift %+v of what nobody can accept; accepted %q", view.Drift, view.AcceptedDigest)
	}
	if page, err := b.Results(t.Context(), "b", registry.ResultQuery{}); err != nil || len(page.Results) != 2 {
		t.Errorf("%d results are listed, %v", len(page.Results), err)
	}
	_, err = b.Probe(t.Context(), "b")
	wantFault(t, err, fault.NotFound)
	if view, err := b.Component(t.Context(), "a"); err != nil || view.Unregistered {
		t.Errorf("one that is registered: %+v, %v", view, err)
	}
	for _, name := range []string{"c", "A b"} {
		_, err = b.Component(t.Context(), name)
		wantFault(t, err, fault.NotFound)
		_, err = b.Results(t.Context(), name, registry.ResultQuery{})
		wantFault(t, err, fault.NotFound)
	}
}

func TestProbe_ofWhatWasRemovedMeanwhileIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, only("a", "b"), func(o *examiner.Options) { o.MaxProbes = 1 })
		h := &held{let: make(chan struct{}), result: passing()}
		b.ExamineWith(h.examine)
		var all sync.WaitGroup
		all.Go(func() { _, _ = b.Probe(t.Context(), "a") })
		synctest.Wait()
		all.Go(func() {
			_, err := b.Probe(t.Context(), "b")
			wantFault(t, err, fault.NotFound)
		})
		synctest.Wait()
		if err := b.Use(t.Context(), only("a")); err != nil {
			t.Fatal(err)
		}
		close(h.let)
		all.Wait()
	})
}

// TestExaminer_reliesOnNothingThatAnotherProcessFoundOfAnotherDefinition has two
// processes with different configurations on one database.
func TestExaminer_reliesOnNothingThatAnotherProcessFoundOfAnotherDefinition(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{MaxAge: time.Hour}, plain)
	n.preflight(t, "nightly")
	other := examiner.New(examiner.Options{Store: n.store, Now: n.clock.now, Version: "test"})
	elsewhere := *n.registered
	elsewhere.Components = append([]registry.Component{n.fallback.component("asm")}, n.registered.Components[1:]...)
	if err := other.Use(t.Context(), &elsewhere); err != nil {
		t.Fatal(err)
	}
	n.clock.pass(time.Second)
	if got, err := other.Probe(t.Context(), "asm"); err != nil || !got.Passed {
		t.Fatalf("got %+v, %v", got.Reading, err)
	}
	if view, err := n.Component(t.Context(), "asm"); err != nil || view.Status != registry.Probing || view.Result != nil {
		t.Errorf("got %+v, %v", view, err)
	}
	_, err := n.Accept(t.Context(), "asm")
	wantFault(t, err, fault.WrongState)
	n.primary.dead.Store(true)
	if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm-eu (asm: status)" {
		t.Errorf("got %s", got)
	}
}
