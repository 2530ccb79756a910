// Package schema owns what callers may say and what they are answered: the
// arguments of every operation with their JSON Schemas and their strict decoding,
// and the schemas of answers.
//
// It must not know transports. Its one idea is that an argument is described once,
// so that the tools and the API take the same and refuse it in the same words.
package schema

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Operation is what one operation takes. Q is the request that its arguments fill.
type Operation[Q any] struct {
	Name      string // as refusals give it
	Arguments []Argument[Q]
}

// Argument is one argument of an operation: what its schema says and where its
// value goes. The type of the place decides the type of the value: *string or
// **string a string, *[]string an array of strings, **int an integer.
type Argument[Q any] struct {
	Name        string
	Description string
	Need        Need
	Place       func(*Q) any
	Refine      func(*jsonschema.Schema) // nil for nothing to add
}

// Need says what a call without the argument meets.
type Need int

// The needs.
const (
	Optional Need = iota
	// Checked arguments are listed as required, and what is called says what it
	// thinks of a call without them: missing equals blank.
	Checked
	// Required arguments are refused here when they are missing.
	Required
)

// Called returns the operation under another name.
func (o Operation[Q]) Called(name string) Operation[Q] {
	o.Name = name
	return o
}

// with returns the operation with one more argument.
func (o Operation[Q]) with(a Argument[Q]) Operation[Q] {
	o.Arguments = append(slices.Clip(o.Arguments), a)
	return o
}

// Schema returns the strict schema of the arguments as one object, but for those
// that are left out.
func (o Operation[Q]) Schema(without ...string) *jsonschema.Schema {
	schema := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: nothing(),
	}
	for _, a := range o.Arguments {
		if slices.Contains(without, a.Name) {
			continue
		}
		schema.Properties[a.Name] = a.Schema()
		schema.PropertyOrder = append(schema.PropertyOrder, a.Name)
		if a.Need != Optional {
			schema.Required = append(schema.Required, a.Name)
		}
	}
	return schema
}

// Schema returns the schema of the argument.
func (a Argument[Q]) Schema() *jsonschema.Schema {
	property := &jsonschema.Schema{Description: a.Description}
	switch a.Place(new(Q)).(type) {
	case *[]string:
		property.Type, property.Items = "array", &jsonschema.Schema{Type: "string"}
	case **int:
		property.Type = "integer"
	default:
		property.Type = "string"
	}
	if a.Refine != nil {
		a.Refine(property)
	}
	return property
}

// nothing is the schema that no value fits.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

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

// longest bounds the bytes of a text that has ASCII only.
func longest(most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MaxLength = new(most) }
}

func atLeastOne(s *jsonschema.Schema) { s.MinItems = new(1) }
