package front

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	headerParam = "Mcp-Param-" // and the name that the schema gives

	maxBoundTools = 1000 // tools whose arguments are repeated in headers
	maxBindings   = 50   // such arguments of one tool
	maxNesting    = 10   // of the schema in which they are looked for
)

// binding is an argument that a modern client repeats in a header, so that a
// proxy can read it: its schema says so by x-mcp-header.
type binding struct {
	header string
	path   []string
}

// learn takes the bindings out of a list of tools: a client can only know them
// from such a list, too.
func (c *child) learn(list json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bindings) == 0 && !bytes.Contains(list, []byte(`"x-mcp-header"`)) {
		return
	}
	var page struct {
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"inputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(list, &page) != nil {
		return
	}
	for _, each := range page.Tools {
		found := each.Schema.bindings(nil)
		switch {
		case len(found) == 0:
			delete(c.bindings, each.Name)
		case len(c.bindings) < maxBoundTools:
			c.bindings[each.Name] = found[:min(len(found), maxBindings)]
		}
	}
}

func (c *child) bindingsOf(tool string) []binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bindings[tool]
}

// schema is the part of a JSON schema in which bindings stand. What has another
// form than it should is left aside: the tool is not for modern clients then.
type schema struct {
	header     string
	properties map[string]schema
}

// UnmarshalJSON never fails.
func (s *schema) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	_ = json.Unmarshal(members["x-mcp-header"], &s.header)
	_ = json.Unmarshal(members["properties"], &s.properties)
	return nil
}

func (s *schema) bindings(path []string) []binding {
	var found []binding
	if s.header != "" && len(path) > 0 {
		found = append(found, binding{s.header, slices.Clone(path)})
	}
	if len(path) == maxNesting {
		return found
	}
	for name, property := range s.properties {
		found = append(found, property.bindings(append(path, name))...)
	}
	return found
}

// checkParams refuses a call of a tool whose headers say otherwise than its
// arguments (revision 2026-07-28, custom headers).
func (c *child) checkParams(header http.Header, got request) *wireError {
	for _, bound := range c.bindingsOf(got.params.text("name")) {
		name := headerParam + bound.header
		written, present := header[http.CanonicalHeaderKey(name)]
		argument := bound.of(got.params.rest["arguments"])
		switch {
		case argument == nil && !present:
		case argument == nil:
			return refusal(codeHeaderMismatch, "the header %.80s repeats an argument that is not there", name)
		case !present:
			return refusal(codeHeaderMismatch, "the header %.80s is missing, which repeats the argument %.80s", name, strings.Join(bound.path, "."))
		case len(written) != 1 || !repeats(written[0], argument):
			return refusal(codeHeaderMismatch, "the header %.80s does not repeat the argument %.80s", name, strings.Join(bound.path, "."))
		}
	}
	return nil
}

// of is the argument; nil when it is absent or null.
func (b binding) of(arguments json.RawMessage) json.RawMessage {
	for _, name := range b.path {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(arguments, &members)
		arguments = members[name]
	}
	if string(arguments) == "null" {
		return nil
	}
	return arguments
}

// repeats reports whether a header holds a string, an integer or a boolean as it
// is to be written in one.
func repeats(header string, argument json.RawMessage) bool {
	text, ok := plain(header)
	if header == "" {
		text, ok = "", true
	}
	var value any
	if !ok || json.Unmarshal(argument, &value) != nil {
		return false
	}
	switch v := value.(type) {
	case string:
		return text == v
	case bool:
		return text == strconv.FormatBool(v)
	case float64:
		number, err := strconv.ParseFloat(text, 64)
		return err == nil && number == v
	}
	return false
}
