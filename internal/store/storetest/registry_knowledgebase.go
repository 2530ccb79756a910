package storetest

import (
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// knowledgeBaseResults stores a pass of a knowledge base in each way in which one
// may pass, and failures by the retrieval alone.
func knowledgeBaseResults(t *testing.T, location string) {
	db := open(t, location)
	three, none := 3, 0
	held := registry.Pass(0, "")
	for i, brought := range []registry.RetrievalResult{
		{GateResult: held, Retrieved: registry.Retrieved{Chunks: 1}},
		{GateResult: held, Retrieved: registry.Retrieved{Chunks: 3, Count: &three, Version: "v2", Pinned: "v2", FoundIDs: []string{"a"}}},
		{GateResult: held, Retrieved: registry.Retrieved{Chunks: 3, Fallback: true}},
		{GateResult: registry.Fail(0, registry.Empty, "there is no chunk")},
		{GateResult: registry.Fail(0, registry.Empty, ""), Retrieved: registry.Retrieved{Chunks: 3, Count: &none, Fallback: true}},
		{GateResult: registry.Fail(0, registry.WrongVersion, ""), Retrieved: registry.Retrieved{Chunks: 3, Version: "v1", Pinned: "v2"}},
		{GateResult: registry.Fail(0, registry.MissingChunk, ""), Retrieved: registry.Retrieved{Chunks: 3, MissingIDs: []string{"a"}}},
	} {
		at := day().Add(time.Duration(i) * time.Minute)
		result := registry.KnowledgeBaseResult{Gates: *found(at, "", tools("first")), Retrieve: brought}
		document, err := result.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		record := registry.Record{
			ID:           idAt(at),
			Registration: registry.Registration{Name: "handbook", Kind: registry.KindKnowledgeBase, Definition: "sha256:a"},
			Policy:       policy(), Summary: result.Summary(), Document: document, ToolList: result.ListedTools(),
		}
		if err := db.Record(t.Context(), nil, []registry.Record{record}); err != nil {
			t.Fatalf("result %d: %v", i, err)
		}
		kept, err := db.Result(t.Context(), record.ID)
		if err != nil || (kept.Seen.Outcome == registry.OutcomePassed) != (i < 3) || kept.Kind != registry.KindKnowledgeBase {
			t.Errorf("result %d: got %+v, %v", i, kept, err)
		}
		if read, err := registry.DecodeResult(kept.Kind, kept.Document); err != nil || read.Passed() != (i < 3) {
			t.Errorf("result %d is read as %+v, %v", i, read, err)
		}
	}
}
