package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// knowledgeBase is the keys of the kind knowledge_base: those of the kind
// mcp_server, and two of its own.
type knowledgeBase struct {
	mcpServer

	Retrieve      retrieve `yaml:"retrieve"`
	PinnedVersion string   `yaml:"pinned_version"`
}

type retrieve struct {
	Tool      string          `yaml:"tool"`
	Arguments json.RawMessage `yaml:"arguments"`
	Force     bool            `yaml:"force"`
	Chunks    string          `yaml:"chunks"`
	IDs       string          `yaml:"ids"`
	ExpectIDs []string        `yaml:"expect_ids"`
	Version   string          `yaml:"version"`
	Count     string          `yaml:"count"`
	Fallback  string          `yaml:"fallback"`
}

// ofKnowledgeBases is their row of the table.
func ofKnowledgeBases() kind {
	return kind{
		name: registry.KindKnowledgeBase, keys: func() ownKeys { return new(knowledgeBase) },
		doubts: doubtsOfKnowledgeBase, shown: shownOfKnowledgeBase,
	}
}

// spec implements ownKeys.
func (written *knowledgeBase) spec(c *checker, p path) registry.Spec {
	made := &registry.KnowledgeBase{
		MCPServer:     *written.server(c, p),
		Retrieve:      c.retrieval(p.child("retrieve"), written.Retrieve),
		PinnedVersion: c.text(p.child("pinned_version"), written.PinnedVersion),
	}
	switch {
	case !c.has(p.child("retrieve")):
		c.required(p, "retrieve")
	case c.has(p.child("pinned_version")) && !c.has(p.child("retrieve/version")):
		c.complainOfKey(p.child("pinned_version"), "nothing says where the content version is", "Add version: JSONPATH below retrieve.")
	}
	return made
}

// retrieval is what the result of a tool call is to be made of.
func (c *checker) retrieval(p path, written retrieve) registry.Retrieval {
	if !c.has(p) || c.broken[p] {
		return registry.Retrieval{}
	}
	c.required(p, "tool", "chunks")
	c.arguments(p.child("arguments"), written.Arguments)
	switch most := registry.MaxExpectIDs; {
	case c.has(p.child("expect_ids")) && !c.has(p.child("ids")):
		c.complainOfKey(p.child("expect_ids"), "nothing says where the ids are", "Add ids: JSONPATH, such as $.results[*].id.")
	case len(written.ExpectIDs) > most:
		c.complain(p.child("expect_ids"), fmt.Sprintf("there are more than %d ids", most), "Name those that matter most.")
	}
	return registry.Retrieval{
		Tool: c.text(p.child("tool"), written.Tool), Arguments: written.Arguments, Force: written.Force,
		Chunks: c.jsonPath(p.child("chunks"), written.Chunks),
		IDs:    c.jsonPath(p.child("ids"), written.IDs), ExpectIDs: c.texts(p.child("expect_ids"), written.ExpectIDs),
		Version:  c.jsonPath(p.child("version"), written.Version),
		Count:    c.jsonPath(p.child("count"), written.Count),
		Fallback: c.jsonPath(p.child("fallback"), written.Fallback),
	}
}

// arguments refuses those of a tool call that are no object.
func (c *checker) arguments(p path, written json.RawMessage) {
	if arguments := string(written); arguments != "" && !strings.HasPrefix(arguments, "{") {
		c.complain(p, "the arguments of a tool are a set of keys", "Write arguments: {NAME: value}.")
	}
}

func shownOfKnowledgeBase(spec registry.Spec) Shown {
	of, ok := spec.(*registry.KnowledgeBase)
	if !ok {
		return Shown{}
	}
	return shownOfServer(&of.MCPServer)
}

func doubtsOfKnowledgeBase(r *reviewer, p path, component *registry.Component) []Problem {
	of, ok := component.Spec.(*registry.KnowledgeBase)
	if !ok {
		return nil
	}
	warnings := doubtsOfServer(r, p, component.Name, &of.MCPServer)
	if of.Retrieve.IDs != "" && len(of.Retrieve.ExpectIDs) == 0 {
		warnings = append(warnings, r.doubt(p.child("retrieve/ids"), "no id is expected, so these are not looked at",
			"Add expect_ids with an id that the query must find."))
	}
	return warnings
}
