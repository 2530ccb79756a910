package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxNumber bounds the whole numbers in a file.
const maxNumber = math.MaxInt32

// shortSecret is the length in bytes below which a secret is masked where it
// stands, but not wherever else the same characters occur.
const shortSecret = 4

// position is a line and a column in characters, both from 1.
type position struct{ line, column int }

func at(p *token.Position) position { return position{p.Line, p.Column} }

// span is a part of the file, from the first position up to before the second.
type span struct{ from, to position }

// pair is a key and its value.
type pair struct {
	name  string
	where position
	key   ast.Node
	node  ast.Node
}

// pairs returns the keys of a mapping with their values, and whether it is one.
// A key that stands twice is a problem. The keys that are known here tell whether
// the value of one is harmless; there are none where the user chooses them.
func (d *decoder) pairs(node ast.Node, p path, known []string) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.hide(node)
		d.wrong(node, p, "a set of keys", "Write keys with their values, such as key: value.")
		return nil, false
	}
	seen := map[string]position{}
	var pairs []pair
	for _, value := range values {
		key := value.Key.GetToken()
		each := pair{name: key.Value, where: at(key.Position), key: value.Key, node: value.Value}
		if first, twice := seen[each.name]; twice {
			scalar, ok := each.node.(ast.ScalarNode)
			if !ok || !slices.Contains(known, each.name) || !showable(each.name, fmt.Sprint(scalar.GetValue())) {
				d.hide(each.node)
			}
			d.concealKey(each)
			d.add(each.where, p.child(each.name), "the key "+quotedKey(each.name)+" stands here a second time",
				fmt.Sprintf("The first is on line %d; keep one.", first.line))
			continue
		}
		seen[each.name] = each.where
		d.places[p.child(each.name)] = place{key: each.where, value: startOf(each.node), end: d.endOf(each.node)}
		pairs = append(pairs, each)
	}
	return pairs, true
}

// startOf is where the text of a node begins.
func startOf(node ast.Node) position {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return startOf(n.Values[0])
		}
	case *ast.MappingValueNode:
		return at(n.Key.GetToken().Position)
	}
	return at(node.GetToken().Position)
}

// hide keeps the scalars of a node out of every excerpt.
func (d *decoder) hide(node ast.Node) {
	ast.Walk(concealer(func(scalar ast.Node) { d.hidden = append(d.hidden, span{startOf(scalar), d.endOf(scalar)}) }), node)
}

// conceal does so, and keeps their texts out of everything that is said.
func (d *decoder) conceal(node ast.Node) {
	d.hide(node)
	ast.Walk(concealer(func(scalar ast.Node) {
		d.keep(scalar.GetToken().Value)
		d.keep(scalar.GetToken().Origin)
	}), node)
}

// concealKey does so for a key that is not of the form of one, since it may be a
// secret in the wrong place.
func (d *decoder) concealKey(pair pair) {
	if !keyLike(pair.name) {
		d.conceal(pair.key)
	}
}

// keep masks the lines of a text wherever they occur in what is said.
func (d *decoder) keep(text string) {
	for line := range strings.Lines(text) {
		if line = strings.Trim(line, " \t\r\n\"'"); len(line) >= shortSecret {
			d.secrets = append(d.secrets, line)
		}
	}
}

// concealer calls itself for every scalar below a node.
type concealer func(ast.Node)

// Visit implements ast.Visitor.
func (c concealer) Visit(node ast.Node) ast.Visitor {
	if _, ok := node.(ast.ScalarNode); ok {
		c(node)
	}
	return c
}

// endOf is where the token begins that follows a scalar.
func (d *decoder) endOf(scalar ast.Node) position {
	next := scalar.GetToken().Next
	if literal, ok := scalar.(*ast.LiteralNode); ok {
		next = literal.Value.GetToken().Next
	}
	if next == nil {
		return position{len(d.lines) + 1, 1}
	}
	return at(next.Position)
}

// excerpt is a line as it may be shown.
func (d *decoder) excerpt(number int) string {
	line := d.lines[number-1]
	if d.unreadable {
		return keyOnly(line)
	}
	runes := []rune(line)
	for _, hidden := range d.hidden {
		if number < hidden.from.line || number > hidden.to.line {
			continue
		}
		from, to := 0, len(runes)
		if number == hidden.from.line {
			from = min(hidden.from.column-1, len(runes))
		}
		if number == hidden.to.line {
			to = min(hidden.to.column-1, len(runes))
		}
		for i := max(from, 0); i < to; i++ {
			if runes[i] != ' ' {
				runes[i] = '*'
			}
		}
	}
	return d.cleaned(string(runes))
}

// cleaned masks every known secret in a text.
func (d *decoder) cleaned(text string) string {
	for _, secret := range d.secrets {
		text = strings.ReplaceAll(text, secret, strings.Repeat("*", utf8.RuneCountInString(secret)))
	}
	return text
}

// add reports a problem; position 0 is that of the file as a whole.
func (d *decoder) add(where position, p path, message, hint string) {
	d.broken[p] = true
	d.problems = append(d.problems, Problem{
		File: d.file, Line: where.line, Column: where.column, Path: p.String(), Message: message, Hint: hint,
	})
}

// document reads any YAML value as JSON.
func (d *decoder) document(node ast.Node, p path, value reflect.Value) {
	before := len(d.problems)
	plain := d.plain(node, p)
	if len(d.problems) > before {
		return
	}
	encoded, err := json.Marshal(plain)
	if err != nil {
		d.wrong(node, p, "a value that JSON can hold", "Write a text, a number, true, false, null, a list or a set of keys.")
		return
	}
	value.SetBytes(encoded)
}

// plain is a node as the values that encoding/json knows.
func (d *decoder) plain(node ast.Node, p path) any {
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		list := make([]any, 0, len(n.Values))
		for _, each := range n.Values {
			list = append(list, d.plain(each, p))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		object := map[string]any{}
		pairs, _ := d.pairs(node, p, nil)
		for _, pair := range pairs {
			object[pair.name] = d.plain(pair.node, p.child(pair.name))
		}
		return object
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.InfinityNode, *ast.NanNode:
	case ast.ScalarNode:
		return n.GetValue()
	}
	d.wrong(node, p, "a value that JSON can hold", "Write a text, a number, true, false, null, a list or a set of keys.")
	return nil
}
