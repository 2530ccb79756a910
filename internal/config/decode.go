package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/countersign-dev/countersign/internal/registry"
)

// path is the keys that lead to a value, joined by slashes.
type path string

func (p path) child(key string) path {
	if p == "" {
		return path(key)
	}
	return p + "/" + path(key)
}

// String joins the keys by dots, as people write it.
func (p path) String() string { return strings.ReplaceAll(string(p), "/", ".") }

// place is where a value and the key before it begin, and where the token begins
// that follows the value.
type place struct{ key, value, end position }

// decoder reads a YAML document into Go values and collects every problem on
// the way; it knows the form of the values and not what they mean.
type decoder struct {
	file       string
	kinds      kinds    // that components may be of
	everyKey   []string // of components of these kinds
	lines      []string
	places     map[path]place
	problems   []Problem
	broken     map[path]bool // the values that have a problem
	hidden     []span        // what no excerpt shows
	secrets    []string      // what neither an excerpt nor a message shows
	unreadable bool          // the file is not YAML, so nothing is known about its lines
}

// into reads a node into a value of one of the kinds that the sections have.
func (d *decoder) into(node ast.Node, p path, value reflect.Value) {
	isNone := node.Type() == ast.NullType
	switch {
	case isNone && value.Type() == reflect.TypeFor[need]():
		return
	case isNone && !emptyMeansNone(value):
		d.add(startOf(node), p, "the key has no value", "Write a value, or leave out the key.")
		return
	}
	switch value.Type() {
	case reflect.TypeFor[json.RawMessage]():
		d.document(node, p, value)
		return
	case reflect.TypeFor[component]():
		if made, ok := reflect.TypeAssert[*component](value.Addr()); ok {
			d.component(node, p, made)
		}
		return
	case reflect.TypeFor[hiddenText]():
		if text, ok := node.(*ast.StringNode); !ok || !isReference(text.Value) {
			d.hide(node)
		}
	}
	switch kind := value.Kind(); {
	case kind == reflect.Pointer && !isNone:
		value.Set(reflect.New(value.Type().Elem()))
		d.into(node, p, value.Elem())
	case kind == reflect.Pointer:
	case kind == reflect.Struct:
		d.section(node, p, value)
	case kind == reflect.Map:
		d.table(node, p, value)
	case kind == reflect.Slice:
		d.list(node, p, value)
	default:
		d.scalar(node, p, value)
	}
}

// emptyMeansNone reports whether a key without a value is as good as {}.
func emptyMeansNone(value reflect.Value) bool {
	kind := value.Kind()
	return kind == reflect.Struct || kind == reflect.Map ||
		kind == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct ||
		value.Type() == reflect.TypeFor[json.RawMessage]()
}

// section reads the keys of a struct, and refuses any other.
func (d *decoder) section(node ast.Node, p path, value reflect.Value) {
	if pairs, ok := d.pairs(node, p, keysOf(value.Type())); ok {
		d.keys(pairs, p, "", value)
	}
}

// keys reads pairs into the structs whose keys they are, and refuses any other.
// The kind is that of the component whose keys they are, if any.
func (d *decoder) keys(pairs []pair, p path, kind string, sections ...reflect.Value) {
	fields := map[string]reflect.Value{}
	for _, section := range sections {
		for _, field := range fieldsOf(section.Type()) {
			fields[field.Tag.Get("yaml")] = section.FieldByIndex(field.Index)
		}
	}
	for _, pair := range pairs {
		if field, ok := fields[pair.name]; ok {
			d.into(pair.node, p.child(pair.name), field)
		} else {
			d.unknown(pair, p, kind, sections)
		}
	}
}

// keysOf returns the keys of a section, in the order of its fields.
func keysOf(section reflect.Type) []string {
	var keys []string
	for _, field := range fieldsOf(section) {
		keys = append(keys, field.Tag.Get("yaml"))
	}
	return keys
}

// fieldsOf returns the fields that are keys of a section: its own, and those of a
// section that it embeds.
func fieldsOf(section reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(section), func(field reflect.StructField) bool { return field.Anonymous })
}

