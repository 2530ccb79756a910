package mcpwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	discover    = "server/discover"
	initialize  = "initialize"
	initialized = "notifications/initialized"
	listTools   = "tools/list"
	callTool    = "tools/call"
)

// modernVersions and legacyVersions are what the client speaks, newest first.
func modernVersions() []string { return []string{"2026-07-28"} }

func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
}

// attempt is one try to agree with the server. It returns the attempt that the
// answer calls for, nil when the era is settled, or why the handshake failed.
type attempt func(ctx context.Context) (attempt, error)

// Handshake finds the transport, the era and the version. It begins with the way
// that worked last, if one is remembered; else over HTTP it asks a modern
// question first, and of a process, which may die of that, a legacy one. It falls
// back on what positively speaks for the other era. An error is a *Failure.
func (c *Client) Handshake(ctx context.Context) error {
	began := time.Now()
	defer func() { c.report.Timings.HandshakeMs += registry.Milliseconds(time.Since(began)) }()
	known := c.eras.of(c.target.key())
	err := c.agree(ctx, c.begin(known))
	if err == nil || known == (way{}) {
		return err
	}
	c.eras.forget(c.target.key())
	if ctx.Err() != nil || !speaksOfEra(err) {
		return err
	}
	if c.carrier != c.first {
		c.carrier.close(ctx)
		c.carrier = c.first
	}
	return c.agree(ctx, c.begin(way{}))
}

// begin returns the first attempt.
func (c *Client) begin(known way) attempt {
	c.discovered, c.refusal = false, nil
	legacy, isProcess := legacyVersions()[0], c.target.Endpoint == nil
	switch {
	case known.transport == registry.SSE:
		return c.overEvents(legacy, nil)
	case known.era == registry.Legacy, known.era == "" && isProcess:
		return c.initialize(legacy)
	}
	return c.discover(modernVersions()[0])
}

func (c *Client) agree(ctx context.Context, try attempt) error {
	for range maxAttempts {
		next, err := try(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			c.settled = true
			c.report.Era, c.report.ProtocolVersion = c.era, c.version
			c.eras.remember(c.target.key(), way{c.era, c.report.Transport})
			return nil
		}
		try = next
	}
	return &Failure{Cause: registry.VersionMismatch, Detail: "no version was agreed on, although there is a common one"}
}

// follow returns the attempt that a list of the server's versions calls for.
func (c *Client) follow(offered []string) (attempt, error) {
	for _, version := range modernVersions() {
		if slices.Contains(offered, version) {
			return c.discover(version), nil
		}
	}
	for _, version := range legacyVersions() {
		if slices.Contains(offered, version) {
			return c.initialize(version), nil
		}
	}
	return nil, &Failure{Cause: registry.VersionMismatch, Detail: registry.Shorten(
		fmt.Sprintf("the server offers %s only", strings.Join(offered, ", ")), registry.MaxDetail)}
}

// discover asks as a modern client. Half of the time is kept for the other era,
// because there are legacy servers that never answer a method they do not know.
func (c *Client) discover(version string) attempt {
	return func(ctx context.Context) (attempt, error) {
		c.discovered, c.era, c.version = true, registry.Modern, version
		if err := c.carrier.fresh(ctx); err != nil {
			return nil, err
		}
		half, cancel := halfOf(ctx)
		defer cancel()
		result, err := c.call(half, discover, nil)
		if err != nil {
			return c.afterDiscover(ctx, err)
		}
		var members map[string]json.RawMessage
		_ = json.Unmarshal(result, &members)
		offered := versions(members["supportedVersions"])
		switch {
		case len(offered) == 0:
			return c.initialize(legacyVersions()[0]), nil
		case slices.Contains(offered, version):
			c.introduce(members)
			return nil, nil
		}
		return c.follow(offered)
	}
}

func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}

// afterDiscover tells "not modern" from "not answering". Only -32022 with a
// list of versions is evidence of an era; 404 with -32601 is not, since a modern
// server must know the method.
func (c *Client) afterDiscover(ctx context.Context, err error) (attempt, error) {
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		return nil, err
	}
	if failure.rpc != nil && failure.rpc.code == unsupportedVersion && len(failure.rpc.supported) > 0 {
		return c.follow(failure.rpc.supported)
	}
	switch {
	case c.refusal != nil: // the legacy question was asked before
		return nil, c.refusal
	case speaksOfEra(failure), failure.Cause == registry.Timeout && ctx.Err() == nil:
		return c.initialize(legacyVersions()[0]), nil
	}
	return nil, failure
}

