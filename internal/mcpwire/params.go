package mcpwire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const annotationKey = "x-mcp-header"

// maxDepth bounds how deep a schema is searched for annotations.
const maxDepth = 64

// annotation says that the argument at a path of property names travels in a
// header too (revision 2026-07-28, "custom headers from tool parameters").
type annotation struct {
	path   []string
	header string // the whole name: Mcp-Param-...
}

// annotations returns those of a tool's input schema. An error says that one of
// them breaks the rules of the revision, so that the tool must not be used.
func annotations(schema json.RawMessage) ([]annotation, error) {
	if !bytes.Contains(schema, []byte(annotationKey)) && !bytes.ContainsRune(schema, '\\') {
		return nil, nil // as in most; a key may be written with escapes
	}
	search := annotationSearch{seen: map[string]bool{}}
	err := search.in(schema, nil, true)
	return search.found, err
}

type annotationSearch struct {
	found []annotation
	seen  map[string]bool // headers, in lower case
}

// in searches one schema. An annotation is valid only where nothing but
// properties leads to it.
func (s *annotationSearch) in(raw json.RawMessage, path []string, reachable bool) error {
	var schema map[string]json.RawMessage
	_ = json.Unmarshal(raw, &schema) // in true, false, and what is no schema, there is no annotation
	if len(path) > maxDepth {
		return errors.New("the schema is nested too deep")
	}
	if name, marked := schema[annotationKey]; marked {
		if err := s.take(name, schema["type"], path, reachable); err != nil {
			return err
		}
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if err := s.below(keyword, schema[keyword], path, reachable); err != nil {
			return err
		}
	}
	return nil
}

// below searches what stands at one keyword of a schema.
func (s *annotationSearch) below(keyword string, raw json.RawMessage, path []string, reachable bool) error {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		var named map[string]json.RawMessage
		_ = json.Unmarshal(raw, &named)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if err := s.in(named[name], append(slices.Clone(path), name), reachable && keyword == "properties"); err != nil {
				return err
			}
		}
	case "allOf", "anyOf", "oneOf", "prefixItems", "items", "not", "if", "then", "else", "contains",
		"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems":
		var several []json.RawMessage
		if json.Unmarshal(raw, &several) != nil {
			several = []json.RawMessage{raw}
		}
		for _, one := range several {
			if err := s.in(one, append(slices.Clone(path), keyword), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *annotationSearch) take(raw, kind json.RawMessage, path []string, reachable bool) error {
	var name, of string
	_ = json.Unmarshal(kind, &of)
	switch {
	case len(path) == 0 || !reachable:
		return errors.New("x-mcp-header stands where no argument is")
	case json.Unmarshal(raw, &name) != nil || !isToken(name):
		return fmt.Errorf("x-mcp-header of %s is not a part of a header's name", excerpt([]byte(strings.Join(path, "."))))
	case !slices.Contains([]string{"string", "integer", "boolean"}, of):
		return fmt.Errorf("x-mcp-header stands at %s, which is no plain value", excerpt([]byte(strings.Join(path, "."))))
	case s.seen[strings.ToLower(name)]:
		return fmt.Errorf("x-mcp-header names %s twice", excerpt([]byte(name)))
	}
	s.seen[strings.ToLower(name)] = true
	s.found = append(s.found, annotation{path, "Mcp-Param-" + name})
	return nil
}

// isToken reports whether text is a token of RFC 9110, section 5.6.2.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// paramHeaders are the headers that the arguments of a call travel in. An
// argument that is absent, null or no plain value has none.
func paramHeaders(schema, arguments json.RawMessage) (map[string]string, error) {
	found, err := annotations(schema)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for _, each := range found {
		value := arguments
		for _, name := range each.path {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(value, &members)
			value = members[name]
		}
		if text, ok := plainText(value); ok {
			headers[each.header] = text
		}
	}
	return headers, nil
}

// plainText is a string, number or boolean as a header has it.
func plainText(raw json.RawMessage) (string, bool) {
	var value any
	if raw == nil || json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case float64:
		if whole := int64(value); float64(whole) == value && strings.ContainsAny(string(raw), ".eE") {
			return strconv.FormatInt(whole, 10), true
		}
		return string(raw), true
	}
	return "", false
}

// headerValue is a text as it travels in a header: plain when that is safe, else
// in the form =?base64?...?= of the revision 2026-07-28.
func headerValue(text string) string {
	const begin, end = "=?base64?", "?="
	isEncoded := strings.HasPrefix(text, begin) && strings.HasSuffix(text, end)
	plain := strings.TrimSpace(text) == text && !isEncoded &&
		!slices.ContainsFunc([]byte(text), func(b byte) bool { return b < 0x20 || b > 0x7e })
	if plain {
		return text
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(text)) + end
}
