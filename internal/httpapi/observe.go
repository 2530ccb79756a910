package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Observer is told how requests are answered. Its methods must not block, and are
// called from several goroutines.
type Observer interface {
	// Answered tells the status with which a request to a group of routes was
	// answered; routesOf has the groups.
	Answered(routes string, status int)
	// Refused tells the code of a request that was answered with a problem.
	Refused(code fault.Code)
}

// unobserved is the observer of a server that has none.
type unobserved struct{}

func (unobserved) Answered(string, int) {}
func (unobserved) Refused(fault.Code)   {}

// routesOf is the group of routes to which a path belongs: a closed set.
func routesOf(path string) string {
	switch path {
	case PathMCP:
		return "mcp"
	case PathRegistry:
		return "registry"
	case PathEvents:
		return "events"
	case PathMetrics:
		return "metrics"
	case PathHealthz, pathHealth, PathTest:
		return "gates"
	}
	if strings.HasPrefix(path, pathAPI) {
		return "api"
	}
	return "pages"
}

// traceparent is the header that names the trace of a request (W3C Trace Context).
const traceparent = "Traceparent"

// begin puts a request into the trace that its client names, and begins a span for
// one to the API; the stream of events, which has no end, has none. A header that
// is no traceparent, or is given twice, is passed over.
func (s *Server) begin(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	if told := r.Header.Values(traceparent); len(told) == 1 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier{traceparent: told})
	}
	if routesOf(r.URL.Path) != "api" {
		return ctx, noop.Span{}
	}
	return s.options.Tracer.Start(ctx, spanOf(r), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", methodOf(r))))
}

// otherMethod stands for every strange method.
const otherMethod = "_OTHER"

// methodOf is the method of a request as spans name it: a closed set.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return otherMethod
}

// spanOf is what the name of a request's span begins with: its method, or HTTP for
// a strange one.
func spanOf(r *http.Request) string {
	if method := methodOf(r); method != otherMethod {
		return method
	}
	return "HTTP"
}

// end ends the span of a request, by the route that took it, and tells the
// observer. A request that was refused is an error of the span only where the fault
// is ours, as the semantic conventions of OpenTelemetry for HTTP say.
func (s *Server) end(span trace.Span, r *http.Request, answer *watched, status int) {
	s.options.Observer.Answered(routesOf(r.URL.Path), status)
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if answer.refused != "" {
		s.options.Observer.Refused(answer.refused)
		span.SetAttributes(attribute.String("countersign.code", string(answer.refused)))
	}
	if _, route, found := strings.Cut(r.Pattern, " "); found {
		span.SetName(spanOf(r) + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	if status >= http.StatusInternalServerError {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}

// noteRefusal remembers the code of a problem for whoever watches the answer.
func noteRefusal(w http.ResponseWriter, code fault.Code) {
	for {
		if answer, ok := w.(*watched); ok {
			answer.refused = code
			return
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		w = outer.Unwrap()
	}
}