func (d *decoder) unknown(pair pair, p path, kind string, sections []reflect.Value) {
	d.hide(pair.node)
	d.concealKey(pair)
	var known []string
	for _, section := range sections {
		known = append(known, keysOf(section.Type())...)
	}
	message, hint := "unknown key "+quotedKey(pair.name), "The keys here are "+strings.Join(known, ", ")+"."
	if kind != "" {
		message = "the kind " + kind + " has no key " + quotedKey(pair.name)
	}
	if near := registry.Nearest(pair.name, known); near != "" {
		hint = "Did you mean " + near + "?"
	}
	if len(sections) > 1 {
		hint = cmp.Or(d.kinds.hintOfUnknown(pair.name, sections[1].Type()), hint)
	}
	d.add(pair.where, p.child(pair.name), message, hint)
}

// quotedKey is a key as a message may show it.
func quotedKey(key string) string {
	if !keyLike(key) {
		return "(not shown)"
	}
	return fmt.Sprintf("%q", key)
}

// keyLike reports whether a key has the form that keys of the file have.
func keyLike(key string) bool {
	return len(key) <= 24 && strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz_-") == ""
}

// table reads names that the user chooses.
func (d *decoder) table(node ast.Node, p path, value reflect.Value) {
	pairs, ok := d.pairs(node, p, nil)
	if !ok {
		return
	}
	value.Set(reflect.MakeMapWithSize(value.Type(), len(pairs)))
	for _, pair := range pairs {
		if strings.Contains(pair.name, "/") {
			d.add(pair.where, p, "a name may not hold a slash", "Choose another name.")
			continue
		}
		element := reflect.New(value.Type().Elem()).Elem()
		if isSecret(element.Type()) && pair.node.Type() == ast.NullType {
			d.conceal(pair.key) // as in {s3cret}
		}
		d.into(pair.node, p.child(pair.name), element)
		value.SetMapIndex(reflect.ValueOf(pair.name), element)
	}
}

// isSecret reports whether a value of the type may be a secret.
func isSecret(of reflect.Type) bool {
	return of == reflect.TypeFor[secretText]() || of == reflect.TypeFor[hiddenText]()
}

func (d *decoder) list(node ast.Node, p path, value reflect.Value) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		if value.Type().Elem() == reflect.TypeFor[hiddenText]() {
			d.hide(node)
		}
		d.wrong(node, p, "a list", "Write a list, such as [a, b].")
		return
	}
	list := reflect.MakeSlice(value.Type(), len(sequence.Values), len(sequence.Values))
	for i, each := range sequence.Values {
		at := p.child(strconv.Itoa(i))
		d.places[at] = place{key: startOf(each), value: startOf(each), end: d.endOf(each)}
		d.into(each, at, list.Index(i))
	}
	value.Set(list)
}

func (d *decoder) scalar(node ast.Node, p path, value reflect.Value) {
	switch n := node.(type) {
	case *ast.StringNode:
		if value.Kind() == reflect.String {
			value.SetString(n.Value)
			return
		}
	case *ast.LiteralNode:
		if value.Kind() == reflect.String {
			value.SetString(n.Value.Value)
			return
		}
	case *ast.BoolNode:
		if value.Kind() == reflect.Bool {
			value.SetBool(n.Value)
			return
		}
	case *ast.IntegerNode:
		if number, ok := n.Value.(uint64); ok && value.Kind() == reflect.Int && number <= maxNumber {
			value.SetInt(int64(number))
			return
		}
	}
	if value.Type() == reflect.TypeFor[secretText]() {
		d.conceal(node)
	}
	want, hint := wanted(value)
	d.wrong(node, p, want, hint)
}

// wanted says what a scalar must be, and how it is written.
func wanted(value reflect.Value) (want, hint string) {
	switch value.Interface().(type) {
	case bool:
		return "true or false", "Write true or false, without quotes."
	case int:
		return fmt.Sprintf("a whole number from 0 to %d", int64(maxNumber)), "Write such a number, without quotes."
	case duration:
		return "a time with its unit", "Write one such as 500ms, 30s, 5m or 24h."
	case size:
		return "a size with its unit", "Write one such as 500MB or 1GiB."
	case secretText:
		return "a reference", "Write env:NAME or file:PATH."
	}
	return "a text", "Write a text; YAML needs quotes around one that looks like something else."
}

// wrong reports a value of another form than the one that belongs here.
func (d *decoder) wrong(node ast.Node, p path, want, hint string) {
	d.add(startOf(node), p, "this is "+described(node)+" and not "+want, hint)
}

func described(node ast.Node) string {
	switch node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a set of keys"
	case *ast.NullNode:
		return "nothing"
	}
	return "something else"
}
