package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/schema"
)

// methodCall is the method of a tool call.
const methodCall = "tools/call"

// callLimit is the longest that one call may take, unless its tool has a limit of
// its own.
const callLimit = 30 * time.Second

// tool is one tool: what is listed of it and what it calls. Q is the request
// that its arguments fill, R the result it answers with.
type tool[Q, R any] struct {
	title       string
	description string
	annotations mcp.ToolAnnotations
	operation   schema.Operation[Q] // whose name is that of the tool
	limit       time.Duration       // 0 for callLimit
	call        func(context.Context, Q) (R, error)
}

// reading are the annotations of the tools that only read what is stored.
func reading() mcp.ToolAnnotations {
	return mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)}
}

// add puts a tool on an endpoint of s. It goes by the SDK's low-level way in,
// because the typed one words refusals in its own way.
func add[Q, R any](s *Server, endpoint *mcp.Server, t tool[Q, R]) {
	t.annotations.Title = t.title
	listed := &mcp.Tool{
		Name: t.operation.Name, Title: t.title, Description: t.description,
		InputSchema: t.operation.Schema(), Annotations: &t.annotations,
	}
	endpoint.AddTool(listed, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.limit, callLimit))
		defer cancel()
		ctx, span := s.begin(ctx, t.operation.Name, request)
		defer span.End()
		defer s.report(ctx, request)()
		result, err := run(ctx, t, request.Params.Arguments)
		if err != nil {
			coded := s.refusal(ctx, t.operation.Name, err)
			s.refused(span, coded.Code)
			return failure(coded), nil
		}
		carriedOut(span)
		return success(result)
	})
}

// run decodes the arguments and makes the call.
func run[Q, R any](ctx context.Context, t tool[Q, R], raw json.RawMessage) (result R, err error) {
	request, err := t.operation.Decode(raw)
	if err != nil {
		return result, err
	}
	return t.call(ctx, request)
}

// refusal returns the fault that an error is shown as.
func (s *Server) refusal(ctx context.Context, name string, err error) *fault.Error {
	coded, ok := fault.Of(err)
	if !ok || coded.Code == fault.Internal {
		return s.hide(ctx, name, err)
	}
	if coded.Code == fault.Unavailable && !errors.Is(err, context.Canceled) {
		s.log.WarnContext(ctx, "a call could not be served", "tool", name, "cause", err.Error())
	}
	return coded
}

// success answers with one object, as text for models and as structured content
// for programs.
func success(result any) (*mcp.CallToolResult, error) {
	data := encode(result)
	if data == nil {
		return nil, fmt.Errorf("encode a %T", result)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(data)}},
		StructuredContent: data,
	}, nil
}

// failure answers with a fault. It has no structured content: clients in the
// wild validate that even when it is an error, and throw.
func failure(refused *fault.Error) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: string(encode(refused))}},
	}
}

// encode returns v as JSON in which <, > and & stand for themselves, also
// inside what marshals itself or was JSON before: a model reads this text. It is
// nil for a value that cannot be encoded.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return unescaped(data)
}

// unescaped puts <, > and & in the place of their escapes, as Go's encoder writes
// them.
func unescaped(data []byte) []byte {
	kept := make([]byte, 0, len(data))
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 {
			return append(kept, data...)
		}
		kept, data = append(kept, data[:at]...), data[at:]
		if unit, ok := schema.EscapedUnit(data, 0); ok && (unit == '<' || unit == '>' || unit == '&') {
			kept, data = append(kept, byte(unit)), data[len(`\u0026`):]
			continue
		}
		kept, data = append(kept, data[:2]...), data[2:] // a backslash in JSON escapes something
	}
}
