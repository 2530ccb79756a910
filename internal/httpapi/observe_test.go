package httpapi

import (
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/fault"
)

const (
	callersTrace  = "0af7651916cd43dd8448eb211c80319c"
	callersSpan   = "b7ad6b7169203331"
	callersParent = "00-" + callersTrace + "-" + callersSpan + "-01"
)

// told is what an observer was told; the requests of its tests come one by one.
type told struct{ words []string }

func (o *told) Answered(routes string, status int) {
	o.words = append(o.words, routes+" "+strconv.Itoa(status))
}
func (o *told) Refused(code fault.Code) { o.words = append(o.words, string(code)) }

// handled sends a request to a server with these options.
func handled(t *testing.T, options Options, method, path string, header http.Header) {
	t.Helper()
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	request.Host = "127.0.0.1:80"
	maps.Copy(request.Header, header)
	handlerOf(t, New(options)).ServeHTTP(httptest.NewRecorder(), request)
}

func TestObserver_isToldOfEachAnswerAndRefusalOnce(t *testing.T) {
	t.Parallel()
	observer := &told{}
	options := plain().options
	options.Observer = observer
	for _, row := range []struct {
		method, path string
		header       http.Header
		want         []string
	}{
		{"POST", "/mcp", nil, []string{"mcp 200"}},
		{"POST", "/mcp/registry", nil, []string{"registry 200"}},
		{"GET", "/healthz", nil, []string{"gates 200"}},
		{"GET", "/health", nil, []string{"gates 200"}},
		{"GET", "/test", nil, []string{"gates 200"}},
		{"GET", "/metrics", nil, []string{"metrics 200"}},
		{"GET", "/nothing", nil, []string{"pages 404", "E_NOT_FOUND"}},
		{"GET", "/api/v1/nothing", nil, []string{"api 404", "E_NOT_FOUND"}},
		{"DELETE", "/metrics", nil, []string{"metrics 405", "E_INVALID_ARGUMENT"}},
		{"POST", "/mcp", http.Header{"Origin": {"http://evil.example"}}, []string{"mcp 403", "E_INVALID_ARGUMENT"}},
	} {
		observer.words = nil
		handled(t, options, row.method, row.path, row.header)
		if diff := cmp.Diff(row.want, observer.words); diff != "" {
			t.Errorf("%s %s (-want +told):\n%s", row.method, row.path, diff)
		}
	}
}

func TestRequests_areInTheTraceOfTheirClientAndNoOther(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		header []string
		want   string
	}{
		"a traceparent":       {[]string{callersParent}, callersTrace},
		"none":                {nil, ""},
		"two":                 {[]string{callersParent, callersParent}, ""},
		"upper case":          {[]string{strings.ToUpper(callersParent)}, ""},
		"of no trace":         {[]string{"00-00000000000000000000000000000000-" + callersSpan + "-01"}, ""},
		"of no known version": {[]string{"ff" + callersParent[2:]}, ""},
		"too long":            {[]string{callersParent + strings.Repeat("0", 1000)}, ""},
		"a forged line":       {[]string{callersParent + "\nlevel=ERROR"}, ""},
	} {
		var seen trace.SpanContext
		options := plain().options
		options.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = trace.SpanContextFromContext(r.Context()) })
		handled(t, options, http.MethodPost, PathMCP, http.Header{"Traceparent": row.header})
		got := ""
		if seen.IsValid() {
			got = seen.TraceID().String()
		}
		if got != row.want {
			t.Errorf("%s: the request is in the trace %q, want %q", name, got, row.want)
		}
	}
}

func TestAPI_hasASpanForEachRequest(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	options := plain().options
	options.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	options.Pages = map[string]http.Handler{
		"GET /api/v1/tasks/{id}": answering("a task"),
		"GET /api/v1/broken":     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
	}
	header := http.Header{"Traceparent": {callersParent}}
	handled(t, options, http.MethodGet, "/api/v1/nothing?token=secret", header)
	handled(t, options, "BREW", "/api/v1/nothing", header)
	handled(t, options, http.MethodGet, PathEvents, header)
	handled(t, options, http.MethodGet, PathHealthz, header)
	handled(t, options, http.MethodGet, "/api/v1/tasks/17", header)
	handled(t, options, http.MethodGet, "/api/v1/broken", header)
	ended := spans.Ended()
	if len(ended) != 4 {
		t.Fatalf("%d spans, want one for each request to the API but the stream", len(ended))
	}
	span := ended[0]
	want := []attribute.KeyValue{
		attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 404),
		attribute.String("countersign.code", "E_NOT_FOUND"),
	}
	if span.Name() != "GET" || span.Status().Code != codes.Unset || span.Parent().SpanID().String() != callersSpan || !slices.Equal(span.Attributes(), want) {
		t.Errorf("the span is %q in %s with %v", span.Name(), span.Parent().TraceID(), span.Attributes())
	}
	if ended[1].Name() != "HTTP" {
		t.Errorf("the span of a strange method is %q", ended[1].Name())
	}
	if ended[2].Name() != "GET /api/v1/tasks/{id}" || ended[2].Status().Code != codes.Unset {
		t.Errorf("the span of a task is %q: %+v", ended[2].Name(), ended[2].Status())
	}
	if span := ended[3]; span.Status().Code != codes.Error || !slices.Contains(span.Attributes(), attribute.String("error.type", "503")) {
		t.Errorf("the span of what is broken is %+v with %v", span.Status(), span.Attributes())
	}
}
