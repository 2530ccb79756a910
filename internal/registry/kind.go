package registry

import (
	"fmt"
	"slices"
)

// Kind says what a component is, and so how it is proven.
type Kind string

// kindOf is what this package has to know of one kind. What belongs to one kind
// alone stands in a file of its own, which gives its row.
type kindOf struct {
	kind   Kind
	decode func(document []byte) (Result, error) // see DecodeResult
	causes []CauseEntry                          // that only this kind has
	ours   []Cause                               // those of them that say nothing about a component: see Cause.IsOurs

	hasTools bool // see Kind.HasTools
}

// kinds is the table of kinds, in the order in which they are documented.
func kinds() []kindOf { return []kindOf{ofMCPServers(), ofModel(), ofHarnesses(), ofKnowledgeBases()} }

// Kinds returns every kind, in the order in which they are documented.
func Kinds() []Kind {
	var names []Kind
	for _, row := range kinds() {
		names = append(names, row.kind)
	}
	return names
}

// HasTools reports whether components of the kind are servers: they have tools and a
// version, on which a slot can insist. It is false of a kind that nobody knows.
func (k Kind) HasTools() bool {
	return slices.ContainsFunc(kinds(), func(row kindOf) bool { return row.kind == k && row.hasTools })
}

// DecodeResult reads a document that the MarshalJSON of a result of a kind wrote.
// It refuses one whose claim to have passed its parts do not support.
func DecodeResult(kind Kind, document []byte) (Result, error) {
	for _, row := range kinds() {
		if row.kind == kind {
			return row.decode(document)
		}
	}
	return nil, fmt.Errorf("decode a probe result: there is no kind %q", kind)
}
