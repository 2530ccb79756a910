package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/words"
)

// ModelResult is the evidence of one invocation of a model. It has no field that
// says "passed": Passed is computed from what the answer holds, and the zero
// value has not passed. What the model and its API said is untrusted text.
type ModelResult struct { //nolint:recvcheck // values are marshalled, and only a pointer can be unmarshalled into
	Target   string // the name of the component
	Provider Provider
	Mode     Mode
	Model    string // the one asked for
	ProbedAt time.Time

	// Invoke is the invocation: it holds when there was an answer and Verdict finds
	// nothing wrong with it.
	Invoke   GateResult
	Requests int    // that were sent
	Timings  Phases // of the last request

	StatedModel string // empty when the answer states none
	Finish      string // why the model stopped, in the provider's word
	Tokens      Tokens
	Content     []Content // of a chat: what kinds of content came, each once
	Sum         *Sum      // of a chat
	Vector      *Vector   // of an embedding
	Scores      *Scores   // of a rerank
	Warnings    []string
}

// Tokens are those that an answer states.
type Tokens struct {
	Input  int  `json:"input"`
	Output int  `json:"output"` // reasoning included
	Total  *int `json:"total,omitempty"`
}

// Content is a kind of what a chat model writes.
type Content string

// The kinds of content. Each of them shows that the model works.
const (
	ContentText      Content = "text"
	ContentReasoning Content = "reasoning"
	ContentToolCall  Content = "tool_call"
)

// Sum is what a chat model was asked: the two numbers differ from probe to probe,
// so that no stored answer passes.
type Sum struct {
	Left   int  `json:"left"`
	Right  int  `json:"right"`
	Answer *int `json:"answer,omitempty"` // the number in the text; absent when there is none
}

// Vector is what is told of an embedding.
type Vector struct {
	Length  int  `json:"length"`
	Wanted  int  `json:"wanted,omitempty"` // 0 for any length
	Numbers bool `json:"numbers"`          // all of it are finite numbers
	NonZero bool `json:"nonZero"`          // one at least is not zero
}

// Scores is what is told of a rerank.
type Scores struct {
	Documents int `json:"documents"` // that were sent
	Scored    int `json:"scored"`    // how many of them have one finite score
}

// Passed reports whether the invocation held, and whether what it brought says
// so too.
func (r *ModelResult) Passed() bool {
	wrong, _ := r.Verdict()
	return r.Invoke.OK && wrong == ""
}

// Verdict judges the answer by its parts alone: the cause for which it fails and
// a detail; no cause when it is what it must be.
func (r *ModelResult) Verdict() (Cause, string) {
	for _, judge := range []func() (Cause, string){r.judgeContent, r.judgeTokens, r.judgeModel, r.judgeSum} {
		if wrong, detail := judge(); wrong != "" {
			return wrong, detail
		}
	}
	return "", ""
}

func (r *ModelResult) judgeContent() (Cause, string) {
	switch {
	case r.Mode == ModeChat && !r.hasContent():
		return NoContent, "there is neither text nor reasoning nor a tool call"
	case r.Mode == ModeEmbedding && (r.Vector == nil || r.Vector.Length == 0):
		return WrongVector, "there is no vector"
	case r.Mode == ModeEmbedding && r.Vector.Wanted > 0 && r.Vector.Length != r.Vector.Wanted:
		return WrongVector, fmt.Sprintf("the vector has %s and not %d", words.Counted(r.Vector.Length, "dimension"), r.Vector.Wanted)
	case r.Mode == ModeEmbedding && !r.Vector.Numbers:
		return WrongVector, "the vector holds what is no finite number"
	case r.Mode == ModeEmbedding && !r.Vector.NonZero:
		return WrongVector, "the vector is zero throughout"
	case r.Mode == ModeRerank && (r.Scores == nil || r.Scores.Documents == 0):
		return NoContent, "there are no scores"
	case r.Mode == ModeRerank && r.Scores.Scored != r.Scores.Documents:
		return NoContent, fmt.Sprintf("%d of %d documents have one score", r.Scores.Scored, r.Scores.Documents)
	case !slices.Contains([]Mode{ModeChat, ModeEmbedding, ModeRerank}, r.Mode):
		return NoContent, "there is no such mode"
	}
	return "", ""
}

