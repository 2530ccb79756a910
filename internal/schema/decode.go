package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/task"
)

// MaxExactInteger is the largest integer that every JSON reader keeps exactly.
const MaxExactInteger = 1<<53 - 1

// Decode fills a request from the raw bytes of a call's arguments. Whatever is
// not exactly as listed is fault.InvalidArgument and names the argument; null
// is absent.
func (o Operation[Q]) Decode(raw json.RawMessage) (request Q, err error) {
	given, err := Members(o.Name, raw)
	if err != nil {
		return request, err
	}
	err = o.fill(&request, given, nil)
	return request, err
}

// fill puts what was given into its places; path are the arguments that are not
// given by their names.
func (o Operation[Q]) fill(request *Q, given []Member, path map[string]string) error {
	for _, m := range given {
		at := slices.IndexFunc(o.Arguments, func(a Argument[Q]) bool { return a.Name == m.Name })
		if at < 0 {
			return o.unknown(m.Name, path)
		}
	}
	for _, a := range o.Arguments {
		at := slices.IndexFunc(given, func(m Member) bool { return m.Name == a.Name && string(m.Value) != "null" })
		if at < 0 {
			if a.Need == Required {
				return task.InvalidArgument(a.Name, "is missing; %s needs it", o.Name)
			}
			continue
		}
		if err := fill(a.Place(request), a.Name, given[at].Value); err != nil {
			return err
		}
	}
	return nil
}

func (o Operation[Q]) unknown(name string, path map[string]string) error {
	var names []string
	for _, a := range o.Arguments {
		if _, inPath := path[a.Name]; !inPath {
			names = append(names, a.Name)
		}
	}
	refused := task.InvalidArgument(shownName(name), "is no argument of %s", o.Name)
	if len(names) == 0 {
		return refused.WithHint("%s takes none.", o.Name)
	}
	return refused.WithHint("%s takes %s.", o.Name, strings.Join(names, ", "))
}

// Member is one name and raw value of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members splits the arguments of an operation, which Go's decoder would do by keeping the last
// of two values of one name. No arguments and null are an empty object.
func Members(operation string, raw json.RawMessage) ([]Member, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, task.InvalidArgument("arguments", "must be a JSON object with the arguments of %s", operation)
	}
	var all []Member
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, task.InvalidArgument("arguments", "cannot be read as JSON: %v", err)
		}
		m := Member{Name: fmt.Sprint(name)}
		if err := decoder.Decode(&m.Value); err != nil {
			return nil, task.InvalidArgument(shownName(m.Name), "cannot be read as JSON: %v", err)
		}
		if seen[m.Name] {
			return nil, task.InvalidArgument(shownName(m.Name), "is given twice")
		}
		seen[m.Name] = true
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
		return "", task.InvalidArgument(name, "must be a string, not %s", KindOf(raw))
	}
	if LoneSurrogate(raw) {
		return "", task.InvalidArgument(name, `holds half of a surrogate pair (\uD800 to \uDFFF), which is not valid UTF-8`)
	}
	return *value, nil
}

func texts(name string, raw json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		refused := task.InvalidArgument(name, "must be an array of strings, not %s", KindOf(raw))
		if KindOf(raw) == "a string" {
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
	if KindOf(raw) != "a number" || err != nil || number != math.Trunc(number) || math.Abs(number) > MaxExactInteger {
		return 0, task.InvalidArgument(name, "must be an integer, not %s", Shortened(string(raw)))
	}
	return int(number), nil
}
