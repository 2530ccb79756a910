package telemetry_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// variables sets the environment of the process, which the SDK reads, and returns
// what reads it.
func variables(t *testing.T, set map[string]string) func(string) string {
	t.Helper()
	for name, value := range set {
		t.Setenv(name, value)
	}
	return func(name string) string { return set[name] }
}

// collecting is a collector of traces.
type collecting struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []string // as service.name and name of the span
	headers http.Header
	refuses atomic.Bool
}

func startCollecting(t *testing.T) *collecting {
	t.Helper()
	c := &collecting{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil || c.refuses.Load() {
			http.Error(w, "refused \u202e", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = r.Header
		for _, of := range sent.GetResourceSpans() {
			service := ""
			for _, attribute := range of.GetResource().GetAttributes() {
				if attribute.GetKey() == "service.name" || attribute.GetKey() == "service.version" {
					service += attribute.GetValue().GetStringValue() + " "
				}
			}
			for _, scope := range of.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					c.spans = append(c.spans, service+span.GetName())
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func TestTracing_sendsSpansToTheCollectorOfTheEnvironment(t *testing.T) {
	c := startCollecting(t)
	getenv := variables(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=opensesame", "OTEL_SERVICE_NAME": "gatekeeper",
	})
	tracing, err := telemetry.NewTracing(t.Context(), getenv, "1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Tracer().Start(t.Context(), "probe")
	span.End()
	tracing.Shutdown(t.Context())
	if diff := cmp.Diff([]string{"gatekeeper 1.2.3 probe"}, c.spans); diff != "" || c.headers.Get("X-Key") != "opensesame" {
		t.Errorf("sent with %v (-want +got):\n%s", c.headers, diff)
	}
}

func TestTracing_isOffUnlessAnEndpointIsSet(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]map[string]string{
		"nothing":       nil,
		"no endpoint":   {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		"disabled":      {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "True"},
		"exporter none": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		tracing, err := telemetry.NewTracing(t.Context(), func(name string) string { return set[name] }, "1.2.3", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ctx, span := tracing.Tracer().Start(t.Context(), "probe")
		if span.IsRecording() || span.SpanContext().IsValid() || trace.SpanContextFromContext(ctx).IsValid() {
			t.Errorf("%s: a span is recorded", name)
		}
		of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
		ctx, span = tracing.Tracer().Start(trace.ContextWithRemoteSpanContext(t.Context(), of), "probe")
		if span.IsRecording() || !trace.SpanContextFromContext(ctx).Equal(of) {
			t.Errorf("%s: the trace of the caller is lost", name)
		}
		tracing.Shutdown(t.Context())
	}
}

func TestTracing_refusesWhatItCannotSendTo(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, set := range map[string]map[string]string{
		"no URL":        {endpoint: "collector:4318"},
		"unix":          {endpoint: "unix:///run/collector"},
		"no host":       {endpoint: "http://"},
		"malformed":     {endpoint: "http://[::1"},
		"grpc":          {endpoint: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		"other exports": {endpoint: "http://127.0.0.1:9411", "OTEL_TRACES_EXPORTER": "zipkin"},
		"no time":       {endpoint: "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"},
		"less than now": {endpoint: "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "-1"},
		"no such file":  {endpoint: "https://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem"},
		"no PEM":        {endpoint: "https://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "tracing_test.go"},
		"without a key": {endpoint: "https://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "tracing_test.go"},
		"no pair": {
			endpoint: "https://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "tracing_test.go", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "tracing_test.go",
		},
	} {
		tracing, err := telemetry.NewTracing(t.Context(), func(name string) string { return set[name] }, "1.2.3", slog.New(slog.DiscardHandler))
		if !errors.Is(err, fault.InvalidArgument) {
			t.Errorf("%s: error = %v, want %s", name, err, fault.InvalidArgument)
		}
		if strings.Contains(err.Error(), "collector") {
			t.Errorf("%s: the error tells the endpoint, which may hold a secret: %v", name, err)
		}
		tracing.Shutdown(t.Context()) // what is off may be shut down
	}
}

func TestTracing_tellsOnceOfACollectorThatTakesNothing(t *testing.T) {
	c := startCollecting(t)
	c.refuses.Store(true)
	getenv := variables(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/v1/traces", "OTEL_BSP_SCHEDULE_DELAY": "1"})
	var out lockedBuffer
	log, err := telemetry.NewLogger(&out, telemetry.JSON, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	tracing, err := telemetry.NewTracing(t.Context(), getenv, "1.2.3", log)
	if err != nil {
		t.Fatal(err)
	}
	send := func(until string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), until); {
			if time.Now().After(deadline) {
				t.Fatalf("%q was not told: %s", until, out.String())
			}
			_, span := tracing.Tracer().Start(t.Context(), "probe")
			span.End()
			<-time.After(2 * time.Millisecond)
		}
	}
	send("does not take traces")
	for range 20 { // the SDK gives up on each batch, and would tell of each
		_, span := tracing.Tracer().Start(t.Context(), "probe")
		span.End()
		<-time.After(2 * time.Millisecond)
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "\u202e") {
		t.Errorf("the log is %q, want one line without what the collector said raw", text)
	}
	c.refuses.Store(false)
	send("takes traces again")
	tracing.Shutdown(t.Context())
	if text := out.String(); strings.Count(text, "\n") != 2 {
		t.Errorf("the log is %q", text)
	}
}

func TestTracing_doesNotHoldUpTheEndForACollectorThatHangs(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) })
	getenv := variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL})
	var out lockedBuffer
	tracing, err := telemetry.NewTracing(t.Context(), getenv, "1.2.3", slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	tracing.FlushWithin(100 * time.Millisecond)
	_, span := tracing.Tracer().Start(t.Context(), "probe")
	span.End()
	tracing.Shutdown(t.Context()) // else the test hangs
	if text := out.String(); strings.Count(text, "does not take traces") != 1 {
		t.Errorf("the log is %q", text)
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
