package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/countersign-dev/countersign/internal/registry"
)

// kind is what the file says of components of one kind beyond what all have. What
// belongs to one kind stands in a file of its own, such as mcpserver.go, and has
// a row in the table kinds.
type kind struct {
	name   registry.Kind
	keys   func() ownKeys                                                     // empty ones
	doubts func(r *reviewer, p path, component *registry.Component) []Problem // what is valid and yet likely to be regretted
	shown  func(spec registry.Spec) Shown
}

// kinds is the table of the kinds, in the order in which they are documented.
func kinds() []kind {
	return []kind{
		{registry.KindMCPServer, func() ownKeys { return new(mcpServer) }, doubtsOfMCPServer, shownOfMCPServer},
	}
}

// ownKeys is a pointer to a section: the keys that a kind adds to those that all
// components have.
type ownKeys interface {
	// spec makes of what is written what it means; p is the path of the component.
	spec(c *checker, p path) registry.Spec
}

// Shown is what a list of components shows of what one is.
type Shown struct {
	Profile registry.Profile // of an MCP server
	Target  string           // where it is, without what may be secret in it; untrusted text
}

// Show is what a list shows of a component.
func Show(component *registry.Component) Shown {
	if of, ok := kindOf(string(component.Kind())); ok {
		return of.shown(component.Spec)
	}
	return Shown{}
}

func kindOf(name string) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(each kind) bool { return string(each.name) == name })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// isPlanned reports whether a later version will know a kind, whose keys this
// one cannot judge.
func isPlanned(name string) bool {
	_, known := kindOf(name)
	return !known && slices.Contains([]string{"model", "harness", "knowledge_base"}, name)
}

// component reads a component: the keys that all have, and those of its kind.
func (d *decoder) component(node ast.Node, p path, value reflect.Value) {
	made, ok := value.Addr().Interface().(*component)
	if !ok {
		return
	}
	pairs, ok := d.pairs(node, p, everyKey())
	if !ok {
		return
	}
	chosen, ok := d.chosen(pairs, p)
	if !ok {
		d.planned(pairs, p, made)
		return
	}
	made.own = chosen.keys()
	named := ""
	if !d.broken[p.child("kind")] {
		named = string(chosen.name)
	}
	pairs = slices.DeleteFunc(pairs, func(each pair) bool { return each.name == "kind" && named == "" }) // told already
	d.keys(pairs, p, named, reflect.ValueOf(&made.common).Elem(), reflect.ValueOf(made.own).Elem())
}

// everyKey returns the keys that a component of some kind may have.
func everyKey() []string {
	every := keysOf(reflect.TypeFor[commonKeys]())
	for _, each := range kinds() {
		every = append(every, keysOf(reflect.TypeOf(each.keys()).Elem())...)
	}
	return every
}

// chosen is the kind that a component says it is, and whether this version can
// judge its keys. A component that says none, or one that nobody knows, is taken
// for the kind that has most of its keys.
func (d *decoder) chosen(pairs []pair, p path) (kind, bool) {
	i := slices.IndexFunc(pairs, func(each pair) bool { return each.name == "kind" })
	if i < 0 {
		likely := likeliest(pairs)
		d.add(d.places[p].key, p.child("kind"), "kind is missing", "Add the line kind: "+string(likely.name)+".")
		return likely, true
	}
	where, at, name := startOf(pairs[i].node), p.child("kind"), pairs[i].node.GetToken().Value
	if of, ok := kindOf(name); ok {
		return of, true
	}
	if isPlanned(name) {
		d.add(where, at, "this version does not know components of the kind "+name,
			"It knows "+knownKinds()+". Leave out this component, or use a version that knows its kind.")
		return kind{}, false
	}
	hint := "This version knows " + knownKinds() + "."
	if near := nearest(name, kindNames()); near != "" {
		hint = "Did you mean " + near + "?"
	}
	d.add(where, at, "there is no kind "+quotedKey(name), hint)
	return likeliest(pairs), true
}

// likeliest is the kind that has most of the keys.
func likeliest(pairs []pair) kind {
	return slices.MaxFunc(kinds(), func(a, b kind) int { return a.has(pairs) - b.has(pairs) })
}

// has counts the keys that are the kind's own.
func (k kind) has(pairs []pair) int {
	own, count := keysOf(reflect.TypeOf(k.keys()).Elem()), 0
	for _, each := range pairs {
		if slices.Contains(own, each.name) {
			count++
		}
	}
	return count
}

func kindNames() []string {
	var names []string
	for _, each := range kinds() {
		names = append(names, string(each.name))
	}
	return names
}

// knownKinds names the kinds as part of a sentence.
func knownKinds() string {
	names := kindNames()
	if len(names) == 1 {
		return "the kind " + names[0]
	}
	return "the kinds " + strings.Join(names, ", ")
}

// planned reads of a component of a planned kind what secrets may stand in it,
// and judges nothing.
func (d *decoder) planned(pairs []pair, p path, made *component) {
	told := len(d.problems)
	for _, each := range pairs {
		if each.name == "kind" {
			made.common.Kind = each.node.GetToken().Value
			continue
		}
		if each.name == "credentials" {
			d.into(each.node, p.child(each.name), reflect.ValueOf(&made.planned).Elem())
		}
		d.hide(each.node)
	}
	d.problems = d.problems[:told]
}

// hintOfUnknown says what to do about a key that a component does not have; empty
// when nothing is known about it.
func hintOfUnknown(key string, own reflect.Type) string {
	for field := range own.Fields() {
		section := field.Type
		if section.Kind() == reflect.Pointer {
			section = section.Elem()
		}
		if field.Tag.Get("yaml") == "credentials" && section.Kind() == reflect.Struct && slices.Contains(keysOf(section), key) {
			return "It belongs below credentials."
		}
	}
	for _, each := range kinds() {
		if slices.Contains(keysOf(reflect.TypeOf(each.keys()).Elem()), key) {
			return "It is a key of the kind " + string(each.name) + "."
		}
	}
	return ""
}
