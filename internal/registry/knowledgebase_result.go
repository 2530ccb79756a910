package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RetrievalResult is what became of a live retrieval. Only one whose Retrieved
// supports it is OK.
type RetrievalResult struct {
	GateResult
	Retrieved
}

// KnowledgeBaseResult is the evidence of one probe of a knowledge base. Like
// ProbeResult it has no field that says "passed".
type KnowledgeBaseResult struct { //nolint:recvcheck // values are marshalled, and only a pointer can be unmarshalled into
	Gates    ProbeResult // of its MCP server; its target and time are those of the whole
	Retrieve RetrievalResult
}

// retrieve names the retrieval beside the gates.
const retrieve = "retrieve"

// Passed reports whether the gates and the retrieval held, and whether what was
// retrieved says so too: at least one chunk, every expected one, of the pinned
// version.
func (r *KnowledgeBaseResult) Passed() bool {
	wrong, _ := r.Retrieve.Verdict()
	return r.Gates.Passed() && r.Retrieve.OK && wrong == ""
}

// ListedTools are the tools that the server has described.
func (r *KnowledgeBaseResult) ListedTools() []Tool { return r.Gates.ToolList }

// parts are the gates and the retrieval, in the order in which they are shown.
func (r *KnowledgeBaseResult) parts() []part {
	return append(r.Gates.parts(), part{retrieve, r.retrieval()})
}

// retrieval is the retrieval as a gate, which has not held when what it brought
// does not support it.
func (r *KnowledgeBaseResult) retrieval() GateResult {
	got := r.Retrieve.GateResult
	if wrong, detail := r.Retrieve.Verdict(); got.OK && wrong != "" {
		got.OK, got.Cause, got.Detail = false, wrong, detail
	}
	return got
}

// Error joins the failures of the gates and of the retrieval; empty when all of
// them held.
func (r *KnowledgeBaseResult) Error() string {
	failures := []string{r.Gates.Error()}
	if got := r.retrieval(); !got.OK {
		failures = append(failures, retrieve+got.failure())
	}
	return strings.Join(slices.DeleteFunc(failures, func(text string) bool { return text == "" }), "; ")
}

// Summary implements Result.
func (r *KnowledgeBaseResult) Summary() Summary {
	summary := r.Gates.Summary()
	summary.Proof, summary.ContentVersion = r.proof(), r.Retrieve.Version
	got := r.retrieval()
	summary.Parts = timed(r.parts())
	summary.Latency = max(summary.Latency, got.Took())
	if !got.OK && !slices.Contains(summary.Causes, got.Cause) {
		summary.Causes = append(summary.Causes, got.Cause)
	}
	summary.Outcome = outcomeOf(r.Passed(), summary.Causes)
	if summary.Outcome != OutcomePassed {
		summary.Degraded, summary.Reason = false, Shorten(failuresOf(r.parts()), MaxDetail)
		if summary.Reason == "" { // each gate holds, over an empty list
			summary.Reason = string(ListTools) + ": " + string(ZeroTools)
		}
		return summary
	}
	if r.Retrieve.Fallback {
		summary.Degraded = true
		summary.Reason = Shorten(strings.TrimPrefix(summary.Reason+"; the answer to the retrieval says that it is a fallback", "; "), MaxDetail)
	}
	return summary
}

// proof is what Passed is computed from.
func (r *KnowledgeBaseResult) proof() json.RawMessage {
	count := ""
	if r.Retrieve.Count != nil {
		count = fmt.Sprintf(`,"count":%d`, *r.Retrieve.Count)
	}
	return fmt.Appendf(nil, `{"healthz":%t,"test":%t,"listTools":%t,"toolCount":%d,"retrieve":%t,"chunks":%d,"missingChunks":%d,"pinnedVersion":%t%s}`,
		r.Gates.Healthz.OK, r.Gates.Test.OK, r.Gates.ListTools.OK, r.Gates.ListTools.ToolCount,
		r.Retrieve.OK, r.Retrieve.Chunks, len(r.Retrieve.MissingIDs), r.Retrieve.isPinned(), count)
}

// knowledgeBaseDocument is the document of a KnowledgeBaseResult.
type knowledgeBaseDocument struct {
	Target   string          `json:"target"`
	Passed   bool            `json:"passed"`
	ProbedAt string          `json:"probedAt"`
	Error    string          `json:"error,omitempty"`
	Retrieve RetrievalResult `json:"retrieve"`
	Gates    ProbeResult     `json:"gates"`
}

// MarshalJSON writes the document of the contract.
func (r KnowledgeBaseResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(knowledgeBaseDocument{
		r.Gates.Target, r.Passed(), Timestamp(r.Gates.ProbedAt), r.Error(), r.Retrieve, r.Gates,
	})
}

// UnmarshalJSON reads a document that MarshalJSON wrote, and nothing else: it
// refuses one that would be written differently, be it for an unknown or doubled
// member, or for a passed, an error or a retrieval that is ok without what
// supports it.
func (r *KnowledgeBaseResult) UnmarshalJSON(raw []byte) error {
	read, err := decodeKnowledgeBase(raw)
	if err != nil {
		return fmt.Errorf("decode the result of a knowledge base: %w", err)
	}
	*r = *read
	return nil
}

func decodeKnowledgeBase(raw []byte) (*KnowledgeBaseResult, error) {
	var document knowledgeBaseDocument
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	read := &KnowledgeBaseResult{Gates: document.Gates, Retrieve: document.Retrieve}
	if err := checkInvocation(&read.Retrieve.GateResult); err != nil {
		return nil, fmt.Errorf("%s: %w", retrieve, err)
	}
	if wrong, detail := read.Retrieve.Verdict(); read.Retrieve.OK && wrong != "" {
		return nil, fmt.Errorf("%s is ok, but %s: %s", retrieve, wrong, detail)
	}
	return read, writtenAs(read, raw)
}
