package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/task"
)

// maxExactInteger is the largest integer that every JSON reader keeps exactly.
const maxExactInteger = 1<<53 - 1

// argument is one argument of a tool: what its schema says and where its value
// goes. The type of the place decides the type of the value: *string or
// **string a string, *[]string an array of strings, **int an integer.
type argument[Q any] struct {
	name        string
	description string
	need        need
	place       func(*Q) any
	refine      func(*jsonschema.Schema) // nil for nothing to add
}

// need says what a call without the argument meets.
type need int

const (
	optional need = iota
	// checked arguments are listed as required, and the gate says what it
	// thinks of a call without them: missing equals blank.
	checked
	// required arguments are refused here when they are missing.
	required
)

// schemaOf returns the strict schema of a tool's arguments.
func schemaOf[Q any](arguments []argument[Q]) *jsonschema.Schema {
	schema := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, a := range arguments {
		property := &jsonschema.Schema{Description: a.description}
		switch a.place(new(Q)).(type) {
		case *[]string:
			property.Type, property.Items = "array", &jsonschema.Schema{Type: "string"}
		case **int:
			property.Type = "integer"
		default:
			property.Type = "string"
		}
		if a.refine != nil {
			a.refine(property)
		}
		schema.Properties[a.name] = property
		schema.PropertyOrder = append(schema.PropertyOrder, a.name)
		if a.need != optional {
			schema.Required = append(schema.Required, a.name)
		}
	}
	return schema
}

// oneOf lists the values that an argument may have.
func oneOf[V ~string](values ...V) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, value := range values {
			s.Enum = append(s.Enum, value)
		}
	}
}

// within bounds an integer.
func within(least, most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(float64(least)), new(float64(most)) }
}

// decode fills a request from the raw bytes of a call's arguments. Whatever is
// not exactly as listed is fault.InvalidArgument and names the argument; null
// is absent.
func decode[Q any](tool string, arguments []argument[Q], raw json.RawMessage) (request Q, err error) {
	given, err := members(tool, raw)
	if err != nil {
		return request, err
	}
	for _, m := range given {
		at := slices.IndexFunc(arguments, func(a argument[Q]) bool { return a.name == m.name })
		if at < 0 {
			return request, unknown(tool, m.name, arguments)
		}
	}
	for _, a := range arguments {
		at := slices.IndexFunc(given, func(m member) bool { return m.name == a.name && string(m.value) != "null" })
		if at < 0 {
			if a.need == required {
				return request, task.InvalidArgument(a.name, "is missing; %s needs it", tool)
			}
			continue
		}
		if err := fill(a.place(&request), a.name, given[at].value); err != nil {
			return request, err
		}
	}
	return request, nil
}

func unknown[Q any](tool, name string, arguments []argument[Q]) error {
	names := make([]string, len(arguments))
	for i, a := range arguments {
		names[i] = a.name
	}
	return task.InvalidArgument(shownName(name), "is no argument of %s", tool).
		WithHint("%s takes %s.", tool, strings.Join(names, ", "))
}

// member is one name and raw value of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members splits the arguments, which Go's decoder would do by keeping the last
// of two values of one name. No arguments and null are an empty object.
func members(tool string, raw json.RawMessage) ([]member, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, task.InvalidArgument("arguments", "must be a JSON object with the arguments of %s", tool)
	}
	var all []member
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, task.InvalidArgument("arguments", "cannot be read as JSON: %v", err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, task.InvalidArgument(shownName(m.name), "cannot be read as JSON: %v", err)
		}
		if seen[m.name] {
			return nil, task.InvalidArgument(shownName(m.name), "is given twice")
		}
		seen[m.name] = true
		all = append(all, m)
	}
	return all, nil
}

// fill puts one raw value into its place.
func fill(place any, name string, raw json.RawMessage) (err error) {
	switch place := place.(type) {
	case *string:
		*place, err = text(name, raw)
	case **string:
		*place = new(string)
		**place, err = text(name, raw)
	case *[]string:
		*place, err = texts(name, raw)
	case **int:
		*place = new(int)
		**place, err = integer(name, raw)
	default:
		err = fmt.Errorf("argument %s has a place of type %T", name, place)
	}
	return err
}

func text(name string, raw json.RawMessage) (string, error) {
	var value *string
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return "", task.InvalidArgument(name, "must be a string, not %s", kindOf(raw))
	}
	if loneSurrogate(raw) {
		return "", task.InvalidArgument(name, `holds half of a surrogate pair (\uD800 to \uDFFF), which is not valid UTF-8`)
	}
	return *value, nil
}

func texts(name string, raw json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		refused := task.InvalidArgument(name, "must be an array of strings, not %s", kindOf(raw))
		if kindOf(raw) == "a string" {
			refused = refused.WithHint(`Send a JSON array such as ["first", "second"], not a string that holds one.`)
		}
		return nil, refused
	}
	all := make([]string, len(items))
	for i, item := range items {
		value, err := text(fmt.Sprintf("%s[%d]", name, i), item)
		if err != nil {
			return nil, err
		}
		all[i] = value
	}
	return all, nil
}

// integer reads any spelling of a whole number, as JSON Schema does: 20.0 too.
func integer(name string, raw json.RawMessage) (int, error) {
	number, err := strconv.ParseFloat(string(raw), 64)
	if kindOf(raw) != "a number" || err != nil || number != math.Trunc(number) || math.Abs(number) > maxExactInteger {
		return 0, task.InvalidArgument(name, "must be an integer, not %s", shortened(string(raw)))
	}
	return int(number), nil
}

// kindOf words the type of a raw JSON value.
func kindOf(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '"':
		return "a string"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '{':
		return "an object"
	case raw[0] == 't', raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

// loneSurrogate reports whether raw JSON holds an escape of half a surrogate
// pair (RFC 8259, section 8.2), which Go's decoder replaces silently.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // what is escaped is no backslash that escapes
		unit, ok := escapedUnit(raw, i-1)
		switch {
		case !ok || unit < 0xD800 || unit > 0xDFFF:
			continue
		case unit >= 0xDC00:
			return true
		}
		low, ok := escapedUnit(raw, i+5)
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		i += 10
	}
	return false
}

// escapedUnit reads the escape \uXXXX at a position.
func escapedUnit(raw []byte, at int) (uint64, bool) {
	if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
	return unit, err == nil
}

// joinedNames lists values for a hint.
func joinedNames[V ~string](values []V) string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return strings.Join(names, ", ")
}

// shownName is a member's name as a refusal gives it: never empty, and bounded.
func shownName(name string) string {
	if name == "" {
		return `""`
	}
	return shortened(name)
}

// maxRepeated is how many bytes of a caller's own text a refusal repeats.
const maxRepeated = 80

// shortened bounds a text that a refusal repeats, at a character boundary.
func shortened(text string) string {
	if len(text) <= maxRepeated {
		return text
	}
	return strings.ToValidUTF8(text[:maxRepeated], "") + "…"
}
