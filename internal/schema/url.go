package schema

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/task"
)

// DecodeURL fills a request from the segments of a path and a raw query, in which
// each argument is given at most once: a text as it is, an integer as JSON has it.
// The arguments that the path gives are none of the query. Whatever is not exactly
// as listed is fault.InvalidArgument and names the argument.
func (o Operation[Q]) DecodeURL(path map[string]string, query string) (request Q, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return request, task.InvalidArgument("query", "cannot be read: %s", Shortened(err.Error())).
			WithHint("Separate parameters by & and write other characters than letters and digits percent-encoded.")
	}
	var given []Member
	for _, name := range slices.Sorted(maps.Keys(values)) {
		several := values[name]
		_, inPath := path[name]
		switch {
		case inPath || !slices.ContainsFunc(o.Arguments, func(a Argument[Q]) bool { return a.Name == name }):
			return request, o.unknown(name, path)
		case len(several) > 1:
			return request, task.InvalidArgument(shownName(name), "is given twice")
		}
		if given, err = o.member(given, name, several[0]); err != nil {
			return request, err
		}
	}
	if given, err = o.segments(given, path); err != nil {
		return request, err
	}
	err = o.fill(&request, given, path)
	return request, err
}

// DecodeBody fills a request from the segments of a path and a body, which is one
// JSON object of the other arguments; an empty one is an object without members.
// Whatever is not exactly as listed is fault.InvalidArgument and names the
// argument; null is absent.
func (o Operation[Q]) DecodeBody(path map[string]string, body []byte) (request Q, err error) {
	switch {
	case !utf8.Valid(body):
		return request, task.InvalidArgument("body", "is not valid UTF-8")
	case len(body) > 0 && !json.Valid(body):
		return request, task.InvalidArgument("body", "is not exactly one JSON value")
	}
	given, err := Members(o.Name, body)
	if err != nil {
		return request, err
	}
	for _, m := range given {
		if _, inPath := path[m.Name]; inPath {
			return request, o.unknown(m.Name, path)
		}
	}
	if given, err = o.segments(given, path); err != nil {
		return request, err
	}
	err = o.fill(&request, given, path)
	return request, err
}

// segments adds what a path gives.
func (o Operation[Q]) segments(given []Member, path map[string]string) (all []Member, err error) {
	for name, text := range path {
		if given, err = o.member(given, name, text); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// member adds what a text gives for an argument, as JSON.
func (o Operation[Q]) member(given []Member, name, text string) ([]Member, error) {
	if !utf8.ValidString(text) {
		return nil, task.InvalidArgument(shownName(name), "is not valid UTF-8")
	}
	value := json.RawMessage(text)
	if !o.isInteger(name) {
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, task.InvalidArgument(shownName(name), "cannot be written as JSON: %v", err)
		}
		value = quoted
	} else if !json.Valid(value) || strings.TrimSpace(text) != text || text == "null" {
		return nil, task.InvalidArgument(shownName(name), "must be an integer, not %s", shownName(text))
	}
	return append(given, Member{name, value}), nil
}

func (o Operation[Q]) isInteger(name string) bool {
	return slices.ContainsFunc(o.Arguments, func(a Argument[Q]) bool {
		_, is := a.Place(new(Q)).(**int)
		return is && a.Name == name
	})
}
