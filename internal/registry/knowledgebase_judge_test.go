package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// judged is what a retrieval makes of a document in structuredContent.
func judged(t *testing.T, retrieval registry.Retrieval, document, pinned string) (registry.Retrieved, registry.Cause, string) {
	t.Helper()
	if !json.Valid([]byte(document)) {
		t.Fatalf("%s is no JSON", document)
	}
	return retrieval.Judge(json.RawMessage(`{"content":[],"structuredContent":`+document+`}`), pinned)
}

func TestRetrieval_countsChunks(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]int{
		`{"r":[]}`: 0, `{}`: 0, `{"r":null}`: 0, `{"r":0}`: 0, `{"r":false}`: 0, `{"r":""}`: 0, `{"r":{}}`: 0, `{"r":[[]]}`: 0, `{"r":[[],[]]}`: 0,
		`{"r":"a"}`: 1, `{"r":{"a":1}}`: 1, `{"r":["a"]}`: 1, `{"r":["a"," ",null]}`: 1, `{"r":[{"id":1},{"id":2}]}`: 2, `{"r":[["a","b"]]}`: 1, `{"r":[1,2]}`: 0,
	} {
		if got, _, _ := judged(t, registry.Retrieval{Chunks: "$.r"}, document, ""); got.Chunks != want {
			t.Errorf("%s has %d chunks, want %d", document, got.Chunks, want)
		}
	}
	if got, _, _ := judged(t, registry.Retrieval{Chunks: "$.r[*][*]"}, `{"r":[["a","b"]]}`, ""); got.Chunks != 2 {
		t.Errorf("a path to the chunks themselves selects %d, want 2", got.Chunks)
	}
}

func TestRetrieval_looksAtTheTextAndThenAtTheWholeResult(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]int{
		`{"content":[{"type":"text","text":"# Title\n\ntext"}]}`:                1,
		`{"content":[{"type":"text","text":"{\"content\":[1,\"a\",\"b\"]}"}]}`:  2,
		`{"content":[{"type":"text","text":" \n"},{"type":"text","text":"a"}]}`: 1,
		`{"content":[{"type":"text","text":" \n"}]}`:                            0,
		`{"content":[]}`: 0,
		`{}`:             0,
		`{"content":[{"type":"text","text":"42"}]}`:                                             1,
		`{"content":[{"type":"text","text":"null"}]}`:                                           1,
		`{"content":[{"type":"resource_link","uri":"file:///a"},{"type":"text","text":"{}x"}]}`: 2,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{}}`:                       0,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":null}`:                     1,
	} {
		if got, _, _ := (registry.Retrieval{Chunks: "$.content"}).Judge(json.RawMessage(result), ""); got.Chunks != want {
			t.Errorf("%s has %d chunks, want %d", result, got.Chunks, want)
		}
	}
}

func TestRetrieval_readsVersionsCountsAndFallbacks(t *testing.T) {
	t.Parallel()
	retrieval := registry.Retrieval{Chunks: "$.r", Version: "$..v", Count: "$.n", Fallback: "$..f"}
	two, none := 2, 0
	for document, want := range map[string]registry.Retrieved{
		`{"r":["a"],"v":"1","n":2,"f":true}`:                {Chunks: 1, Version: "1", Count: &two, Fallback: true},
		`{"r":["a"],"v":2026.10,"n":"2","f":"true"}`:        {Chunks: 1, Version: "2026.10", Count: &two, Fallback: true},
		`{"r":[{"v":"1"},{"v":"1"}],"n":1.5,"f":null}`:      {Chunks: 2, Version: "1", Count: &two},
		`{"r":["a"],"v":"1\u0000","n":-3,"f":"false"}`:      {Chunks: 1, Version: "1\ufffd", Count: &none},
		`{"r":[{"v":"2"},{"v":"1"}],"n":0}`:                 {Chunks: 2, Version: "1, 2", Count: &none, Warnings: []string{"retrieve.version: the chunks are of 2 versions"}},
		`{"r":["a"],"v":{},"n":[2],"f":[true,false,"yes"]}`: {Chunks: 1, Version: "?", Warnings: []string{"retrieve.count: $.n does not select one number", "retrieve.fallback: $..f selects what is neither true nor false", "retrieve.version: $..v selects what is no version"}},
		`{"r":["a"],"v":"1","n":"NaN","f":false}`:           {Chunks: 1, Version: "1", Warnings: []string{"retrieve.count: $.n does not select one number"}},
	} {
		got, _, _ := judged(t, retrieval, document, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", document, diff)
		}
	}
}