// speaksOfEra reports whether a server fails in the way of one that is spoken to
// in the wrong era, and not in the way of one that is not to be had.
func speaksOfEra(err error) bool {
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		return false
	}
	spoken := []registry.Cause{
		registry.Handshake, registry.NotMCP, registry.ProtocolError, registry.ProcessExit, registry.VersionMismatch,
	}
	return slices.Contains(spoken, failure.Cause) || failure.Cause == registry.HTTPStatus && failure.status < 500
}

// initialize shakes hands as a legacy client.
func (c *Client) initialize(version string) attempt {
	return func(ctx context.Context) (attempt, error) {
		c.era, c.version = registry.Legacy, ""
		if err := c.carrier.fresh(ctx); err != nil {
			return nil, err
		}
		result, err := c.call(ctx, initialize, map[string]any{
			"protocolVersion": version, "capabilities": struct{}{}, "clientInfo": c.identity,
		})
		if err != nil {
			return c.afterInitialize(version, err)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(result, &members) != nil ||
			json.Unmarshal(members["protocolVersion"], &c.version) != nil || !isVersion(c.version) {
			c.version = ""
			return nil, c.unusable("the result of initialize names no usable protocolVersion")
		}
		if !slices.Contains(legacyVersions(), c.version) {
			c.warn("the server answered initialize with the unknown version %q", c.version)
		}
		c.introduce(members)
		return nil, c.carrier.tell(ctx, outgoing{Method: initialized})
	}
}

// isVersion reports whether text can be a version and can travel in a header.
func isVersion(text string) bool {
	return text != "" && len(text) <= maxVersion && isVisibleASCII(text)
}

// afterInitialize follows a server that names the versions it would accept:
// modern ones with -32022, legacy ones also with -32602. An address that refuses
// the POST without a word of the protocol may be one of the first revision.
func (c *Client) afterInitialize(asked string, err error) (attempt, error) {
	failure, ok := errors.AsType[*Failure](err)
	switch {
	case !ok:
		return nil, err
	case failure.rpc == nil:
		refusesPost := slices.Contains([]int{400, 404, 405}, failure.status) && failure.Cause == registry.HTTPStatus
		if refusesPost && c.carrier == c.first && c.target.Endpoint != nil {
			return c.overEvents(asked, failure), nil
		}
		return nil, failure
	}
	legacy := slices.DeleteFunc(slices.Clone(failure.rpc.supported), func(version string) bool {
		return version == asked || slices.Contains(modernVersions(), version)
	})
	modern := modernVersions()[0]
	switch {
	case failure.rpc.code == unsupportedVersion && slices.Contains(failure.rpc.supported, modern):
		return c.goModern(modern), nil
	case failure.rpc.code == unsupportedVersion && len(failure.rpc.supported) > 0:
		return c.follow(legacy)
	case failure.rpc.code == invalidParams && len(failure.rpc.supported) > 0:
		if next, err := c.follow(legacy); err == nil {
			return next, nil
		}
	case failure.rpc.code == methodNotFound && !c.discovered:
		c.refusal = failure
		return c.discover(modern), nil
	}
	return nil, failure
}

// overEvents shakes hands over HTTP with server-sent events; refused is why the
// endpoint was not spoken to by POST alone, nil when that was not tried.
func (c *Client) overEvents(version string, refused error) attempt {
	return func(ctx context.Context) (attempt, error) {
		c.era, c.version = registry.Legacy, ""
		stream, err := openStream(ctx, c.conversation, c.outlet.Client(), c.target.Endpoint)
		if err != nil {
			failure, ok := errors.AsType[*Failure](err)
			switch {
			case ok && (refused == nil || failure.Cause == registry.Handshake):
				return nil, failure
			case refused != nil:
				return nil, refused
			}
			return nil, &Failure{Cause: registry.NotMCP, Detail: err.Error()}
		}
		c.carrier, c.report.Transport = stream, registry.SSE
		return c.initialize(version), nil
	}
}

// goModern goes on in the modern era on the word of a server that refused
// initialize. Where discover has failed to answer, the word must do.
func (c *Client) goModern(version string) attempt {
	if !c.discovered {
		return c.discover(version)
	}
	return func(ctx context.Context) (attempt, error) {
		c.era, c.version = registry.Modern, version
		return nil, c.carrier.fresh(ctx)
	}
}

// introduce keeps what the server says of itself.
func (c *Client) introduce(members map[string]json.RawMessage) {
	var meta map[string]json.RawMessage
	_ = json.Unmarshal(members["_meta"], &meta)
	for _, raw := range []json.RawMessage{members["serverInfo"], meta["io.modelcontextprotocol/serverInfo"]} {
		var server registry.Server
		if raw == nil || json.Unmarshal(raw, &server) != nil {
			continue
		}
		c.report.Server = registry.Server{
			Name:    registry.Shorten(server.Name, maxExcerpt),
			Version: registry.Shorten(server.Version, maxExcerpt),
		}
	}
}
