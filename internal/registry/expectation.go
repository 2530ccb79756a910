package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/countersign-dev/countersign/internal/words"
)

// Judge says what is wrong with the result of the tool call, a CallToolResult as
// it was sent; nil when it is as expected. The error may quote the result, so it
// is untrusted text, and has at most MaxDetail bytes.
func (e Expectation) Judge(result json.RawMessage) error {
	if err := e.judge(result); err != nil {
		return errors.New(Shorten(err.Error(), MaxDetail))
	}
	return nil
}

func (e Expectation) judge(raw json.RawMessage) error {
	result, err := readToolResult(raw)
	switch {
	case err != nil:
		return err
	case result.failed:
		return fmt.Errorf("the tool reports an error: %s", result.text)
	case e.Matches != nil && !e.Matches.MatchString(result.text):
		return fmt.Errorf("the text does not match %s: %s", e.Matches, result.text)
	case e.Path != "":
		return e.judgePath(result)
	case e.NotEmpty() && result.empty:
		return errors.New("the result holds neither text nor data")
	}
	return nil
}

func (e Expectation) judgePath(result toolResult) error {
	path, err := jsonpath.Parse(e.Path)
	if err != nil {
		return fmt.Errorf("%s is no JSONPath: %w", e.Path, err)
	}
	document, err := result.document()
	if err != nil {
		return err
	}
	selected := path.Select(document)
	if e.Equals == nil {
		if len(selected) < e.MinCount {
			return fmt.Errorf("%s selects %s, at least %d are expected", e.Path, words.Counted(len(selected), "value"), e.MinCount)
		}
		return nil
	}
	want, err := exact(e.Equals)
	switch {
	case err != nil:
		return fmt.Errorf("the expected value is no JSON: %w", err)
	case len(selected) != 1:
		return fmt.Errorf("%s selects %s, exactly one is expected", e.Path, words.Counted(len(selected), "value"))
	case !equal(want, selected[0]):
		found, _ := json.Marshal(selected[0]) // it was decoded from JSON
		return fmt.Errorf("%s selects %s, expected is %s", e.Path, found, e.Equals)
	}
	return nil
}

// toolResult is what a result of tools/call says.
type toolResult struct {
	failed     bool
	empty      bool
	text       string // of all contents that are text
	structured json.RawMessage
}

// readToolResult reads a result; names are matched case-sensitively.
func readToolResult(raw json.RawMessage) (toolResult, error) {
	var members map[string]json.RawMessage
	var contents []map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return toolResult{}, errors.New("the result is no JSON object")
	}
	if kind, ok := members["resultType"]; ok && string(kind) != `"complete"` {
		return toolResult{}, fmt.Errorf("the result is of the type %s", kind)
	}
	if written, ok := members["content"]; ok && json.Unmarshal(written, &contents) != nil {
		return toolResult{}, errors.New("the content of the result is no list of objects")
	}
	got := toolResult{structured: members["structuredContent"]}
	_ = json.Unmarshal(members["isError"], &got.failed)
	switch string(bytes.TrimSpace(got.structured)) {
	case "", "null":
		got.structured, got.empty = nil, true
	case "{}", "[]":
		got.empty = true
	}
	got.read(contents)
	return got, nil
}

// read takes in the contents.
func (r *toolResult) read(contents []map[string]json.RawMessage) {
	var texts []string
	for _, content := range contents {
		var text string
		_ = json.Unmarshal(content["text"], &text)
		if text != "" {
			texts = append(texts, text)
		}
		if strings.TrimSpace(text) != "" || holdsContent(content) {
			r.empty = false
		}
	}
	r.text = strings.Join(texts, "\n")
}

// holdsContent reports whether a content is a picture, a sound, a resource or a
// link to one.
func holdsContent(content map[string]json.RawMessage) bool {
	var resource map[string]json.RawMessage
	_ = json.Unmarshal(content["resource"], &resource)
	for _, raw := range []json.RawMessage{content["data"], content["uri"], resource["text"], resource["blob"]} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return true
		}
	}
	return false
}

// document is what a path is applied to.
func (r *toolResult) document() (any, error) {
	if r.structured != nil {
		return exact(r.structured)
	}
	document, err := exact(json.RawMessage(r.text))
	if err != nil {
		return nil, fmt.Errorf("the result has no structured content, and its text is no JSON: %s", r.text)
	}
	return document, nil
}

// exact decodes one JSON value without rounding its numbers.
func exact(raw json.RawMessage) (any, error) {
	if !json.Valid(raw) {
		return nil, errors.New("it is no JSON value")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// equal compares two values of exact. Numbers are compared by value: 1 is 1.0,
// and integers differ however large they are.
func equal(a, b any) bool {
	switch first := a.(type) {
	case json.Number:
		second, ok := b.(json.Number)
		return ok && equalNumbers(string(first), string(second))
	case []any:
		second, ok := b.([]any)
		return ok && slices.EqualFunc(first, second, equal)
	case map[string]any:
		second, ok := b.(map[string]any)
		return ok && maps.EqualFunc(first, second, equal)
	}
	return a == b // strings, booleans and null
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a+b, ".eE") {
		return strings.Trim(a, "-0") == "" && strings.Trim(b, "-0") == ""
	}
	first, firstErr := strconv.ParseFloat(a, 64)
	second, secondErr := strconv.ParseFloat(b, 64)
	return firstErr == nil && secondErr == nil && first == second
}