func TestRetrieval_holdsEveryChunkAgainstThePinnedVersion(t *testing.T) {
	t.Parallel()
	retrieval := registry.Retrieval{Chunks: "$.r", Version: "$.r[*].v"}
	for document, want := range map[string]registry.Cause{
		`{"r":[{"v":"1"},{"v":"1"}]}`: "", `{"r":[{"v":1}]}`: "",
		`{"r":[{"v":"1"},{"v":"2"}]}`: registry.WrongVersion, `{"r":[{"v":"10"}]}`: registry.WrongVersion,
		`{"r":[{"v":"1 "}]}`: registry.WrongVersion, `{"r":[{"v":""}]}`: registry.WrongVersion, `{"r":[{"a":1}]}`: registry.WrongVersion,
		`{"r":[{"v":"1"},{"v":null}]}`: registry.WrongVersion, `{"r":[]}`: registry.Empty,
	} {
		if _, got, detail := judged(t, retrieval, document, "1"); got != want {
			t.Errorf("%s fails for %q (%s), want %q", document, got, detail, want)
		}
	}
	long := strings.Repeat("1", 3000)
	if _, got, detail := judged(t, retrieval, `{"r":[{"v":"`+long+`"}]}`, "1"); got != registry.WrongVersion || len(detail) > 200 {
		t.Errorf("a long version fails for %q with %d bytes", got, len(detail))
	}
}

// TestRefusedRetrieval_readsWhatServersSay has the words of Qdrant, Chroma, Weaviate,
// Milvus, Elasticsearch, PostgreSQL, Typesense, bleve, of documentation servers,
// and of failures that are neither.
func TestRefusedRetrieval_readsWhatServersSay(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]registry.Cause{
		"Not found: Collection `docs` doesn't exist!":                                        registry.Missing,
		"Failed to query documents from collection 'docs': Collection [docs] does not exist": registry.Missing,
		"could not find class Docs in schema":                                                registry.Missing,
		"can't find collection[database=default][collection=docs]":                           registry.Missing,
		"collection not found[database=default][collection=docs]":                            registry.Missing,
		"index_not_found_exception: no such index [docs]":                                    registry.Missing,
		`ERROR: relation "docs" does not exist (SQLSTATE 42P01)`:                             registry.Missing,
		"SQLITE_ERROR: no such table: docs":                                                  registry.Missing,
		"Could not find a collection with name `docs`":                                       registry.Missing,
		"cannot open index, path does not exist":                                             registry.Missing,
		"Unknown knowledge base: docs":                                                       registry.Missing,
		"No results: collection docs was not found":                                          registry.Missing,
		"Error: 🔍 No results found for \"x\".":                                               registry.Empty,
		"No relevant documents":                                                              registry.Empty,
		"No information found for the query 'x'":                                             registry.Empty,
		"found 0 results":                                                                    registry.Empty,
		"dial tcp: lookup qdrant: no such host":                                              registry.CanaryFailed,
		"connection refused":                                                                 registry.CanaryFailed,
		"API key not found":                                                                  registry.CanaryFailed,
		"the index is being rebuilt":                                                         registry.CanaryFailed,
		"":                                                                                   registry.CanaryFailed,
	} {
		if got := registry.RefusedRetrieval(said); got != want {
			t.Errorf("%q is %s, want %s", said, got, want)
		}
	}
}

func FuzzRetrieval_neverPassesWithoutAChunk(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"}]}`, `{"structuredContent":{"r":["a"],"v":"1","n":1,"f":true}}`, `[]`, `{"content":[{"text":"{\"r\":[1]}"}]}`,
	} {
		f.Add(seed, "1")
	}
	retrieval := registry.Retrieval{Tool: "s", Chunks: "$.r", IDs: "$.r[*].id", ExpectIDs: []string{"a"}, Version: "$.v", Count: "$.n", Fallback: "$.f"}
	f.Fuzz(func(t *testing.T, result, pinned string) {
		got, wrong, _ := retrieval.Judge(json.RawMessage(result), pinned)
		if wrong == "" && (got.Chunks < 1 || len(got.MissingIDs) > 0 || pinned != "" && got.Version != pinned || got.Count != nil && *got.Count < 1) {
			t.Errorf("%s passes as %+v", result, got)
		}
		if again, _ := got.Verdict(); wrong == "" && again != "" {
			t.Errorf("%s passes, but its parts say %s", result, again)
		}
	})
}
