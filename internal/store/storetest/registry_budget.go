package storetest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// budgets counts tokens from two connections, and from one that was opened
// again, as a restart does.
func budgets(t *testing.T, location string) {
	const limit, each, today = 100, 7, 20000
	one, two := open(t, location), open(t, location)
	var taken atomic.Int64
	var all sync.WaitGroup
	for _, db := range []*store.Database{one, two, one, two} {
		all.Go(func() {
			for range 10 {
				if mustTakeTokens(t, db, "writer", today, each, limit) {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := taken.Load(); got != limit/each {
		t.Errorf("%d times %d tokens were taken of %d", got, each, limit)
	}
	for name, row := range map[string]struct {
		component     string
		day           int64
		tokens, limit int
		want          bool
	}{
		"another component":       {"reader", today, limit, limit, true},
		"the next day":            {"writer", today + 1, limit, limit, true},
		"more than a day permits": {"writer", today + 2, limit + 1, limit, false},
	} {
		if got := mustTakeTokens(t, two, row.component, row.day, row.tokens, row.limit); got != row.want {
			t.Errorf("%s: taken %v, want %v", name, got, row.want)
		}
	}
	again := open(t, location)
	if !mustTakeTokens(t, again, "writer", today, limit%each, limit) || mustTakeTokens(t, again, "writer", today, 1, limit) {
		t.Error("another opening of the database has another count")
	}
	if _, err := again.TakeTokens(t.Context(), "writer", today, 0, limit); err == nil {
		t.Error("nothing was taken, and that went through")
	}
}

// settlements corrects counts, and leaves those of old days behind.
func settlements(t *testing.T, location string) {
	const limit, today = 100, 20000
	db := open(t, location)
	settle := func(difference int) {
		t.Helper()
		if err := db.SettleTokens(t.Context(), "writer", today, difference); err != nil {
			t.Fatal(err)
		}
	}
	mustTakeTokens(t, db, "writer", today, limit, limit)
	settle(-40)
	if !mustTakeTokens(t, db, "writer", today, 40, limit) || mustTakeTokens(t, db, "writer", today, 1, limit) {
		t.Error("what was settled cannot be taken again, or more can")
	}
	settle(1000) // an answer that states more than was taken
	if mustTakeTokens(t, db, "writer", today, 1, 1099) || !mustTakeTokens(t, db, "writer", today, 1, 1101) {
		t.Error("what is over the limit is not counted")
	}
	settle(-5000)
	if !mustTakeTokens(t, db, "writer", today, limit, limit) {
		t.Error("the count fell below nothing")
	}
	mustTakeTokens(t, db, "writer", today+1, 1, limit)
	if mustTakeTokens(t, db, "writer", today, 1, limit) {
		t.Error("yesterday is forgotten while a probe of it may be under way")
	}
	mustTakeTokens(t, db, "reader", today+2, 1, limit)
	settle(50)
	if !mustTakeTokens(t, db, "writer", today, limit, limit) {
		t.Error("the day before yesterday is kept")
	}
}

func mustTakeTokens(t *testing.T, db *store.Database, component string, day int64, tokens, limit int) bool {
	t.Helper()
	taken, err := db.TakeTokens(t.Context(), component, day, tokens, limit)
	if err != nil {
		t.Error(err)
	}
	return taken
}

// modelResults are those of each mode: the schema lets in what registry calls a
// pass, and gives it back.
func modelResults(t *testing.T, location string) {
	db := open(t, location)
	total, answer := 16, 42
	base := registry.ModelResult{Target: "writer", Provider: registry.ProviderOpenAI, Model: "m", StatedModel: "m", Invoke: registry.Pass(time.Millisecond, "")}
	chat, reasoning, embedding, rerank := base, base, base, base
	chat.Mode, chat.Tokens = registry.ModeChat, registry.Tokens{Input: 12, Output: 4, Total: &total}
	chat.Content, chat.Sum = []registry.Content{registry.ContentText}, &registry.Sum{Left: 17, Right: 25, Answer: &answer}
	reasoning.Mode, reasoning.Tokens = registry.ModeChat, registry.Tokens{Input: 12, Output: 4}
	reasoning.Content, reasoning.Sum = []registry.Content{registry.ContentReasoning}, &registry.Sum{Left: 17, Right: 25}
	embedding.Mode, embedding.Tokens = registry.ModeEmbedding, registry.Tokens{Input: 5}
	embedding.Vector = &registry.Vector{Length: 64, Numbers: true, NonZero: true}
	rerank.Mode, rerank.Scores = registry.ModeRerank, &registry.Scores{Documents: 3, Scored: 3}
	for i, result := range []registry.ModelResult{chat, reasoning, embedding, rerank} {
		result.ProbedAt = day().Add(time.Duration(i) * time.Minute)
		document, err := json.Marshal(result)
		if err != nil || !result.Passed() {
			t.Fatalf("%s: passed %v, %v", result.Mode, result.Passed(), err)
		}
		record := registry.Record{
			ID: idAt(result.ProbedAt), Policy: policy(), Summary: result.Summary(), Document: document,
			Registration: registry.Registration{Name: "writer", Kind: registry.KindModel, Definition: "sha256:a"},
		}
		if err := db.Record(t.Context(), nil, []registry.Record{record}); err != nil {
			t.Fatalf("%s: %v", result.Mode, err)
		}
		read, err := registry.DecodeResult(registry.KindModel, mustResult(t, db, record.ID).Document)
		if err != nil || !read.Passed() {
			t.Errorf("%s: read as %+v, %v", result.Mode, read, err)
		}
	}
}