func (r *ModelResult) hasContent() bool {
	return slices.ContainsFunc([]Content{ContentText, ContentReasoning, ContentToolCall}, func(kind Content) bool {
		return slices.Contains(r.Content, kind)
	})
}

func (r *ModelResult) judgeTokens() (Cause, string) {
	switch t := r.Tokens; {
	case t.Input < 0 || t.Output < 0,
		r.Mode != ModeRerank && t.Input == 0,
		r.Mode == ModeChat && t.Output == 0:
		return NoTokens, fmt.Sprintf("%d tokens in and %d out are stated", t.Input, t.Output)
	case t.Total != nil && *t.Total != t.Input+t.Output:
		return WrongUsage, fmt.Sprintf("%d tokens in and %d out are stated, and %d in all", t.Input, t.Output, *t.Total)
	}
	return "", ""
}

// judgeModel holds the stated model against the one asked for. Converse states
// none, and neither do some APIs of embeddings and reranks.
func (r *ModelResult) judgeModel() (Cause, string) {
	switch {
	case r.StatedModel == "" && (r.Provider == ProviderBedrock || r.Mode != ModeChat):
		return "", ""
	case r.StatedModel == "":
		return WrongModel, "the answer does not state its model"
	case !isSameModel(r.Model, r.StatedModel):
		return WrongModel, "the answer comes from " + r.StatedModel
	}
	return "", ""
}

// judgeSum wants the right number in a text. A model that has spent its few
// tokens on reasoning, or calls a tool, has written none and need not.
func (r *ModelResult) judgeSum() (Cause, string) {
	switch {
	case r.Mode != ModeChat:
	case r.Sum == nil:
		return CanaryFailed, "no sum was asked for"
	case !slices.Contains(r.Content, ContentText):
	case r.Sum.Answer == nil:
		return CanaryFailed, fmt.Sprintf("%d + %d is answered without a number", r.Sum.Left, r.Sum.Right)
	case *r.Sum.Answer != r.Sum.Left+r.Sum.Right:
		return CanaryFailed, fmt.Sprintf("%d + %d is answered with %d", r.Sum.Left, r.Sum.Right, *r.Sum.Answer)
	}
	return "", ""
}

// cause is why the result has not passed; empty when it has.
func (r *ModelResult) cause() Cause {
	switch wrong, _ := r.Verdict(); {
	case r.Invoke.OK:
		return wrong
	case r.Invoke.Cause != "":
		return r.Invoke.Cause
	}
	return NoContent
}

// Error is why the result has not passed; empty when it has.
func (r *ModelResult) Error() string {
	if r.Passed() {
		return ""
	}
	detail := r.Invoke.Detail
	if r.Invoke.OK {
		_, detail = r.Verdict()
	}
	return invoke + GateResult{Cause: r.cause(), Detail: detail}.failure()
}

// Summary implements Result.
func (r *ModelResult) Summary() Summary {
	took := partTime(invoke, &r.Invoke)
	took.OK, took.Cause = r.Passed(), r.cause()
	summary := Summary{
		ProbedAt: r.ProbedAt, Causes: []Cause{}, Proof: r.proof(), Latency: took.Took, Parts: []PartTime{took},
	}
	if took.Cause != "" {
		summary.Causes = []Cause{took.Cause}
	}
	summary.Outcome = outcomeOf(r.Passed(), summary.Causes)
	summary.Reason = Shorten(r.Error(), MaxDetail)
	return summary
}

// modelProof is what Passed is computed from. Whether two names are those of one
// model is beyond SQL, so it stands there as an answer.
type modelProof struct {
	Invoke    bool   `json:"invoke"`
	Mode      Mode   `json:"mode"`
	Model     bool   `json:"model"`
	Input     int    `json:"input"`
	Output    int    `json:"output"`
	Total     *int   `json:"total,omitempty"`
	Content   bool   `json:"content"`
	Text      bool   `json:"text"`
	Left      int    `json:"left"`
	Right     int    `json:"right"`
	Answer    *int   `json:"answer,omitempty"`
	Vector    Vector `json:"vector"`
	Documents int    `json:"documents"`
	Scored    int    `json:"scored"`
}

