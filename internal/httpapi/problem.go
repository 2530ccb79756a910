package httpapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/httpstatus"
)

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// problem answers with a fault as application/problem+json (RFC 9457). Its details
// stand beside the members that every problem has.
func problem(w http.ResponseWriter, status int, refusal *fault.Error) {
	noteRefusal(w, refusal.Code)
	header := w.Header()
	header.Set("Content-Type", typeProblem)
	header.Set("Cache-Control", "no-store")
	httpstatus.SayWhenAgain(header, status)
	w.WriteHeader(status)
	// A client that has gone cannot be told.
	_, _ = w.Write(append(problemOf(status, refusal), '\n'))
}

// member is one name and value of a problem.
type member struct {
	name  string
	value any
}

// problemOf is a fault as JSON, in an order that does not change.
func problemOf(status int, refusal *fault.Error) []byte {
	members := []member{
		{"type", "about:blank"},
		{"title", http.StatusText(status)},
		{"status", status},
		{"detail", refusal.Message},
		{"code", refusal.Code},
	}
	if refusal.Hint != "" {
		members = append(members, member{"hint", refusal.Hint})
	}
	for _, name := range slices.Sorted(maps.Keys(refusal.Details)) {
		if !slices.Contains(problemMembers(), name) {
			members = append(members, member{name, refusal.Details[name]})
		}
	}
	var out bytes.Buffer
	for _, m := range members {
		value, err := json.Marshal(m.value)
		if err != nil {
			continue // a detail that cannot be told
		}
		name, _ := json.Marshal(m.name) // a string always marshals
		out.WriteByte(',')
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.Bytes()[0] = '{'
	out.WriteByte('}')
	return out.Bytes()
}

// problemMembers are what a detail cannot be called.
func problemMembers() []string {
	return []string{"type", "title", "status", "detail", "code", "hint", "instance"}
}

// problemSchema is the schema of a problem. Details may stand beside.
func problemSchema() *jsonschema.Schema {
	code := &jsonschema.Schema{Type: "string", Description: "Stable, and what a program decides by."}
	for _, each := range fault.Codes() {
		code.Enum = append(code.Enum, each)
	}
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	return &jsonschema.Schema{
		Type:        "object",
		Description: "A problem (RFC 9457). Details of the fault may stand beside, such as field, limit, task_id and current_status.",
		Properties: map[string]*jsonschema.Schema{
			"type": text("Always about:blank."), "title": text("The status in words."),
			"status": {Type: "integer"}, "detail": text("What was attempted and why it was refused."),
			"code": code, "hint": text("What to do next."),
		},
		PropertyOrder: []string{"type", "title", "status", "detail", "code", "hint"},
		Required:      []string{"type", "title", "status", "detail", "code"},
	}
}
