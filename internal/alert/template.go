package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// Bounds of a template.
const (
	MaxTemplateBytes = 64 << 10
	maxPayload       = 64 << 10 // bytes that it may write, and of any text on the way
	maxSteps         = 20_000   // values and calls of functions that it works out
	maxWorked        = 4 << 20  // bytes that its functions may read and write in all
	stepName         = "countersign_step"
	weighName        = "countersign_weigh"
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
	parsed, err := template.New("template").Option("missingkey=error").Funcs(functions(new(work))).Parse(text)
	if err != nil {
		return nil, err
	}
	for _, part := range parsed.Templates() {
		if part.Tree != nil && part.Root != nil {
			count(part.Root)
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
	err = own.Funcs(functions(new(work))).Execute(out, fields)
	switch {
	case errors.Is(err, errManySteps):
		return nil, errManySteps
	case errors.Is(err, errLong):
		return nil, errLong
	case errors.Is(err, errMuch):
		return nil, errMuch
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

// work counts what a template does, so that a loop that writes nothing ends too, and
// one that makes long texts to throw them away.
type work struct{ steps, bytes int }

var (
	errManySteps = fmt.Errorf("it takes more than %d steps", maxSteps)
	errLong      = fmt.Errorf("it writes more than %d bytes", maxPayload)
	errMuch      = fmt.Errorf("its functions work on more than %d bytes", maxWorked)
)

func (w *work) step(steps int) (string, error) {
	if w.steps += steps; w.steps > maxSteps {
		return "", errManySteps
	}
	return "", nil
}

// spend takes bytes off what may be worked on.
func (w *work) spend(size int) error {
	if w.bytes += size; w.bytes > maxWorked {
		return errMuch
	}
	return nil
}

// weigh returns a value that is to be compared, and takes its bytes off.
func (w *work) weigh(value any) (any, error) { return value, w.spend(sizeOf([]any{value})) }

// limited is a function whose texts are bounded before they are read and after they
// are written.
func (w *work) limited(write func(values ...any) string) func(values ...any) (string, error) {
	return func(values ...any) (string, error) {
		if err := w.spend(sizeOf(values)); err != nil {
			return "", err
		}
		text := write(values...)
		if err := w.spend(len(text)); err != nil {
			return "", err
		}
		return within(text)
	}
}

// format is printf. What it could write at most is known from its format: each verb
// the longest value, and its width.
func (w *work) format(format string, values ...any) (string, error) {
	most := strings.Count(format, "%") * sizeOf(values)
	for _, number := range strings.FieldsFunc(format, func(r rune) bool { return r < '0' || r > '9' }) {
		width, err := strconv.Atoi(number)
		if err != nil || width > maxPayload {
			return "", errLong
		}
		most += width
	}
	if strings.Contains(format, "*") {
		return "", errors.New("printf takes no width from its values")
	}
	if err := w.spend(most); err != nil {
		return "", err
	}
	return w.limited(func(values ...any) string { return fmt.Sprintf(format, values...) })(values...)
}

// sizeOf is about how many bytes some values have as text.
func sizeOf(values []any) int {
	const word = 32
	size := 0
	for _, value := range values {
		switch value := value.(type) {
		case string:
			size += word + len(value)
		case []any:
			size += word + sizeOf(value)
		case map[string]any:
			for name, each := range value {
				size += word + len(name) + sizeOf([]any{each})
			}
		default:
			size += word
		}
	}
	return size
}

// functions are json and time, the counting of steps, and those of text/template
// that can make a text longer, within bounds.
func functions(counted *work) template.FuncMap {
	return template.FuncMap{
		stepName: counted.step, weighName: counted.weigh,
		"json": func(value any) (string, error) {
			if err := counted.spend(sizeOf([]any{value})); err != nil {
				return "", err
			}
			text, err := json.Marshal(value)
			if err != nil {
				return "", err
			}
			return counted.limited(func(...any) string { return string(text) })()
		},
		"time": func(layout, moment string) (string, error) {
			at, err := time.Parse(time.RFC3339, moment)
			if err != nil {
				return "", err
			}
			return counted.limited(func(...any) string { return at.UTC().Format(layout) })(layout)
		},
		"printf":   counted.format,
		"print":    counted.limited(fmt.Sprint),
		"println":  counted.limited(fmt.Sprintln),
		"html":     counted.limited(func(values ...any) string { return html.EscapeString(fmt.Sprint(values...)) }),
		"js":       counted.limited(template.JSEscaper),
		"urlquery": counted.limited(func(values ...any) string { return url.QueryEscape(fmt.Sprint(values...)) }),
	}
}

func within(text string) (string, error) {
	if len(text) > maxPayload {
		return "", errLong
	}
	return text, nil
}

// count puts at the head of a list, and of every list within it, a step that counts
// what the list works out each time, and has what it compares weighed.
func count(list *parse.ListNode) {
	if list == nil {
		return
	}
	steps := 1
	for _, each := range list.Nodes {
		switch n := each.(type) {
		case *parse.ActionNode:
			steps += weighed(n.Pipe)
		case *parse.TemplateNode:
			steps += weighed(n.Pipe)
		case *parse.IfNode:
			steps += weighed(n.Pipe)
			count(n.List)
			count(n.ElseList)
		case *parse.WithNode:
			steps += weighed(n.Pipe)
			count(n.List)
			count(n.ElseList)
		case *parse.RangeNode:
			steps += weighed(n.Pipe)
			count(n.List)
			count(n.ElseList)
		}
	}
	list.Nodes = append([]parse.Node{snippet(fmt.Sprintf("{{%s %d}}", stepName, steps))}, list.Nodes...)
}

// weighed returns how many commands a pipe has, with those in parentheses, and puts
// a call of weigh around each value that one of them compares.
func weighed(pipe *parse.PipeNode) int {
	if pipe == nil {
		return 0
	}
	commands := 0
	for _, command := range pipe.Cmds {
		commands++
		called, isFunction := command.Args[0].(*parse.IdentifierNode)
		for i, arg := range command.Args {
			commands += weighed(nested(arg))
			if isFunction && i > 0 && isComparison(called.Ident) && !isLiteral(arg) {
				call := snippet("{{" + weighName + " .}}").Pipe
				call.Cmds[0].Args[1] = arg
				command.Args[i] = call
			}
		}
	}
	return commands
}

// nested is the pipe in parentheses of which a value is made; nil when it is none.
func nested(arg parse.Node) *parse.PipeNode {
	if chain, is := arg.(*parse.ChainNode); is {
		arg = chain.Node
	}
	pipe, _ := arg.(*parse.PipeNode)
	return pipe
}

// isComparison reports whether a function of text/template compares texts. What comes
// to one through a pipe need not be weighed: to compare two texts is no more work than
// the shorter one.
func isComparison(name string) bool {
	return slices.Contains([]string{"eq", "ne", "lt", "le", "gt", "ge"}, name)
}

// isLiteral reports whether a value stands in the template itself, which bounds it.
func isLiteral(arg parse.Node) bool {
	switch arg.(type) {
	case *parse.BoolNode, *parse.NilNode, *parse.NumberNode, *parse.StringNode:
		return true
	}
	return false
}

// snippet is the first action of a template that is known to be right.
func snippet(text string) *parse.ActionNode {
	made := template.Must(template.New("snippet").Funcs(functions(new(work))).Parse(text))
	return made.Root.Nodes[0].(*parse.ActionNode) //nolint:forcetypeassert // Each caller's text is one action.
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