func (r *ModelResult) proof() json.RawMessage {
	wrong, _ := r.judgeModel()
	made := modelProof{
		Invoke: r.Invoke.OK, Mode: r.Mode, Model: wrong == "", Input: r.Tokens.Input, Output: r.Tokens.Output, Total: r.Tokens.Total,
		Content: r.hasContent(), Text: slices.Contains(r.Content, ContentText),
	}
	if r.Sum != nil {
		made.Left, made.Right, made.Answer = r.Sum.Left, r.Sum.Right, r.Sum.Answer
	}
	if r.Vector != nil {
		made.Vector = *r.Vector
	}
	if r.Scores != nil {
		made.Documents, made.Scored = r.Scores.Documents, r.Scores.Scored
	}
	document, err := json.Marshal(made)
	if err != nil { // There is nothing in it that JSON does not have.
		return json.RawMessage(`{}`)
	}
	return document
}

// modelDocument is the document of a ModelResult.
type modelDocument struct {
	Target      string     `json:"target"`
	Provider    Provider   `json:"provider"`
	Mode        Mode       `json:"mode"`
	Model       string     `json:"model"`
	Invoke      GateResult `json:"invoke"`
	Passed      bool       `json:"passed"`
	ProbedAt    string     `json:"probedAt"`
	Error       string     `json:"error,omitempty"`
	Requests    int        `json:"requests"`
	StatedModel string     `json:"statedModel,omitempty"`
	Finish      string     `json:"finish,omitempty"`
	Tokens      Tokens     `json:"tokens"`
	Content     []Content  `json:"content,omitempty"`
	Sum         *Sum       `json:"sum,omitempty"`
	Vector      *Vector    `json:"vector,omitempty"`
	Scores      *Scores    `json:"scores,omitempty"`
	Timings     Phases     `json:"timings"`
	Warnings    []string   `json:"warnings,omitempty"`
}

// MarshalJSON writes the document of the contract.
func (r ModelResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(modelDocument{
		r.Target, r.Provider, r.Mode, r.Model, r.Invoke, r.Passed(), Timestamp(r.ProbedAt), r.Error(),
		r.Requests, r.StatedModel, r.Finish, r.Tokens, r.Content, r.Sum, r.Vector, r.Scores, r.Timings, r.Warnings,
	})
}

// UnmarshalJSON reads a document that MarshalJSON wrote, and nothing else: it
// refuses one that would be written differently, be it for an unknown or doubled
// member, or for a passed or an error that its parts do not support.
func (r *ModelResult) UnmarshalJSON(raw []byte) error {
	read, err := decodeModel(raw)
	if err != nil {
		return fmt.Errorf("decode the result of a model: %w", err)
	}
	*r = *read
	return nil
}

func decodeModel(raw []byte) (*ModelResult, error) {
	var document modelDocument
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339, document.ProbedAt)
	if err != nil {
		return nil, fmt.Errorf("probedAt: %w", err)
	}
	read := &ModelResult{
		Target: document.Target, Provider: document.Provider, Mode: document.Mode, Model: document.Model,
		ProbedAt: at.UTC().Truncate(time.Millisecond), Invoke: document.Invoke, Requests: document.Requests, Timings: document.Timings,
		StatedModel: document.StatedModel, Finish: document.Finish, Tokens: document.Tokens, Content: document.Content,
		Sum: document.Sum, Vector: document.Vector, Scores: document.Scores, Warnings: document.Warnings,
	}
	if err := checkInvocation(&read.Invoke); err != nil {
		return nil, fmt.Errorf("invoke: %w", err)
	}
	return read, writtenAs(read, raw)
}

func checkInvocation(invoke *GateResult) error {
	if _, known := invoke.Cause.Entry(); invoke.Cause != "" && (invoke.OK || !known) {
		return fmt.Errorf("cause %q does not belong here", invoke.Cause)
	}
	switch kept := invoke.Transcript; {
	case invoke.LatencyMs < 0:
		return errors.New("latencyMs is negative")
	case kept == nil:
	case invoke.OK:
		return errors.New("there is a transcript, but the invocation held")
	case max(len(kept.Exchanges), len(kept.Messages), len(kept.Variables)) > MaxTranscriptEntries:
		return fmt.Errorf("the transcript has more than %d entries", MaxTranscriptEntries)
	}
	return nil
}
