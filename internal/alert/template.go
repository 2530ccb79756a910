package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// Bounds of a template.
const (
	MaxTemplateBytes = 64 << 10
	maxPayload       = 64 << 10 // bytes that it may write, and of any text on the way
	maxSteps         = 20_000   // turns of its loops and calls of its parts
	stepName         = "countersign_step"
)

// Template makes the body of a webhook from a Message. It is safe for concurrent
// use.
type Template struct{ parsed *template.Template }

// ParseTemplate reads a text of text/template and tries it with an example of
// every alert. It knows the names of the fields of Message as JSON has them, and
// fails for others. Without a content type, what it writes must be JSON.
func ParseTemplate(text, contentType string) (*Template, error) {
	if len(text) > MaxTemplateBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxTemplateBytes)
	}
	parsed, err := template.New("template").Option("missingkey=error").Funcs(functions(new(steps))).Parse(text)
	if err != nil {
		return nil, err
	}
	step, err := template.New("step").Funcs(functions(new(steps))).Parse("{{" + stepName + "}}")
	if err != nil {
		return nil, err
	}
	for _, part := range parsed.Templates() {
		if part.Tree != nil && part.Root != nil {
			count(part.Root, step.Root.Nodes[0])
			part.Root.Nodes = append([]parse.Node{step.Root.Nodes[0]}, part.Root.Nodes...)
		}
	}
	made := &Template{parsed}
	for _, example := range Examples() {
		message := messageOf(&example, "https://countersign.example")
		if _, err := made.render(&message, contentType); err != nil {
			return nil, fmt.Errorf("tried with an alert of the kind %s that is %s: %w", example.Kind, example.State, err)
		}
	}
	return made, nil
}

// render writes the body for a message.
func (t *Template) render(m *Message, contentType string) ([]byte, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(plain, &fields); err != nil {
		return nil, err
	}
	own, err := t.parsed.Clone()
	if err != nil {
		return nil, err
	}
	out := &bounded{}
	err = own.Funcs(functions(new(steps))).Execute(out, fields)
	switch {
	case errors.Is(err, errManySteps):
		return nil, errManySteps
	case errors.Is(err, errLong):
		return nil, errLong
	case err != nil:
		return nil, err
	}
	if isJSON(contentType) && !json.Valid(out.Bytes()) {
		return nil, errors.New("what it writes is not JSON; write texts with the function json: {{json .summary}}")
	}
	return out.Bytes(), nil
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "" || kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// steps counts what a template does, so that a loop that writes nothing ends too.
type steps int

var (
	errManySteps = fmt.Errorf("it takes more than %d steps", maxSteps)
	errLong      = fmt.Errorf("it writes more than %d bytes", maxPayload)
)

func (s *steps) step() (string, error) {
	if *s++; *s > maxSteps {
		return "", errManySteps
	}
	return "", nil
}

// functions are json and time, the counting of steps, and those of text/template
// that can make a text longer, within bounds.
func functions(counted *steps) template.FuncMap {
	return template.FuncMap{
		stepName: counted.step,
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			if err != nil {
				return "", err
			}
			return within(string(text))
		},
		"time": func(layout, moment string) (string, error) {
			at, err := time.Parse(time.RFC3339, moment)
			if err != nil {
				return "", err
			}
			return within(at.UTC().Format(layout))
		},
		"printf":   func(format string, values ...any) (string, error) { return within(fmt.Sprintf(format, values...)) },
		"print":    func(values ...any) (string, error) { return within(fmt.Sprint(values...)) },
		"println":  func(values ...any) (string, error) { return within(fmt.Sprintln(values...)) },
		"html":     func(values ...any) (string, error) { return within(html.EscapeString(fmt.Sprint(values...))) },
		"js":       func(values ...any) (string, error) { return within(template.JSEscaper(values...)) },
		"urlquery": func(values ...any) (string, error) { return within(url.QueryEscape(fmt.Sprint(values...))) },
	}
}

func within(text string) (string, error) {
	if len(text) > maxPayload {
		return "", errLong
	}
	return text, nil
}

// count puts a step at the head of every loop.
func count(node, step parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, each := range n.Nodes {
				count(each, step)
			}
		}
	case *parse.IfNode:
		count(n.List, step)
		count(n.ElseList, step)
	case *parse.WithNode:
		count(n.List, step)
		count(n.ElseList, step)
	case *parse.RangeNode:
		count(n.List, step)
		count(n.ElseList, step)
		n.List.Nodes = append([]parse.Node{step}, n.List.Nodes...)
	}
}

// bounded takes at most maxPayload bytes.
type bounded struct{ bytes.Buffer }

var _ io.Writer = (*bounded)(nil)

func (b *bounded) Write(part []byte) (int, error) {
	if b.Len()+len(part) > maxPayload {
		return 0, errLong
	}
	return b.Buffer.Write(part)
}
