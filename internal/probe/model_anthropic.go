package probe

import "github.com/countersign-dev/countersign/internal/registry"

// anthropicVersion is that of the API, which every request must name.
const anthropicVersion = "2023-06-01"

// anthropicMessages is POST /messages.
func anthropicMessages() api {
	return api{
		path:   at("/messages"),
		header: map[string]string{"Anthropic-Version": anthropicVersion},
		body: func(spec *registry.Model, q question) any {
			return map[string]any{"model": spec.Model, "max_tokens": q.maxOutput, "messages": []message{{"user", q.sum()}}}
		},
		read: readAnthropicMessages,
	}
}

func readAnthropicMessages(body []byte, result *registry.ModelResult) *finding {
	var answer struct {
		Model   string `json:"model"`
		Finish  string `json:"stop_reason"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Usage struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	if wrong := readJSON(body, &answer); wrong != nil {
		return wrong
	}
	result.StatedModel, result.Finish = stated(answer.Model), stated(answer.Finish)
	result.Tokens = registry.Tokens{Input: answer.Usage.Input, Output: answer.Usage.Output}
	var wrote written
	for _, part := range answer.Content {
		switch part.Type {
		case "text":
			wrote.text += part.Text
		case "thinking", "redacted_thinking":
			wrote.reasoning = true
		case "tool_use", "server_tool_use":
			wrote.tools = true
		}
	}
	wrote.into(result)
	return nil
}
