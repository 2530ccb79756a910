package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// refusals remembers what it was told.
type refusals struct {
	mu    sync.Mutex
	codes []fault.Code
}

func (r *refusals) Refused(code fault.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes = append(r.codes, code)
}

// told returns what it was told since, sorted.
func (r *refusals) told() []fault.Code {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.codes
	r.codes = nil
	slices.Sort(since)
	return since
}

// tracing returns a tracer and what keeps its spans.
func tracing(t *testing.T) (trace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	t.Cleanup(func() { _ = provider.Shutdown(t.Context()) })
	return provider.Tracer("test"), spans
}

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

func TestCalls_areSpansInTheTraceThatTheirClientNames(t *testing.T) {
	transports := map[string]string{"stdio": "pipe", "HTTP": "tcp"}
	overAll(t, func(t *testing.T, over, version string) {
		t.Helper()
		tracer, spans := tracing(t)
		server := New(newOperations(t), logging(t, Options{Tracer: tracer, Caller: thisProcess("")}))
		session := connected(t, server, over, version, nil)
		call := func(tool string, arguments map[string]any, named any) sdktrace.ReadOnlySpan {
			t.Helper()
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Meta: mcp.Meta{"traceparent": named}, Name: tool, Arguments: arguments,
			}); err != nil {
				t.Fatal(err)
			}
			ended := spans.Ended()
			return ended[len(ended)-1]
		}
		created := map[string]any{"title": "the secret title", "acceptance_criteria": []string{"c"}, "created_by": "ada"}
		span := call("create_task", created, "00-"+callersTrace+"-"+callersSpan+"-01")
		if span.Name() != "tools/call create_task" || span.Parent().TraceID().String() != callersTrace ||
			span.Parent().SpanID().String() != callersSpan || span.SpanKind() != trace.SpanKindServer {
			t.Errorf("%s %s: the span is %q in %s", over, version, span.Name(), span.Parent().TraceID())
		}
		want := []attribute.KeyValue{
			attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", "create_task"), attribute.String("network.transport", transports[over]),
			attribute.String("countersign.outcome", "ok"),
		}
		if !slices.Equal(span.Attributes(), want) {
			t.Errorf("%s %s: the attributes are %v", over, version, span.Attributes())
		}
		for _, hostile := range []any{
			"", "00", "00-" + strings.ToUpper(callersTrace) + "-" + callersSpan + "-01", "ff-" + callersTrace + "-" + callersSpan + "-01",
			"00-" + strings.Repeat("0", 32) + "-" + callersSpan + "-01", "00-" + callersTrace + "-" + callersSpan + "-01-more",
			"00-" + callersTrace + "-" + callersSpan + "-01\r\nlevel=ERROR", strings.Repeat("0", 10_000), 17.0,
			[]string{"a"},
			nil,
			map[string]any{"a": "b"},
		} {
			span := call("get_task", map[string]any{"task_id": "nobody"}, hostile)
			if span.Parent().IsValid() {
				t.Errorf("%s %s: %v was taken for a traceparent", over, version, hostile)
			}
			if !slices.Contains(span.Attributes(), attribute.String("countersign.code", string(fault.NotFound))) ||
				span.Status().Code != codes.Unset || len(span.Attributes()) != 6 {
				t.Errorf("%s %s: the attributes are %v", over, version, span.Attributes())
			}
		}
	})
}

// TestCalls_areLinkedWithTheRequestThatBroughtThem has a client name one trace in
// its call, and its HTTP library another.
func TestCalls_areLinkedWithTheRequestThatBroughtThem(t *testing.T) {
	t.Parallel()
	tracer, spans := tracing(t)
	server := New(newOperations(t), logging(t, Options{Tracer: tracer}))
	brought := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	for _, named := range []string{"", "00-" + callersTrace + "-" + callersSpan + "-01"} {
		_, span := server.begin(trace.ContextWithRemoteSpanContext(t.Context(), brought), "get_task",
			&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{"traceparent": named}}})
		span.End()
	}
	ended := spans.Ended()
	if alone := ended[0]; !alone.Parent().Equal(brought) || len(alone.Links()) != 0 {
		t.Errorf("a call that names no trace is in %v with the links %v", alone.Parent(), alone.Links())
	}
	if both := ended[1]; both.Parent().TraceID().String() != callersTrace || len(both.Links()) != 1 || !both.Links()[0].SpanContext.Equal(brought) {
		t.Errorf("a call that names another trace is in %v with the links %v", both.Parent(), both.Links())
	}
}

