package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Observer is told of what is refused. It must not block, and is called from
// several goroutines.
type Observer interface {
	// Refused tells the code of a call that was refused. An empty one stands for a
	// message that is refused before it is one: malformed, or for no tool of ours.
	Refused(code fault.Code)
}

// unobserved is the observer of a server that has none.
type unobserved struct{}

func (unobserved) Refused(fault.Code) {}

// traceparent is where a client names the trace of its call, in _meta (W3C Trace
// Context).
const traceparent = "traceparent"

// begin begins the span of a call, in the trace that its client names: in the call
// itself, or else in the HTTP request that brought it, which is linked when both do.
// What is no traceparent is passed over. The span tells no argument. Its attributes
// are those of the semantic conventions of OpenTelemetry for MCP, beside our own.
func (s *Server) begin(ctx context.Context, tool string, request *mcp.CallToolRequest) (context.Context, trace.Span) {
	brought := trace.SpanContextFromContext(ctx)
	if told, ok := request.Params.GetMeta()[traceparent].(string); ok {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: told})
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("mcp.method.name", methodCall), attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", tool), attribute.String("network.transport", transportOf(request)))}
	if brought.IsValid() && !brought.Equal(trace.SpanContextFromContext(ctx)) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: brought}))
	}
	return s.tracer.Start(ctx, methodCall+" "+tool, options...)
}

// transportOf is how a call came, as spans name it.
func transportOf(request *mcp.CallToolRequest) string {
	if request.Extra != nil && request.Extra.Header != nil {
		return "tcp"
	}
	return "pipe"
}

// refused notes with which code a call is refused. What is no defect of ours and
// no lack is an ordinary answer, and no error of the span.
func (s *Server) refused(span trace.Span, code fault.Code) {
	s.observer.Refused(code)
	span.SetAttributes(attribute.String("countersign.outcome", "refused"), attribute.String("countersign.code", string(code)))
	if code == fault.Internal || code == fault.Unavailable {
		span.SetAttributes(attribute.String("error.type", "tool_error"))
		span.SetStatus(codes.Error, string(code))
	}
}

// carriedOut notes that a call was.
func carriedOut(span trace.Span) { span.SetAttributes(attribute.String("countersign.outcome", "ok")) }
