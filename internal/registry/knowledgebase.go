package registry

import "encoding/json"

// KindKnowledgeBase is proven by the three gates of its MCP server, and then by a
// live retrieval.
const KindKnowledgeBase Kind = "knowledge_base"

// The causes that only knowledge bases have.
const (
	Empty        Cause = "empty"
	Missing      Cause = "missing"
	WrongVersion Cause = "wrong_version"
	MissingChunk Cause = "missing_chunk"
)

// ofKnowledgeBases is their row of the table.
func ofKnowledgeBases() kindOf {
	return kindOf{
		kind: KindKnowledgeBase, hasTools: true,
		decode: func(document []byte) (Result, error) {
			var result KnowledgeBaseResult
			if err := result.UnmarshalJSON(document); err != nil {
				return nil, err
			}
			return &result, nil
		},
		causes: []CauseEntry{
			{Empty, "The retrieval works and finds nothing.", "Look whether the corpus was indexed, and indexed with the model that searches it; do not index again before that."},
			{Missing, "What is to be searched is not there.", "Look for a collection or an index that was renamed, dropped or never made, and for the right database behind the server."},
			{WrongVersion, "The content is not of the pinned version.", "Index the version that is pinned, or pin the one that is meant."},
			{MissingChunk, "The retrieval does not bring a chunk that it must bring.", "Look whether the document was indexed, and whether the same query still ranks it among the first."},
		},
	}
}

// KnowledgeBase is a component of the kind knowledge_base: an MCP server, and how
// it is asked for what it knows.
type KnowledgeBase struct {
	MCPServer

	Retrieve      Retrieval
	PinnedVersion string // the content version that counts; empty for any
}

// Kind implements Spec.
func (k *KnowledgeBase) Kind() Kind { return KindKnowledgeBase }

// TimeoutsInARow is how many time-outs may follow each other in a probe: those of
// the list of tools, of the canary and of the retrieval.
func (k *KnowledgeBase) TimeoutsInARow() int { return 3 }

// RetrievalIsCanary reports whether the retrieval is what g2 asks: in the profile
// protocol, where no canary is declared.
func (k *KnowledgeBase) RetrievalIsCanary() bool { return k.Profile == Protocol && k.Canary == nil }

// Retrieval is a tool call that searches, and what its result is made of. The
// paths are RFC 9535 JSONPaths over the structured content; without one over the
// text, where that is a JSON object or array; and else over {"content": [...]},
// which holds the contents that are not blank.
type Retrieval struct {
	Tool      string
	Arguments json.RawMessage // a JSON object; nil for none
	Force     bool            // call it although the server marks it destructive

	// Chunks selects what was found: one array, each element a chunk, or the chunks
	// themselves. A text that is not blank, an object and an array that is not empty
	// are chunks.
	Chunks    string
	IDs       string   // selects their ids, texts or numbers; empty for none
	ExpectIDs []string // that must be among them; at most MaxExpectIDs
	Version   string   // selects the content version, once or for each chunk; empty for none
	Count     string   // selects how many the server says there are; zero means that nothing was found
	Fallback  string   // selects whether the server says that its answer is a fallback
}

// MaxExpectIDs bounds the chunks that a retrieval must bring.
const MaxExpectIDs = 100
