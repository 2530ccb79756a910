package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/schema"
)

// document is a JSON object whose members keep their order.
type document []schema.Member

// errNotObject says that JSON is no object, or names a member twice.
var errNotObject = errors.New("not a JSON object of distinct names")

// documentOf returns what marshals to an object as a document.
func documentOf(v any) (document, error) { return readDocument(encode(v)) }

// readDocument returns a JSON object as a document.
func readDocument(raw json.RawMessage) (document, error) {
	all, err := schema.Members("", raw)
	if err != nil || all == nil {
		return nil, errNotObject
	}
	return all, nil
}

// MarshalJSON implements json.Marshaler.
func (d document) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range d {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(encode(m.Name))
		out.WriteByte(':')
		out.Write(m.Value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// abridged returns what of a JSON value fits into most bytes: the beginning of a
// text or an array, the members of an object that still fit. Other values are as
// they were.
func abridged(raw json.RawMessage, most int) json.RawMessage {
	switch schema.KindOf(raw) {
	case "a string":
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return json.RawMessage(`""`)
		}
		return encode(cut(inner(text), most-len(`""`)))
	case "an array":
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return json.RawMessage(`[]`)
		}
		return encode(items[:fitting(items, most)])
	case "an object":
		all, err := readDocument(raw)
		if err != nil {
			return json.RawMessage(`{}`)
		}
		room := most - len(`{}`)
		return encode(slices.DeleteFunc(all, func(m schema.Member) bool {
			size := sizeOf(m.Name) + len(`:`) + sizeOf(m.Value) + len(`,`)
			if size > room {
				return true
			}
			room -= size
			return false
		}))
	}
	return raw
}

// fitting returns how many of the first items an array has that fits into most bytes.
func fitting[T any](items []T, most int) int {
	room := most - len(`[]`)
	for i := range items {
		room -= sizeOf(items[i]) + len(`,`)
		if room < 0 {
			return i
		}
	}
	return len(items)
}
