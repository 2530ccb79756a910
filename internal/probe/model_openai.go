package probe

import (
	"encoding/json"
	"math"

	"github.com/countersign-dev/countersign/internal/registry"
)

func at(path string) func(*registry.Model) string {
	return func(*registry.Model) string { return path }
}

// message is one of a chat, as OpenAI and Anthropic want it.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// openAIChat is POST /chat/completions.
func openAIChat() api {
	return api{
		path: at("/chat/completions"),
		body: func(spec *registry.Model, q question) any {
			body := map[string]any{"model": spec.Model, "messages": []message{{"user", q.sum()}}}
			if q.completion {
				body["max_completion_tokens"] = q.maxOutput
			} else {
				body["max_tokens"] = q.maxOutput
			}
			return body
		},
		read: readOpenAIChat,
	}
}

// openAIUsage is the usage of every API in the manner of OpenAI's.
type openAIUsage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
	Total      *int `json:"total_tokens"`
	Details    struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// tokens of a chat. Some servers count reasoning beside the completion and not
// within it, which the total shows.
func (u openAIUsage) tokens() registry.Tokens {
	stated := registry.Tokens{Input: or(u.Prompt), Output: or(u.Completion), Total: u.Total}
	if beside := or(u.Details.Reasoning); beside > 0 && u.Total != nil && *u.Total == stated.Input+stated.Output+beside {
		stated.Output += beside
	}
	return stated
}

// inputTokens are those of what has no output; some servers state only the total.
func (u openAIUsage) inputTokens() registry.Tokens {
	if u.Prompt == nil {
		return registry.Tokens{Input: or(u.Total), Total: u.Total}
	}
	return registry.Tokens{Input: *u.Prompt, Output: or(u.Completion), Total: u.Total}
}

func or(number *int) int {
	if number == nil {
		return 0
	}
	return *number
}

type openAIMessage struct {
	Content          json.RawMessage   `json:"content"`           // a text, or a list of parts
	Reasoning        string            `json:"reasoning"`         // of OpenRouter, Ollama
	ReasoningContent string            `json:"reasoning_content"` // of DeepSeek, vLLM, llama.cpp, LiteLLM
	Refusal          string            `json:"refusal"`
	ToolCalls        []json.RawMessage `json:"tool_calls"`
}

func readOpenAIChat(body []byte, result *registry.ModelResult) *finding {
	var answer struct {
		Model   string      `json:"model"`
		Usage   openAIUsage `json:"usage"`
		Choices []struct {
			Message openAIMessage `json:"message"`
			Finish  string        `json:"finish_reason"`
		} `json:"choices"`
	}
	if wrong := readJSON(body, &answer); wrong != nil {
		return wrong
	}
	result.StatedModel, result.Tokens = stated(answer.Model), answer.Usage.tokens()
	if len(answer.Choices) == 0 {
		return &finding{registry.NoContent, "there are no choices"}
	}
	said := answer.Choices[0].Message
	result.Finish = stated(answer.Choices[0].Finish)
	text, reasons, ok := textOf(said.Content)
	if !ok {
		return &finding{registry.WrongShape, "content is neither text nor a list of parts"}
	}
	text, thought := withoutThought(text)
	written := written{
		text: text, tools: len(said.ToolCalls) > 0,
		// OpenAI tells how much was reasoned, and not what.
		reasoning: reasons || thought || said.Reasoning != "" || said.ReasoningContent != "" || or(answer.Usage.Details.Reasoning) > 0,
	}
	written.into(result)
	if len(result.Content) == 0 && said.Refusal != "" {
		return &finding{registry.NoContent, registry.Shorten("the model refuses: "+said.Refusal, registry.MaxDetail)}
	}
	return nil
}

// textOf reads the content of a message: null, a text, or a list of parts.
func textOf(content json.RawMessage) (text string, reasons, ok bool) {
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text, false, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", false, false
	}
	for _, part := range parts {
		text += part.Text
		reasons = reasons || part.Type == "thinking" || part.Type == "reasoning"
	}
	return text, reasons, true
}

// openAIEmbeddings is POST /embeddings.
func openAIEmbeddings() api {
	return api{
		path: at("/embeddings"),
		body: func(spec *registry.Model, q question) any {
			body := map[string]any{"model": spec.Model, "input": embedded}
			if q.dimensions > 0 {
				body["dimensions"] = q.dimensions
			}
			return body
		},
		read: readOpenAIEmbeddings,
	}
}

func readOpenAIEmbeddings(body []byte, result *registry.ModelResult) *finding {
	var answer struct {
		Model string      `json:"model"`
		Usage openAIUsage `json:"usage"`
		Data  []struct {
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if wrong := readJSON(body, &answer); wrong != nil {
		return wrong
	}
	result.StatedModel, result.Tokens = stated(answer.Model), answer.Usage.inputTokens()
	if len(answer.Data) != 1 {
		return &finding{registry.WrongVector, "there is not one vector for one text"}
	}
	var numbers []*float64 // null where there is none
	if err := json.Unmarshal(answer.Data[0].Embedding, &numbers); err != nil {
		return &finding{registry.WrongVector, "the vector is no list of finite numbers"}
	}
	vector := &registry.Vector{Length: len(numbers), Wanted: wantedOf(result), Numbers: true}
	for _, number := range numbers {
		switch {
		case number == nil || math.IsInf(*number, 0):
			vector.Numbers = false
		case *number != 0:
			vector.NonZero = true
		}
	}
	result.Vector = vector
	return nil
}

// wantedOf is how long the vector must be, which the invocation has noted.
func wantedOf(result *registry.ModelResult) int {
	if result.Vector == nil {
		return 0
	}
	return result.Vector.Wanted
}

// openAIRerank is POST /rerank, in which Cohere, Jina, vLLM and LiteLLM agree.
func openAIRerank() api {
	return api{
		path: at("/rerank"),
		body: func(spec *registry.Model, _ question) any {
			documents := rerankDocuments()
			return map[string]any{"model": spec.Model, "query": rerankQuery, "documents": documents, "top_n": len(documents)}
		},
		read: readOpenAIRerank,
	}
}

type scored struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
}

func readOpenAIRerank(body []byte, result *registry.ModelResult) *finding {
	var answer struct {
		Model   string      `json:"model"`
		Usage   openAIUsage `json:"usage"`
		Results []scored    `json:"results"`
	}
	if wrong := readJSON(body, &answer); wrong != nil {
		return wrong
	}
	result.StatedModel, result.Tokens = stated(answer.Model), answer.Usage.inputTokens()
	times := make([]int, len(rerankDocuments()))
	for _, each := range answer.Results {
		if each.Index != nil && *each.Index >= 0 && *each.Index < len(times) && (each.Relevance != nil || each.Score != nil) {
			times[*each.Index]++
		}
	}
	result.Scores = &registry.Scores{Documents: len(times)}
	for _, once := range times {
		if once == 1 {
			result.Scores.Scored++
		}
	}
	return nil
}
