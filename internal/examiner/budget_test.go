package examiner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

func (m *memory) TakeTokens(_ context.Context, component string, day int64, tokens, limit int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tokens == nil {
		m.tokens = map[string]int{}
	}
	key := fmt.Sprintf("%s of day %d", component, day)
	if m.broken != nil || m.tokens[key]+tokens > limit {
		return false, m.broken
	}
	m.tokens[key] += tokens
	return true, nil
}

func (m *memory) SettleTokens(_ context.Context, component string, day int64, difference int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[fmt.Sprintf("%s of day %d", component, day)] += difference
	return m.broken
}

// embedder is a model that works, and counts how often it is asked.
func embedder(t *testing.T, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"model":"m","data":[{"embedding":[0.5,0.25]}],"usage":{"prompt_tokens":10,"total_tokens":10}}`)
	}))
	t.Cleanup(server.Close)
	return server
}

func registeredModel(url string, budget int) *registry.Registered {
	return &registry.Registered{
		Components: []registry.Component{{Name: "vectors", Timeout: 20 * time.Second, Spec: &registry.Model{
			Provider: registry.ProviderOpenAI, BaseURL: url, Model: "m", Mode: registry.ModeEmbedding, DailyTokens: budget,
		}}},
		Slots: []registry.Slot{{Name: "index", Primary: "vectors"}},
		Runs:  []registry.Run{{Name: "nightly", Slots: []registry.RunSlot{{Slot: "index", Required: true}}}},
	}
}

// TestBudget_isUnknownAndAsksNothingUntilTheNextDay spends a budget by probes,
// from 12:00 on, of which each takes 10 tokens.
func TestBudget_isUnknownAndAsksNothingUntilTheNextDay(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b := start(t, registeredModel(embedder(t, &asked).URL, 50))
	probed := func(want registry.Status, causes ...registry.Cause) {
		t.Helper()
		found, err := b.Probe(t.Context(), "vectors")
		if err != nil || found.Status != want || !slices.Equal(found.Causes, causes) || found.Passed != (want == registry.Available) {
			t.Errorf("got %s for %v, passed %v, %v; want %s for %v", found.Status, found.Causes, found.Passed, err, want, causes)
		}
		b.clock.pass(time.Second)
	}
	probed(registry.Available)
	probed(registry.Available)
	probed(registry.Unknown, registry.Budget) // 20 are spent, and a request is taken to need 32 of the 30 left
	if got := asked.Load(); got != 2 {
		t.Errorf("the model was asked %d times, want 2", got)
	}
	preflight, err := b.Preflight(t.Context(), "nightly")
	if err != nil || preflight.Allowed || !slices.Equal(preflight.Slots[0].Attempts[0].Causes, []registry.Cause{registry.Budget}) {
		t.Errorf("a run was allowed with a spent budget: %+v, %v", preflight, err)
	}
	b.clock.pass(11 * time.Hour)
	probed(registry.Unknown, registry.Budget)
	if got := asked.Load(); got != 2 {
		t.Errorf("the model was asked %d times on the first day, want 2", got)
	}
	b.clock.pass(time.Hour)
	probed(registry.Available)
	if got := asked.Load(); got != 3 {
		t.Errorf("the model was asked %d times by the next day, want 3", got)
	}
}

func TestBudget_isNotSpentWhenNobodyCanCount(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b := start(t, registeredModel(embedder(t, &asked).URL, 50))
	b.store.breakDown(errBroken)
	record, err := b.Examine(t.Context(), "vectors")
	if err != nil || record.Summary.Outcome != registry.OutcomeUndecided || !strings.Contains(record.Summary.Reason, "the disk is gone") {
		t.Errorf("got %+v, %v", record.Summary, err)
	}
	var document struct{ Requests int }
	if err := json.Unmarshal(record.Document, &document); err != nil || document.Requests != 0 || asked.Load() != 0 {
		t.Errorf("%d requests are told, and %d came", document.Requests, asked.Load())
	}
}