func TestCalls_areErrorsOfTheirSpansOnlyWhereTheFaultIsOurs(t *testing.T) {
	t.Parallel()
	tracer, spans := tracing(t)
	server := New(newOperations(t), logging(t, Options{Tracer: tracer}))
	for _, code := range fault.Codes() {
		_, span := tracer.Start(t.Context(), string(code))
		server.refused(span, code)
		span.End()
	}
	for _, span := range spans.Ended() {
		isOurs := span.Name() == string(fault.Internal) || span.Name() == string(fault.Unavailable)
		if isOurs != (span.Status().Code == codes.Error) || isOurs != slices.Contains(span.Attributes(), attribute.String("error.type", "tool_error")) {
			t.Errorf("%s is told as %v with %v", span.Name(), span.Status(), span.Attributes())
		}
	}
}

func TestCalls_logTheTraceOfTheirClientAlsoWhenNothingIsTraced(t *testing.T) {
	t.Parallel()
	seen := make(chan trace.SpanContext, 1)
	server := New(watchedOperations{newOperations(t), seen}, logging(t, Options{}))
	session := connected(t, server, "stdio", "2025-11-25", nil)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"traceparent": "00-" + callersTrace + "-" + callersSpan + "-00"}, Name: "list_tasks", Arguments: map[string]any{},
	}); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got.TraceID().String() != callersTrace || got.SpanID().String() != callersSpan {
		t.Errorf("the call is made in %s", got.TraceID())
	}
}

func TestServer_tellsEachRefusalOnce(t *testing.T) {
	t.Parallel()
	observer := &refusals{}
	options := logging(t, Options{Observer: observer})
	calls := []struct {
		line string
		want []fault.Code
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil},
		{toolCall(2, "get_task", `{"task_id":"nobody"}`), []fault.Code{fault.NotFound}},
		{toolCall(3, "get_task", `{"task_id":"0190163d-8694-739b-aea5-966c26f8ad91"}`), []fault.Code{fault.NotFound}},
		{toolCall(4, "get_task", `{"nonsense":true}`), []fault.Code{fault.InvalidArgument}},
		{toolCall(5, "claim_done", `{"task_id":"0190163d-8694-739b-aea5-966c26f8ad91","agent_id":"a b","evidence":"e"}`), []fault.Code{fault.InvalidAgentID}},
		{toolCall(6, "no_such_tool", `{}`), []fault.Code{""}},
		{toolCall(7, "list_tasks", `{}`), nil},
		{`{"jsonrpc":"2.0","id":8,"method":"no/such"}`, nil}, // the SDK answers it
		{`{`, []fault.Code{""}},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, []fault.Code{""}},
		{`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"` + strings.Repeat("x", task.MaxRequest) + `"}}`, []fault.Code{fault.TooLarge}},
	}
	stdio := connect(t, New(newOperations(t), options))
	stdio.initialize()
	http11 := listen(t, New(newOperations(t), options))
	for _, each := range calls {
		answer := stdio.ask(each.line)
		if diff := cmp.Diff(each.want, observer.told()); diff != "" {
			t.Errorf("over stdio, %.80s answered by %.200s: refusals (-want +told):\n%s", each.line, answer, diff)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, http11.URL, strings.NewReader(each.line))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http11.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if diff := cmp.Diff(each.want, observer.told()); diff != "" {
			t.Errorf("over HTTP, %.80s answered with %d: refusals (-want +told):\n%s", each.line, response.StatusCode, diff)
		}
	}
}

// watchedOperations tells in which trace it is called.
type watchedOperations struct {
	task.Operations
	seen chan trace.SpanContext
}

func (o watchedOperations) List(ctx context.Context, query task.Query) (task.Page, error) {
	o.seen <- trace.SpanContextFromContext(ctx)
	return o.Operations.List(ctx, query)
}

// toolCall is a tool call as one line.
func toolCall(id int, tool, arguments string) string {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": json.RawMessage(arguments)},
	})
	if err != nil {
		return err.Error()
	}
	return string(line)
}
