package examiner_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// onDatabase is an examiner on a real database.
type onDatabase struct {
	nightly

	database *store.Database
}

func onEach(t *testing.T, slot registry.Slot, test func(*testing.T, onDatabase)) {
	t.Helper()
	for name, location := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, err := store.Open(t.Context(), location(t), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Close() })
			test(t, onDatabase{startNightly(t, slot, func(o *examiner.Options) { o.Store = database }), database})
		})
	}
}

func TestDatabases_keepWhatAPreflightRestsOn(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{MaxAge: time.Minute}, func(t *testing.T, n onDatabase) {
		made := n.preflight(t, "both")
		if got := short(made); got != "allowed recon=asm author=writer" {
			t.Errorf("got %s", got)
		}
		for _, slot := range made.Slots {
			for _, attempt := range slot.Attempts {
				kept, err := n.database.Result(t.Context(), attempt.ResultID)
				if err != nil || kept.Component != attempt.Component || kept.Seen.Outcome != registry.OutcomePassed {
					t.Errorf("got %+v, %v", kept, err)
				}
			}
		}
		kept, err := n.database.Preflights(t.Context(), "both", registry.PreflightPlace{}, 10)
		if err != nil || len(kept) != 1 || kept[0].Preflight.Ticket == nil || kept[0].Preflight.Ticket.Signature != made.Ticket.Signature {
			t.Errorf("kept %+v, %v", kept, err)
		}
		n.primary.dead.Store(true)
		if again := n.preflight(t, "both").Slots[0].Attempts[0]; !again.Reused || again.ResultID != made.Slots[0].Attempts[0].ResultID {
			t.Errorf("a young pass is not reused: %+v", again)
		}
		n.clock.pass(2 * time.Minute)
		if got := short(n.preflight(t, "both")); got != "allowed recon=asm-eu (asm: status) author=writer" {
			t.Errorf("got %s", got)
		}
		ticket, err := json.Marshal(made.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		report, err := n.Check(t.Context(), ticket)
		if err != nil || report.Holds || report.Slots[0].OK || !report.Slots[1].OK {
			t.Errorf("the ticket: %+v, %v", report, err)
		}
		page, err := n.Components(t.Context(), registry.ComponentQuery{Status: registry.Available})
		if err != nil || len(page.Components) != 2 {
			t.Errorf("got %+v, %v", page, err)
		}
		view, err := n.Component(t.Context(), "asm")
		if err != nil || view.Status != registry.Unavailable || len(view.Changes) == 0 || len(view.Hours) == 0 || len(view.Result) == 0 {
			t.Errorf("got %+v, %v", view, err)
		}
	})
}

func TestDatabases_tellAndAcceptDrift(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		n.registered.Component("asm").Spec.(*registry.MCPServer).Drift = registry.DriftBlocks
		n.preflight(t, "nightly")
		n.primary.serves("other", "scan")
		if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm-eu (asm: tools_changed)" {
			t.Errorf("got %s", got)
		}
		// Whoever redefines a component has not accepted its tools.
		n.registered.Component("asm").Spec.(*registry.MCPServer).RequireTools = []string{"scan"}
		if err := n.Use(t.Context(), n.registered); err != nil {
			t.Fatal(err)
		}
		_, err := n.Accept(t.Context(), "asm")
		wantFault(t, err, fault.WrongState)
		n.clock.pass(time.Second)
		if probed, err := n.Probe(t.Context(), "asm"); err != nil || !probed.Passed || probed.Drift == nil {
			t.Errorf("got %+v, %v", probed, err)
		}
		accepted, err := n.Accept(t.Context(), "asm")
		if err != nil || accepted.Drift == nil || accepted.Drift.String() != "changed scan (description)" {
			t.Errorf("got %+v, %v", accepted, err)
		}
		if got := short(n.preflight(t, "nightly")); got != "allowed recon=asm" {
			t.Errorf("got %s", got)
		}
		if view, err := n.Component(t.Context(), "asm"); err != nil || view.Drift != nil || view.AcceptedDigest != accepted.Digest {
			t.Errorf("got %+v, %v", view, err)
		}
	})
}

// TestDatabases_keepAResultOfAFormerDefinitionApart has a probe end after its
// component was redefined and probed anew.
func TestDatabases_keepAResultOfAFormerDefinitionApart(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		began, let := make(chan struct{}), make(chan struct{})
		n.primary.dead.Store(true)
		var once sync.Once
		n.primary.hold = func() { once.Do(func() { close(began) }); <-let }
		var old registry.Examination
		var all sync.WaitGroup
		all.Go(func() {
			var err error
			if old, err = n.Probe(t.Context(), "asm"); err != nil {
				t.Error(err)
			}
		})
		<-began
		n.registered.Components[0] = n.fallback.component("asm")
		if err := n.Use(t.Context(), n.registered); err != nil {
			t.Fatal(err)
		}
		fresh, err := n.Probe(t.Context(), "asm")
		if err != nil || fresh.Status != registry.Available {
			t.Errorf("got %+v, %v", fresh.Reading, err)
		}
		close(let)
		all.Wait()
		if old.Status != registry.Unavailable || old.ResultID == nil || *old.ResultID == *fresh.ResultID {
			t.Fatalf("the former one is %+v", old.Reading)
		}
		if _, err := n.database.Result(t.Context(), *old.ResultID); err != nil {
			t.Error(err)
		}
		view, err := n.Component(t.Context(), "asm")
		if err != nil || view.Status != registry.Available || *view.ResultID != *fresh.ResultID {
			t.Errorf("got %+v, %v", view.Reading, err)
		}
	})
}

func TestDatabases_takeAThousandPreflightsAtOnce(t *testing.T) {
	t.Parallel()
	const many = 1000
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if got, err := n.Preflight(t.Context(), "nightly"); err != nil || !got.Allowed {
					t.Errorf("got %s, %v", short(got), err)
				}
			})
		}
		all.Wait()
		if probes := n.primary.probes.Load(); probes >= many {
			t.Errorf("%d preflights made %d probes", many, probes)
		}
	})
}
