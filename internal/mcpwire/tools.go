package mcpwire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Tools returns the distinct tools that have a name, following the pages to the
// end. Handshake must have succeeded. An error is a *Failure.
func (c *Client) Tools(ctx context.Context) ([]registry.Tool, error) {
	tools, err := c.list(ctx)
	if err != nil {
		c.eras.forget(c.target.key())
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok || c.era != registry.Modern || failure.rpc == nil ||
		failure.rpc.code != unsupportedVersion || len(failure.rpc.supported) == 0 {
		return tools, err
	}
	// Discover was answered as a modern server would, but the list is not.
	c.settled = false
	next, err := c.follow(failure.rpc.supported)
	if err != nil {
		return nil, err
	}
	if err := c.agree(ctx, next); err != nil {
		return nil, err
	}
	return c.list(ctx)
}

// list follows the pages of tools/list.
func (c *Client) list(ctx context.Context) ([]registry.Tool, error) {
	began := time.Now()
	defer func() { c.report.Timings.ListMs += registry.Milliseconds(time.Since(began)) }()
	found := catalogue{names: map[string]bool{}}
	cursors := map[string]bool{}
	cursor := ""
	for range MaxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		result, err := c.call(ctx, listTools, params)
		if err != nil {
			return nil, err
		}
		if cursor, err = c.page(&found, result); err != nil {
			return nil, err
		}
		if cursor == "" {
			return found.tools, nil
		}
		if cursors[cursor] {
			return nil, c.unusable("tools/list gives a cursor a second time, so its pages never end")
		}
		cursors[cursor] = true
	}
	return nil, &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the list has more than %d pages", MaxPages)}
}

// catalogue collects the tools of all pages.
type catalogue struct {
	tools []registry.Tool
	names map[string]bool
}

// page takes in one result of tools/list and returns the cursor of the next
// page, empty at the end.
func (c *Client) page(found *catalogue, result json.RawMessage) (string, error) {
	members, err := c.membersOf(found, result)
	if err != nil {
		return "", err
	}
	if kind, present := members["resultType"]; present && string(kind) != `"complete"` {
		return "", c.unusable("the result of tools/list is of the type %s", excerpt(kind))
	}
	c.introduce(members)
	next, present := members["nextCursor"]
	if !present || isNull(next) {
		return "", nil
	}
	var cursor string
	if json.Unmarshal(next, &cursor) != nil {
		return "", c.unusable("nextCursor is no string")
	}
	if cursor == "" {
		c.warn("tools/list ends with an empty nextCursor instead of none")
	}
	return cursor, nil
}

// membersOf takes the tools of a result and returns its other members. The result
// is read piece by piece, since a copy of all its tools can be large.
func (c *Client) membersOf(found *catalogue, result json.RawMessage) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	listed := false
	in := json.NewDecoder(bytes.NewReader(result))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil, c.unusable("the result of tools/list is not a JSON object")
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, c.unusable("the result of tools/list is not a JSON object")
		}
		if name == "tools" {
			listed = true
			if err := c.takeAll(found, in); err != nil {
				return nil, err
			}
			continue
		}
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return nil, c.unusable("the result of tools/list is not a JSON object")
		}
		members[name.(string)] = raw
	}
	if !listed {
		return nil, c.unusable(noTools)
	}
	return members, nil
}

const noTools = "the result of tools/list holds no array tools"

// takeAll takes the tools of an array, one after the other.
func (c *Client) takeAll(found *catalogue, in *json.Decoder) error {
	if first, err := in.Token(); err != nil || first != json.Delim('[') {
		return c.unusable(noTools)
	}
	for in.More() {
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return c.unusable(noTools)
		}
		if c.take(found, raw); len(found.names) > MaxTools {
			return &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the list has more than %d tools", MaxTools)}
		}
	}
	if _, err := in.Token(); err != nil { // the end of the array
		return c.unusable(noTools)
	}
	return nil
}

// take counts a tool if it has a name that no other has.
func (c *Client) take(found *catalogue, raw json.RawMessage) {
	var members, annotated map[string]json.RawMessage
	var name string
	_ = json.Unmarshal(raw, &members)
	if json.Unmarshal(members["name"], &name) != nil || name == "" {
		c.warn("a tool without a name is listed; it does not count")
		return
	}
	if found.names[name] {
		c.warn("the tool %q is listed more than once", registry.Shorten(name, maxExcerpt))
		return
	}
	found.names[name] = true
	if _, err := annotations(members["inputSchema"]); err != nil && c.headersTravel() {
		c.warn("the tool %q is left out, as the protocol wants it: %v", registry.Shorten(name, maxExcerpt), err)
		return
	}
	_ = json.Unmarshal(members["annotations"], &annotated)
	found.tools = append(found.tools, registry.Tool{
		Name:            name,
		Description:     members["description"],
		InputSchema:     members["inputSchema"],
		OutputSchema:    members["outputSchema"],
		DestructiveHint: annotated["destructiveHint"],
		ReadOnly:        string(annotated["readOnlyHint"]) == "true",
	})
}

// headersTravel reports whether requests say in their header what they call.
func (c *Client) headersTravel() bool { return c.era == registry.Modern && c.target.Endpoint != nil }

// Call calls a tool of the list in the session of the list, with a JSON object
// or nil for none, and returns the result. An error is a *Failure.
func (c *Client) Call(ctx context.Context, tool registry.Tool, arguments json.RawMessage) (json.RawMessage, error) {
	began := time.Now()
	defer func() { c.report.Timings.CallMs += registry.Milliseconds(time.Since(began)) }()
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	request := outgoing{Method: callTool, Params: map[string]any{"name": tool.Name, "arguments": arguments}}
	if c.headersTravel() {
		headers, err := paramHeaders(tool.InputSchema, arguments)
		if err != nil {
			return nil, c.unusable("the tool cannot be called: %v", err)
		}
		headers["Mcp-Name"] = tool.Name
		request.Headers = headers
	}
	return c.request(ctx, request)
}
