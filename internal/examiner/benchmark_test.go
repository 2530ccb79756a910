package examiner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// probedFleet is a glance at a fleet on SQLite of which each tenth is red.
// Each component has a slot and a run.
func probedFleet(b *testing.B, size int) *examiner.Glance {
	b.Helper()
	registered := fleet(size)
	for i := range registered.Components {
		registered.Slots = append(registered.Slots, registry.Slot{Name: registered.Components[i].Name, Primary: registered.Components[i].Name})
		registered.Runs = append(registered.Runs, registry.Run{Name: registered.Components[i].Name, Slots: []registry.RunSlot{{Slot: registered.Components[i].Name}}})
	}
	return probed(b, registered)
}

// fullFleet is as much as a configuration may register.
func fullFleet() *registry.Registered {
	const components, slots, inSlot, runs, inRun = 10_000, 1000, 16, 1000, 100
	registered := fleet(components)
	for i := range slots {
		slot := registry.Slot{Name: fleetName(i), Primary: fleetName(i * inSlot % components)}
		for n := 1; n < inSlot; n++ {
			slot.Fallbacks = append(slot.Fallbacks, fleetName((i*inSlot+n)%components))
		}
		registered.Slots = append(registered.Slots, slot)
	}
	for i := range runs {
		run := registry.Run{Name: fleetName(i)}
		for n := range inRun {
			run.Slots = append(run.Slots, registry.RunSlot{Slot: fleetName((i + n) % slots), Required: n%2 == 0})
		}
		registered.Runs = append(registered.Runs, run)
	}
	return registered
}

// probed is a glance at what is registered, of which each tenth is red.
func probed(b *testing.B, registered *registry.Registered) *examiner.Glance {
	b.Helper()
	database, err := store.Open(b.Context(), storetest.SQLite(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = database.Close() })
	began := newClock().now().UTC()
	now := began
	examined := examiner.New(examiner.Options{Store: database, Now: func() time.Time { return now }})
	if err := examined.Use(b.Context(), registered); err != nil {
		b.Fatal(err)
	}
	now = began.Add(10 * time.Second)
	records := make([]registry.Record, 0, len(registered.Components))
	for i := range registered.Components {
		component := &registered.Components[i]
		definition, err := component.Definition()
		if err != nil {
			b.Fatal(err)
		}
		result := registry.ProbeResult{ProbedAt: now, Profile: registry.ThreeGates, Healthz: registry.Pass(time.Millisecond, ""), Test: registry.Pass(time.Millisecond, "")}
		result.ListTools = registry.ToolsResult{GateResult: registry.Pass(time.Millisecond, ""), ToolCount: 1}
		if i%10 == 0 {
			result.Test = registry.Fail(time.Second, registry.Timeout, "the time ran out")
		}
		document, err := result.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, registry.Record{
			ID: uuid.Must(uuid.NewV7()).String(), Policy: component.Policy(), Summary: result.Summary(), Document: document,
			Registration: registry.Registration{Name: component.Name, Kind: registry.KindMCPServer, Definition: definition},
		})
	}
	for part := range slices.Chunk(records, 500) {
		if err := database.Record(b.Context(), nil, part); err != nil {
			b.Fatal(err)
		}
	}
	return examiner.NewGlance(examined)
}

// BenchmarkPage tells what each list costs, and how much more of it there is with
// 10,000 components than with 100, each of which has a slot and a run.
func BenchmarkPage(b *testing.B) {
	few, many := probedFleet(b, 100), probedFleet(b, 10_000)
	for _, row := range []struct {
		name string
		list func(*examiner.Glance) error
	}{
		{"components", func(g *examiner.Glance) error {
			_, err := g.Components(b.Context(), registry.ComponentQuery{Limit: 10})
			return err
		}},
		{"components-of-a-status", func(g *examiner.Glance) error {
			_, err := g.Components(b.Context(), registry.ComponentQuery{Limit: 9, Status: registry.Unavailable, Kind: registry.KindMCPServer})
			return err
		}},
		{"components-found", func(g *examiner.Glance) error {
			_, err := g.Components(b.Context(), registry.ComponentQuery{Limit: 10, Search: "9"})
			return err
		}},
		{"components-of-no-such-name", func(g *examiner.Glance) error {
			_, err := g.Components(b.Context(), registry.ComponentQuery{Limit: 10, Search: "nothing"})
			return err
		}},
		{"attention", func(g *examiner.Glance) error { _, err := g.Attention(b.Context(), 10); return err }},
		{"results", func(g *examiner.Glance) error {
			_, err := g.Results(b.Context(), fleetName(50), registry.ResultQuery{Limit: 10})
			return err
		}},
		{"slots", func(g *examiner.Glance) error {
			_, err := g.SlotPage(b.Context(), registry.PageQuery{Limit: 10, Cursor: afterSlot(fleetName(50))})
			return err
		}},
		{"runs", func(g *examiner.Glance) error {
			_, err := g.RunPage(b.Context(), registry.PageQuery{Limit: 10, Cursor: cursor.Runs.After("", []byte(fleetName(50)))})
			return err
		}},
		{"run", func(g *examiner.Glance) error { _, err := g.RunView(b.Context(), fleetName(99)); return err }},
	} {
		b.Run(row.name, func(b *testing.B) {
			took := map[*examiner.Glance]time.Duration{}
			for _, of := range []*examiner.Glance{few, many} {
				if err := row.list(of); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				for _, of := range []*examiner.Glance{few, many} {
					at := time.Now()
					if err := row.list(of); err != nil {
						b.Fatal(err)
					}
					took[of] += time.Since(at)
				}
			}
			b.ReportMetric(float64(took[many])/float64(took[few]), "times")
			b.ReportMetric(float64(took[many].Microseconds())/float64(b.N), "many-µs/op")
		})
	}
}

// BenchmarkRefresh makes one of 10,000 components new in the index, with as many slots
// and runs as a configuration may have.
func BenchmarkRefresh(b *testing.B) {
	seen := probed(b, fullFleet())
	if _, err := seen.Attention(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for n := range b.N {
		if err := seen.Refresh(b.Context(), []string{fleetName(n % 10_000)}); err != nil {
			b.Fatal(err)
		}
	}
}
