package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// strictObject is a JSON object of which every member must be asked for, once. It
// keeps the first thing that is wrong.
type strictObject struct {
	members map[string]json.RawMessage
	err     error
}

func readStrictly(raw []byte) *strictObject {
	if !utf8.Valid(raw) {
		return &strictObject{err: errors.New("it is not UTF-8")}
	}
	members, err := object(raw)
	return &strictObject{members, err}
}

func (o *strictObject) fail(wrong string) {
	if o.err == nil {
		o.err = errors.New(wrong)
	}
}

// take returns the value of a member, and nil when it is absent.
func (o *strictObject) take(name string) json.RawMessage {
	raw := o.members[name]
	delete(o.members, name)
	return raw
}

// text reads a member that must be a string that is not empty.
func (o *strictObject) text(name string) string {
	var text string
	if raw := o.take(name); json.Unmarshal(raw, &text) != nil || text == "" {
		o.fail(name + " is no text, or is empty")
	}
	return text
}

// textIfAny is text for a member that may be absent.
func (o *strictObject) textIfAny(name string) string {
	if _, present := o.members[name]; !present {
		return ""
	}
	return o.text(name)
}

func (o *strictObject) truth(name string) bool {
	truth, err := boolean(o.members, name)
	if err != nil {
		o.fail(err.Error())
	}
	delete(o.members, name)
	return truth
}

func (o *strictObject) list(name string) []json.RawMessage {
	var list []json.RawMessage
	if raw := o.take(name); json.Unmarshal(raw, &list) != nil || list == nil {
		o.fail(name + " is no list")
	}
	return list
}

// end returns what was wrong; members that nobody asked for are.
func (o *strictObject) end() error {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		o.fail(fmt.Sprintf("the member %q is unknown", Shorten(name, MaxName)))
	}
	return o.err
}

// writtenAs refuses a document that what was read of it would not be written as: one
// with an unknown or doubled member, with one that is spelled otherwise, or that
// says of its parts what they do not support.
func writtenAs(read any, raw []byte) error {
	again, err := json.Marshal(read)
	if err != nil {
		return err
	}
	if !SameJSON(raw, again) {
		return errors.New("its parts do not support it, or it is not written as such a document is")
	}
	return nil
}
