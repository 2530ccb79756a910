package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// modernVersion is the version of the modern era.
const modernVersion = "2026-07-28"

// legacyVersions are those that the child may speak, newest first.
func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
}

// offered are the versions that clients may speak, newest first.
func offered() []string {
	return []string{modernVersion, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// hello is what the child said of itself.
type hello struct {
	version      string          // that it is spoken to in
	capabilities json.RawMessage // of what is passed on
	server       json.RawMessage // serverInfo; nil when it gave none
	instructions json.RawMessage // nil when it gave none
}

// name is how the child calls itself, for people.
func (h hello) name() string {
	var server registry.Server
	_ = json.Unmarshal(h.server, &server)
	return registry.Shorten(server.Name, maxLabel)
}

// greet shakes hands as a legacy client does, since some servers end at the first
// word of a modern one. Only a child that then names the modern era is asked in it.
func (c *child) greet(ctx context.Context, identity mcpwire.Identity) error {
	version := legacyVersions()[0]
	for range maxStartTries {
		came := c.ask(ctx, "initialize", params{rest: map[string]json.RawMessage{
			"protocolVersion": encode(version), "capabilities": encode(struct{}{}), "clientInfo": encode(identity),
		}})
		if came.failed != nil {
			return fmt.Errorf("the handshake failed: %w", came.failed)
		}
		if came.refusal == nil {
			return c.agreed(ctx, came.result)
		}
		next, err := another(came.refusal, version)
		if err != nil {
			return err
		}
		if next == modernVersion {
			return c.discover(ctx, identity)
		}
		version = next
	}
	return errors.New("the handshake failed: no version was agreed on")
}

// another is the version to go on with after a refusal that names those it takes.
func another(refusal json.RawMessage, refused string) (string, error) {
	var said struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Supported []string `json:"supported"`
		} `json:"data"`
	}
	_ = json.Unmarshal(refusal, &said)
	for _, version := range legacyVersions() {
		if version != refused && slices.Contains(said.Data.Supported, version) {
			return version, nil
		}
	}
	if slices.Contains(said.Data.Supported, modernVersion) {
		return modernVersion, nil
	}
	return "", fmt.Errorf("the server refused the handshake with error %d: %s", said.Code, registry.Shorten(said.Message, registry.MaxDetail))
}

func (c *child) agreed(ctx context.Context, result json.RawMessage) error {
	var members map[string]json.RawMessage
	var version string
	if json.Unmarshal(result, &members) != nil || json.Unmarshal(members["protocolVersion"], &version) != nil {
		return errors.New("the handshake failed: the result of initialize names no protocolVersion")
	}
	c.hello = hello{
		version:      registry.Shorten(version, maxLabel),
		capabilities: passedOn(members["capabilities"]),
		server:       members["serverInfo"],
		instructions: members["instructions"],
	}
	if !slices.Contains(legacyVersions(), version) {
		c.log.WarnContext(ctx, "the child answered with an unknown protocol version", "version", c.hello.version)
	}
	c.notify(ctx, "notifications/initialized", nil)
	return nil
}

// discover asks a child of the modern era alone who it is.
func (c *child) discover(ctx context.Context, identity mcpwire.Identity) error {
	c.claims = map[string]json.RawMessage{
		metaVersion: encode(modernVersion), metaCapabilities: encode(struct{}{}), metaClient: encode(identity),
	}
	result, err := c.ask(ctx, methodDiscover, params{}).judged()
	if err != nil {
		return fmt.Errorf("the handshake failed: %w", err)
	}
	var members, meta map[string]json.RawMessage
	var versions []string
	_ = json.Unmarshal(result, &members)
	_ = json.Unmarshal(members["_meta"], &meta)
	if json.Unmarshal(members["supportedVersions"], &versions) != nil || !slices.Contains(versions, modernVersion) {
		return errors.New("the handshake failed: the result of " + methodDiscover + " does not name " + modernVersion)
	}
	c.hello = hello{
		version:      modernVersion,
		capabilities: passedOn(members["capabilities"]),
		server:       meta[metaServer],
		instructions: members["instructions"],
	}
	return nil
}

// passedOn are the capabilities that hold through the front: what can be asked
// for, and nothing that the server would have to push.
func passedOn(declared json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(declared, &members)
	kept := map[string]struct{}{}
	for _, name := range []string{"tools", "resources", "prompts", "completions"} {
		if _, ok := members[name]; ok {
			kept[name] = struct{}{}
		}
	}
	return encode(kept)
}

// initialized is the answer to initialize: the version that was asked for, if it
// is known. What a child of another version says stays readable, since clients
// leave aside what they do not know.
func (h hello) initialized(asked string) json.RawMessage {
	if !slices.Contains(offered()[1:], asked) {
		asked = offered()[1]
	}
	return encode(struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Server       json.RawMessage `json:"serverInfo"`
		Instructions json.RawMessage `json:"instructions,omitempty"`
	}{asked, h.capabilities, h.introduction(), h.instructions})
}

// discovered is the answer to server/discover.
func (h hello) discovered() json.RawMessage {
	return encode(struct {
		Versions     []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
		Instructions json.RawMessage `json:"instructions,omitempty"`
	}{offered(), h.capabilities, h.instructions})
}

func (h hello) introduction() json.RawMessage {
	if h.server == nil {
		return encode(mcpwire.Identity{Name: "unnamed", Version: "0"})
	}
	return h.server
}
