package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of traces. The queue of spans that are not sent yet is that of the SDK:
// 2,048 spans, unless OTEL_BSP_MAX_QUEUE_SIZE says otherwise. What does not fit is
// dropped, and nobody waits.
const (
	flushTime   = 5 * time.Second  // of Shutdown, for what is not sent yet
	resendTime  = 10 * time.Second // for which spans that a collector did not take are sent again
	resendPause = time.Second      // before the first time
)

// The variables by which traces are turned on and off. The others of the
// OpenTelemetry specification are read by its SDK.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envDisabled       = "OTEL_SDK_DISABLED"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
)

// headerName is a name that HTTP allows (RFC 9110, section 5.6.2).
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

// Tracing sends the spans of this process to a collector, or does nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider // nil while there is no collector
	sender   *sender
	version  string
	flush    time.Duration // flushTime; tests shorten it
}

// NewTracing returns the tracing that the environment asks for: OTLP over HTTP to
// the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT or its variant for traces. Without
// one, or when OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER is none, nothing
// is started and no span is kept. getenv must read the environment of the process,
// which the SDK reads as well. A collector that does not take spans is logged once
// until it takes them again.
//
// Faults: InvalidArgument for an endpoint that is no HTTP URL, for a protocol or
// exporter that is not spoken, and for headers, a time-out or certificates that
// cannot be read.
func NewTracing(ctx context.Context, getenv func(string) string, version string, log *slog.Logger) (*Tracing, error) {
	wanted, err := wantsTraces(getenv)
	if err != nil || !wanted {
		return &Tracing{version: version}, err
	}
	client, err := newCollecting(getenv)
	if err != nil {
		return &Tracing{version: version}, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(client), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: resendPause, MaxInterval: resendTime, MaxElapsedTime: resendTime,
	}))
	if err != nil {
		return &Tracing{version: version}, fault.New(fault.InvalidArgument, "traces cannot be sent: %v", err).
			WithHint("Correct the OTEL_EXPORTER_OTLP variables, or unset %s.", envEndpoint).WithCause(err)
	}
	// What the environment says of the service comes later, and so wins.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "countersign"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		log.WarnContext(ctx, "the resource of traces is described in part", slog.Any("cause", err))
	}
	out := &sender{SpanExporter: exporter, log: log}
	return &Tracing{
		provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(out), sdktrace.WithResource(about)),
		sender:   out, version: version, flush: flushTime,
	}, nil
}

// wantsTraces reports whether the environment asks for traces that we can send.
func wantsTraces(getenv func(string) string) (bool, error) {
	from := envTracesEndpoint
	endpoint := getenv(from)
	if endpoint == "" {
		from = envEndpoint
		endpoint = getenv(from)
	}
	exporter := strings.TrimSpace(getenv(envExporter))
	if endpoint == "" || strings.EqualFold(strings.TrimSpace(getenv(envDisabled)), "true") || exporter == "none" {
		return false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return false, unspoken(envExporter, exporter, "otlp or none")
	}
	if protocol := cmp.Or(getenv(envTracesProtocol), getenv(envProtocol)); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return false, unspoken(envProtocol, protocol, "http/protobuf or http/json; collectors usually take it on port 4318")
	}
	parsed, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return false, fault.New(fault.InvalidArgument, "%s is not an http or https URL", from).
			With(fault.Field, from).WithHint("Give the URL of a collector, such as http://127.0.0.1:4318, or unset it.")
	}
	return true, checkHeaders(getenv)
}

// checkHeaders refuses headers that the SDK cannot read: it would write what they
// hold, which may be secret, to standard error, and go on without them.
func checkHeaders(getenv func(string) string) error {
	for _, variable := range []string{envHeaders, envTracesHeaders} {
		for header := range strings.SplitSeq(getenv(variable), ",") {
			if strings.TrimSpace(header) == "" {
				continue
			}
			name, value, found := strings.Cut(header, "=")
			_, err := url.PathUnescape(value)
			if err != nil || !found || !headerName().MatchString(strings.TrimSpace(name)) {
				return fault.New(fault.InvalidArgument, "%s is not a list of NAME=VALUE", variable).With(fault.Field, variable).
					WithHint("Separate the headers by commas, and write a %% or a comma in a value as %%25 or %%2C.")
			}
		}
	}
	return nil
}

func unspoken(variable, value, instead string) error {
	return fault.New(fault.InvalidArgument, "%s %.40q is not supported", variable, value).
		With(fault.Field, variable).WithHint("Use %s.", instead)
}

// Tracer returns what makes spans. Without a collector its spans are only the
// trace that a context already belongs to.
func (t *Tracing) Tracer() trace.Tracer {
	const scope = "github.com/countersign-dev/countersign"
	if t.provider == nil {
		return noop.NewTracerProvider().Tracer(scope)
	}
	return t.provider.Tracer(scope, trace.WithInstrumentationVersion(t.version))
}

// Shutdown sends what is not sent yet, for at most flushTime, and ends. A
// collector that does not take it is no failure of the process.
func (t *Tracing) Shutdown(ctx context.Context) {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.flush)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.sender.tell(ctx, errors.Join(err, t.sender.Shutdown(ctx))) // breaks off what is on its way
	}
}

// sender tells of a collector that does not take spans, once for all of them.
type sender struct {
	sdktrace.SpanExporter
	log    *slog.Logger
	failed atomic.Bool
}

// ExportSpans sends spans. Its error is told here, since the SDK would write it to
// standard error, each time.
func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		s.tell(ctx, err)
		return nil
	}
	if s.failed.Swap(false) {
		s.log.InfoContext(ctx, "the collector takes traces again")
	}
	return nil
}

func (s *sender) tell(ctx context.Context, err error) {
	if !s.failed.Swap(true) {
		s.log.WarnContext(ctx, "the collector does not take traces; they are dropped, and this is told once until it does",
			slog.String("cause", registry.Shorten(withoutAddress(err).Error(), registry.MaxDetail)))
	}
}
