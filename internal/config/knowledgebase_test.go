package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestParse_readsAKnowledgeBaseWithTheKeysOfItsServer(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", `
components:
  handbook:
    kind: knowledge_base
    url: http://127.0.0.1:8090
    credentials: {bearer: env:KEY}
    require_tools: [search]
    drift: block
    retrieve: {tool: search, arguments: {query: "password policy"}, chunks: "$.results", ids: "$.results[*].id", expect_ids: [pw-1], version: "$.content_version", count: $.n, fallback: $.f, force: true}
    pinned_version: "2026.1"
  local:
    kind: knowledge_base
    command: [docs]
    retrieve: {tool: search, chunks: $.content, ids: $..id}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	want := &registry.KnowledgeBase{
		MCPServer: registry.MCPServer{
			URL: "http://127.0.0.1:8090", Profile: registry.ThreeGates, Credentials: registry.Credentials{Bearer: registry.SecretAt("env:KEY")},
			RequireTools: []string{"search"}, Drift: registry.DriftBlocks,
		},
		Retrieve: registry.Retrieval{
			Tool: "search", Arguments: json.RawMessage(`{"query":"password policy"}`), Chunks: "$.results", IDs: "$.results[*].id",
			ExpectIDs: []string{"pw-1"}, Version: "$.content_version", Count: "$.n", Fallback: "$.f", Force: true,
		},
		PinnedVersion: "2026.1",
	}
	if diff := cmp.Diff(registry.Spec(want), loaded.Components[0].Spec, cmp.Comparer(registry.Secret.Equal)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Show(&loaded.Components[1]); got != (Shown{registry.Protocol, "docs"}) {
		t.Errorf("it is shown as %+v", got)
	}
	warnings := briefly(loaded.Warnings(Resolver{Lookup: func(name string) (string, bool) { return "x", name != "PATH" }}))
	wantWarnings := []string{
		"8:12: this blocks nothing, since no slot names the component / Name the component in a slot, or leave out the key.",
		"14:54: no id is expected, so these are not looked at / Add expect_ids with an id that the query must find.",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestParse_refusesAKnowledgeBaseThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	_, invalid := parse("file.yaml", "/srv", `
components:
  none: {kind: knowledge_base, url: http://127.0.0.1:1}
  bare: {kind: knowledge_base, url: http://127.0.0.1:1, retrieve: {arguments: [x]}}
  unpinned: {kind: knowledge_base, url: http://127.0.0.1:1, pinned_version: "1", retrieve: {tool: s, chunks: $.r, expect_ids: [a]}}
  odd: {kind: knowledge_base, profile: protocol, retrieve: {tool: s, chunks: results, version: 1, hits: $.r}}
  number: {kind: knowledge_base, url: http://127.0.0.1:1, pinned_version: 2026.1, retrieve: {tool: s, chunks: $.r, version: $.v}}
  many: {kind: knowledge_base, url: http://127.0.0.1:1, retrieve: {tool: s, chunks: $.r, ids: $.i, expect_ids: [`+strings.Repeat("a,", 101)+`]}}
`)
	if invalid == nil {
		t.Fatal("this is called valid")
	}
	want := []string{
		"3:3: retrieve is missing / Add the key retrieve.",
		"4:57: tool is missing / Add the key tool.",
		"4:57: chunks is missing / Add the key chunks.",
		"4:79: the arguments of a tool are a set of keys / Write arguments: {NAME: value}.",
		"5:61: nothing says where the content version is / Add version: JSONPATH below retrieve.",
		"5:115: nothing says where the ids are / Add ids: JSONPATH, such as $.results[*].id.",
		"6:3: there is neither url nor command / Say with url where the server is, or with command how it is started.",
	}
	got := briefly(invalid.Problems)
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for _, part := range []string{"JSONPath", `unknown key "hits"`, "a number and not a text", "more than 100 ids"} {
		if !strings.Contains(strings.Join(got, "\n"), part) {
			t.Errorf("no problem speaks of %s:\n%s", part, strings.Join(got, "\n"))
		}
	}
}
