package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gowebpki/jcs"
)

// Tool is a tool as its server describes it: what a caller relies on, as JSON,
// nil when absent, and whether it is marked as one that only reads.
type Tool struct {
	Name            string          `json:"name"`
	Description     json.RawMessage `json:"description,omitempty"`
	InputSchema     json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema    json.RawMessage `json:"outputSchema,omitempty"`
	DestructiveHint json.RawMessage `json:"destructiveHint,omitempty"`
	ReadOnly        bool            `json:"-"` // marked with readOnlyHint true
}

// Destructive reports whether the tool is marked as one that may destroy.
func (t Tool) Destructive() bool { return string(t.DestructiveHint) == "true" }

// NeedsArguments reports whether the tool's input schema requires any argument,
// or is none that can be read.
func (t Tool) NeedsArguments() bool {
	var schema struct {
		Required []string `json:"required"`
	}
	return json.Unmarshal(t.InputSchema, &schema) != nil || len(schema.Required) > 0
}

// plainName is a name that can stand on a command line and in YAML as it is.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`) })

// secretName is a name of a tool that may answer with secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(env|secret|token|key|passw|credential|auth)`) })

// LikelyCanary names the tool that is likely to be a good canary: marked as one
// that only reads, not marked as destructive, without a required argument, of a
// name that needs no quotes anywhere and does not speak of secrets, which the
// result would then hold. It is empty when there is none.
func LikelyCanary(tools []Tool) string {
	var likely []string
	for _, tool := range tools {
		if tool.ReadOnly && !tool.Destructive() && !tool.NeedsArguments() &&
			plainName().MatchString(tool.Name) && !secretName().MatchString(tool.Name) {
			likely = append(likely, tool.Name)
		}
	}
	if len(likely) == 0 {
		return ""
	}
	return slices.Min(likely)
}

// ToolsDigest is "sha256:" and the SHA-256 of the canonical JSON (RFC 8785) of
// what a caller relies on: names, descriptions, schemas and the destructive
// hint, in order of name. Key order, white space and paging do not change it; an
// empty list has none.
func ToolsDigest(tools []Tool) (string, error) {
	if len(tools) == 0 {
		return "", nil
	}
	list := slices.Clone(tools)
	slices.SortFunc(list, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	plain, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("write the tools as JSON: %w", err)
	}
	canonical, err := jcs.Transform(plain)
	if err != nil {
		return "", fmt.Errorf("bring the tools into canonical form: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// SameJSON reports whether two JSON documents have the same canonical form
// (RFC 8785). Documents without one are the same when their bytes are.
func SameJSON(a, b json.RawMessage) bool {
	first, err := canonicalJSON(a)
	if err != nil {
		return string(a) == string(b)
	}
	second, err := canonicalJSON(b)
	return err == nil && first == second
}

// canonicalJSON wraps the document, since RFC 8785 is about objects and arrays.
func canonicalJSON(raw json.RawMessage) (string, error) {
	wrapped, err := json.Marshal([]json.RawMessage{raw})
	if err != nil {
		return "", fmt.Errorf("read as JSON: %w", err)
	}
	canonical, err := jcs.Transform(wrapped)
	return string(canonical), err
}
