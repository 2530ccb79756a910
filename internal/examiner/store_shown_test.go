package examiner_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// ofComponent returns the results of a component, the newest first.
func (m *memory) ofComponent(component string) []registry.Kept {
	var list []registry.Kept
	for _, each := range m.kept {
		if each.Component == component {
			list = append(list, each)
		}
	}
	slices.SortFunc(list, func(a, b registry.Kept) int { return cmp.Compare(b.ID, a.ID) })
	return list
}

func (m *memory) Results(_ context.Context, component, before string, limit int) ([]registry.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []registry.Kept
	for _, each := range m.ofComponent(component) {
		if (before == "" || each.ID < before) && len(list) < limit {
			each.Document = nil
			list = append(list, each)
		}
	}
	return list, m.broken
}

func (m *memory) Recent(_ context.Context, names []string, n int) (map[string][]registry.RecentResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	recent := map[string][]registry.RecentResult{}
	for _, name := range names {
		list := m.ofComponent(name)
		for _, each := range slices.Backward(list[:min(len(list), n)]) {
			recent[name] = append(recent[name], registry.RecentResult{Outcome: each.Seen.Outcome, Latency: each.Latency})
		}
	}
	return recent, m.broken
}

func (m *memory) Preflights(_ context.Context, run string, after registry.PreflightPlace, limit int) ([]registry.KeptPreflight, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []registry.KeptPreflight
	passed := after == registry.PreflightPlace{}
	for i, each := range slices.Backward(m.preflights) {
		each.Digest = fmt.Sprintf("%064x", i)
		if passed && each.Preflight.Run == run && len(list) < limit {
			list = append(list, each)
		}
		passed = passed || each.Digest == after.Digest
	}
	return list, m.broken
}

func (m *memory) LastPreflights(_ context.Context, runs []string) (map[string]registry.KeptPreflight, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listed++
	last := map[string]registry.KeptPreflight{}
	for _, each := range m.preflights {
		if slices.Contains(runs, each.Preflight.Run) {
			last[each.Preflight.Run] = each
		}
	}
	return last, m.broken
}

// fleet is a set of components that nothing answers for: what is known of them is
// told to the store.
func fleet(size int) *registry.Registered {
	registered := &registry.Registered{}
	for i := range size {
		one := registry.Component{Name: fleetName(i), Spec: &registry.MCPServer{URL: "http://127.0.0.1:1"}}
		if i%4 == 3 {
			one.Spec = &registry.Model{Provider: registry.ProviderOpenAI, BaseURL: "http://127.0.0.1:1", Model: "m", Mode: registry.ModeChat}
		}
		registered.Components = append(registered.Components, one)
	}
	return registered
}

func fleetName(i int) string { return fmt.Sprintf("c%05d", i) }

// finds records a result of a component of the default policy.
func (b bench) finds(t *testing.T, name string, outcome registry.Outcome) {
	t.Helper()
	b.store.mu.Lock()
	as := b.store.known[name].Registration
	b.store.mu.Unlock()
	component := b.Registered().Component(name)
	at := b.Now().UTC()
	record := registry.Record{
		ID: fmt.Sprintf("%013d-%s", at.UnixMilli(), name), Registration: as, Policy: component.Policy(),
		Summary: registry.Summary{ProbedAt: at, Outcome: outcome, Latency: time.Millisecond},
	}
	if err := b.store.Record(t.Context(), nil, []registry.Record{record}); err != nil {
		t.Fatal(err)
	}
}
