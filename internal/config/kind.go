package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/countersign-dev/countersign/internal/registry"
)

// kind is what the file says of components of one kind beyond what all have. What
// belongs to one kind alone stands in a file of its own, which gives its row.
type kind struct {
	name   registry.Kind
	keys   func() ownKeys                                                     // empty ones
	doubts func(r *reviewer, p path, component *registry.Component) []Problem // what is valid and yet likely to be regretted
	shown  func(spec registry.Spec) Shown
}

// kinds is a table of kinds, in the order in which they are documented.
type kinds []kind

func knownKinds() kinds { return kinds{ofMCPServers(), ofModel(), ofHarnesses(), ofKnowledgeBases()} }

// ownKeys is a pointer to a section: the keys that a kind adds to those that all
// components have.
type ownKeys interface {
	// spec makes of what is written what it means; p is the path of the component.
	spec(c *checker, p path) registry.Spec
}

// Shown is what a list of components shows of what one is.
type Shown struct {
	Profile registry.Profile // of an MCP server
	Target  string           // where it is, or how it is started, without what may be secret in that; untrusted text
}

// Show is what a list shows of a component.
func Show(component *registry.Component) Shown {
	if of, ok := knownKinds().of(string(component.Kind())); ok {
		return of.shown(component.Spec)
	}
	return Shown{}
}

func (k kinds) of(name string) (kind, bool) {
	i := slices.IndexFunc(k, func(each kind) bool { return string(each.name) == name })
	if i < 0 {
		return kind{}, false
	}
	return k[i], true
}

func (k kinds) names() []string {
	var names []string
	for _, each := range k {
		names = append(names, string(each.name))
	}
	return names
}

// String names the kinds as part of a sentence.
func (k kinds) String() string {
	if len(k) == 1 {
		return "the kind " + string(k[0].name)
	}
	return "the kinds " + strings.Join(k.names(), ", ")
}

// ownKeys returns the kind's own keys.
func (k kind) ownKeys() []string { return keysOf(reflect.TypeOf(k.keys()).Elem()) }

// everyKey returns the keys that a component of some kind may have.
func (k kinds) everyKey() []string {
	every := keysOf(reflect.TypeFor[sharedKeys]())
	for _, each := range k {
		every = append(every, each.ownKeys()...)
	}
	return every
}

// likeliest is the kind that has most of the keys.
func (k kinds) likeliest(pairs []pair) kind {
	count := func(of kind) int {
		own, found := of.ownKeys(), 0
		for _, each := range pairs {
			if slices.Contains(own, each.name) {
				found++
			}
		}
		return found
	}
	return slices.MaxFunc(k, func(a, b kind) int { return count(a) - count(b) })
}

// hintOfUnknown says what to do about a key that a component does not have; empty
// when nothing is known about it. The section is the kind's own.
func (k kinds) hintOfUnknown(key string, section reflect.Type) string {
	for _, field := range fieldsOf(section) {
		below := field.Type
		if field.Tag.Get("yaml") == "credentials" && below.Kind() == reflect.Struct && slices.Contains(keysOf(below), key) {
			return "It belongs below credentials."
		}
	}
	for _, each := range k {
		if slices.Contains(each.ownKeys(), key) {
			return "It is a key of the kind " + string(each.name) + "."
		}
	}
	return ""
}

// component reads a component: the keys that all have, and those of its kind.
func (d *decoder) component(node ast.Node, p path, made *component) {
	pairs, ok := d.pairs(node, p, d.everyKey)
	if !ok {
		return
	}
	chosen := d.chosen(pairs, p)
	made.own = chosen.keys()
	named := ""
	if !d.broken[p.child("kind")] {
		named = string(chosen.name)
	}
	pairs = slices.DeleteFunc(pairs, func(each pair) bool { return each.name == "kind" && named == "" }) // told already
	d.keys(pairs, p, named, reflect.ValueOf(&made.shared).Elem(), reflect.ValueOf(made.own).Elem())
}

// chosen is the kind that a component says it is. A component that says none, or
// one that nobody knows, is taken for the kind that has most of its keys.
func (d *decoder) chosen(pairs []pair, p path) kind {
	i := slices.IndexFunc(pairs, func(each pair) bool { return each.name == "kind" })
	if i < 0 {
		likely := d.kinds.likeliest(pairs)
		d.add(d.places[p].key, p.child("kind"), "kind is missing", "Add the line kind: "+string(likely.name)+".")
		return likely
	}
	where, at, name := startOf(pairs[i].node), p.child("kind"), pairs[i].node.GetToken().Value
	if of, ok := d.kinds.of(name); ok {
		return of
	}
	hint := "This version knows " + d.kinds.String() + "."
	if near := registry.Nearest(name, d.kinds.names()); near != "" {
		hint = "Did you mean " + near + "?"
	}
	d.add(where, at, "there is no kind "+quotedKey(name), hint)
	return d.kinds.likeliest(pairs)
}
