package probe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/registry"
)

// maxStatedName bounds a name that an answer states, in bytes.
const maxStatedName = 200

// stated is a name as it is kept.
func stated(name string) string {
	return registry.Shorten(strings.ToValidUTF8(name, "\ufffd"), maxStatedName)
}

// readJSON reads an answer of the status 2xx. One that holds an error is none.
func readJSON(body []byte, into any) *finding {
	var members map[string]json.RawMessage
	switch {
	case !utf8.Valid(body) || !json.Valid(body):
		return &finding{registry.NotJSON, "the answer is not one JSON document"}
	case json.Unmarshal(body, &members) != nil || members == nil:
		return &finding{registry.WrongShape, "the answer is no JSON object"}
	}
	if raw, present := members["error"]; present && string(raw) != "null" {
		return &finding{registry.NotOK, registry.Shorten("an error in an answer of success: "+saidBy(body), registry.MaxDetail)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		detail := "the answer has another form than that of the API"
		if of, is := err.(*json.UnmarshalTypeError); is { //nolint:errorlint // encoding/json returns it as it is
			detail = fmt.Sprintf("%s is %s", of.Field, of.Value)
		}
		return &finding{registry.WrongShape, registry.Shorten(detail, registry.MaxDetail)}
	}
	return nil
}

// saidBy is the reason that an API gives in the body of an error: OpenAI and
// Anthropic in error.message, Ollama in error, Bedrock in message, vLLM and
// FastAPI in message or detail. Untrusted text.
func saidBy(body []byte) string {
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var nested struct {
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(answer.Error, &nested) // it may be a text
	for _, raw := range []json.RawMessage{nested.Message, answer.Error, answer.Message, answer.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) != "" {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// written is what a chat model wrote.
type written struct {
	text             string
	reasoning, tools bool
}

// number is a whole number in a text, without a sign.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })

func (w written) into(result *registry.ModelResult) {
	for _, kind := range []struct {
		is   bool
		name registry.Content
	}{
		{strings.TrimSpace(w.text) != "", registry.ContentText},
		{w.reasoning, registry.ContentReasoning},
		{w.tools, registry.ContentToolCall},
	} {
		if kind.is && !slices.Contains(result.Content, kind.name) {
			result.Content = append(result.Content, kind.name)
		}
	}
	result.Sum.Answer = answerIn(w.text, result.Sum.Left+result.Sum.Right)
}

// answerIn is the number that a text gives: the wanted one if it is there, since
// many models repeat the question, and else the last.
func answerIn(text string, wanted int) *int {
	var last *int
	for _, digits := range number().FindAllString(text, -1) {
		value, err := strconv.Atoi(digits)
		if err != nil || value > maxStated {
			continue
		}
		last = &value
		if value == wanted {
			break
		}
	}
	return last
}

// withoutThought takes away what a model thinks aloud, where the server does not
// set it apart. What is not closed was cut off in the middle of it.
func withoutThought(text string) (said string, thought bool) {
	const begin, end = "<think>", "</think>"
	if _, after, closed := strings.Cut(text, end); closed {
		return after, true
	}
	if strings.HasPrefix(strings.TrimSpace(text), begin) {
		return "", true
	}
	return text, false
}
