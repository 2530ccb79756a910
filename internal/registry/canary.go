package registry

import (
	"encoding/json"
	"regexp"
)

// Canary is a declared, harmless tool call with an expectation on its result.
type Canary struct {
	Tool      string
	Arguments json.RawMessage // a JSON object; nil for none
	Expect    Expectation
	Force     bool // call it although the server does not mark it read-only, or marks it destructive
}

// Expectation is what must hold of a canary's result, apart from its not being
// an error. The zero value wants it not to be empty: at least one content with
// text or data. Otherwise either Matches is set, or Path with one of Equals and
// MinCount.
type Expectation struct {
	Matches *regexp.Regexp // must match the text of the result

	// Path is an RFC 9535 JSONPath over the structured content or, without one,
	// over the text parsed as JSON.
	Path     string
	Equals   json.RawMessage // the path must select exactly one value, equal to this JSON value
	MinCount int             // the path must select at least so many values; at least 1 when it is set
}

// NotEmpty reports whether nothing beyond a result that is not empty is expected.
func (e Expectation) NotEmpty() bool { return e.Matches == nil && e.Path == "" }
