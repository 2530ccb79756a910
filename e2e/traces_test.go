//go:build unix

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracing "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is a collector of traces, as a double: it decodes what is sent with the
// messages of the protocol itself.
type spans struct {
	mu       sync.Mutex
	received []*tracing.Span
	services map[string]bool
	requests int
}

func startSpans(t *testing.T) (*spans, string) {
	t.Helper()
	s := &spans{services: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	for _, of := range sent.GetResourceSpans() {
		s.services[attribute(of.GetResource().GetAttributes(), "service.name")] = true
		for _, scope := range of.GetScopeSpans() {
			s.received = append(s.received, scope.GetSpans()...)
		}
	}
}

// attribute is the text of an attribute; empty when there is none.
func attribute(attributes []*common.KeyValue, name string) string {
	for _, each := range attributes {
		if each.GetKey() == name {
			return each.GetValue().GetStringValue()
		}
	}
	return ""
}

// named returns the spans of a name that satisfy a condition.
func (s *spans) named(name string, holds func(*tracing.Span) bool) []*tracing.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*tracing.Span
	for _, each := range s.received {
		if each.GetName() == name && holds(each) {
			found = append(found, each)
		}
	}
	return found
}

const (
	tracedTrace = "0af7651916cd43dd8448eb211c80319c"
	tracedSpan  = "b7ad6b7169203331"
	tracedAs    = "00-" + tracedTrace + "-" + tracedSpan + "-01"
)

// belongs reports whether a span is a child of the traced one.
func belongs(span *tracing.Span) bool {
	return hexadecimal(span.GetTraceId()) == tracedTrace && hexadecimal(span.GetParentSpanId()) == tracedSpan
}

func hexadecimal(id []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, b := range id {
		out.WriteByte(digits[b>>4])
		out.WriteByte(digits[b&15])
	}
	return out.String()
}

// TestTraces_reachACollectorAndTheLog makes calls in a trace over HTTP and stdio,
// and has the patrol probe.
func TestTraces_reachACollectorAndTheLog(t *testing.T) {
	t.Parallel()
	got, endpoint := startSpans(t)
	folder, database := t.TempDir(), sqlite(t)
	configure(t, folder, "components:\n  gone: {kind: mcp_server, url: 'http://127.0.0.1:1', interval: 2s}\n")
	env := environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_SERVICE_NAME=gatekeeper")
	serve := start(t, folder, env, binary(), "serve", "--db", database, "--listen", "127.0.0.1:0")
	address := serve.await(t, servedAt.String())[1]

	callTraced(t, &mcp.StreamableClientTransport{Endpoint: address + "/mcp"})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/api/v1/components/gone", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", tracedAs)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	// The line of the log names the span that was made for the request.
	logged := serve.await(t, `"path":"/api/v1/components/gone".*"traceparent":"00-`+tracedTrace+`-([0-9a-f]{16})-01"`)[1]

	mcpServer := exec.Command(binary(), "mcp", "--db", database, "--agent-id", "ada")
	mcpServer.Env = append(env, "OTEL_SERVICE_NAME=gate-of-ada")
	callTraced(t, &mcp.CommandTransport{Command: mcpServer})

	eventually(t, "the spans of the tool calls do not arrive", func() bool {
		return len(got.named("tools/call list_tasks", belongs)) == 2
	})
	eventually(t, "the span of the request to the API does not arrive", func() bool {
		api := got.named("GET /api/v1/components/{name}", belongs)
		return len(api) == 1 && hexadecimal(api[0].GetSpanId()) == logged
	})
	eventually(t, "the spans of probes do not arrive", func() bool {
		return len(got.named("probe", func(span *tracing.Span) bool {
			return attribute(span.GetAttributes(), "countersign.component") == "gone" &&
				attribute(span.GetAttributes(), "countersign.outcome") == "failed"
		})) > 0
	})
	eventually(t, "the spans of the gates of a probe do not arrive", func() bool {
		probes := got.named("probe", func(*tracing.Span) bool { return true })
		return len(got.named("gate healthz", func(gate *tracing.Span) bool {
			return attribute(gate.GetAttributes(), "error.type") == "refused" && slices.ContainsFunc(probes, func(probe *tracing.Span) bool {
				return string(probe.GetSpanId()) == string(gate.GetParentSpanId()) &&
					gate.GetStartTimeUnixNano() >= probe.GetStartTimeUnixNano() && gate.GetEndTimeUnixNano() <= probe.GetEndTimeUnixNano()
			})
		})) > 0
	})
	if code := serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	if !got.services["gatekeeper"] || !got.services["gate-of-ada"] {
		t.Errorf("the services are %v", got.services)
	}
}

// callTraced calls a tool in the traced span.
func callTraced(t *testing.T, transport mcp.Transport) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"traceparent": tracedAs}, Name: "list_tasks", Arguments: map[string]any{},
	}); err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTraces_cannotHoldUpWork has no collector at the endpoint: the work goes on,
// and the log says it once. An endpoint that is none is refused at the start.
func TestTraces_cannotHoldUpWork(t *testing.T) {
	t.Parallel()
	env := environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freeAddress(t), "OTEL_BSP_SCHEDULE_DELAY=50")
	serve := start(t, t.TempDir(), env, binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	address := serve.await(t, servedAt.String())[1]
	callTraced(t, &mcp.StreamableClientTransport{Endpoint: address + "/mcp"})
	serve.await(t, "the collector does not take traces")
	for range 5 {
		callTraced(t, &mcp.StreamableClientTransport{Endpoint: address + "/mcp"})
	}
	if code := serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
	if said, _ := serve.output.read(); strings.Count(said, "the collector does not take traces") != 1 {
		t.Errorf("serve said:\n%s", said)
	}
	refused := run(t, t.TempDir(), environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"), binary(), "serve", "--listen", "127.0.0.1:0")
	if refused.code != 2 || !strings.Contains(refused.stderr, "OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL") {
		t.Errorf("serve with a malformed endpoint = %d %s", refused.code, refused.stderr)
	}
}
