package examiner_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// summaries remembers what it was told.
type summaries struct {
	mu   sync.Mutex
	told []registry.Summary
}

func (s *summaries) Probed(found registry.Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, found)
}

// watched lets spans and an observer see what an examiner does.
func watched() (*tracetest.SpanRecorder, *summaries, func(*examiner.Options)) {
	spans, observer := tracetest.NewSpanRecorder(), &summaries{}
	return spans, observer, func(o *examiner.Options) {
		o.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		o.Observer = observer
	}
}

func TestExamine_isASpanInTheTraceOfWhoAskedThatItsTargetDoesNotSee(t *testing.T) {
	t.Parallel()
	double := startDouble(t)
	var named atomic.Int64
	behind := double.Config.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.EqualFold(name, "traceparent") || strings.EqualFold(name, "tracestate") {
				named.Add(1)
			}
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	component := double.component("asm")
	component.Spec = &registry.MCPServer{URL: front.URL, Profile: registry.ThreeGates}
	spans, observer, adjust := watched()
	b := startWith(t, &registry.Registered{Components: []registry.Component{component}}, adjust)
	asking := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	if _, err := b.Examine(trace.ContextWithRemoteSpanContext(t.Context(), asking), "asm"); err != nil {
		t.Fatal(err)
	}
	double.dead.Store(true)
	if _, err := b.Examine(t.Context(), "asm"); err != nil {
		t.Fatal(err)
	}
	ended := spansOf(spans, "probe")
	if len(ended) != 2 || ended[0].Name() != "probe" || !ended[0].Parent().Equal(asking) || ended[1].Parent().IsValid() {
		t.Fatalf("the spans are %v", ended)
	}
	for i, want := range [][]attribute.KeyValue{
		{
			attribute.String("countersign.component", "asm"), attribute.String("countersign.kind", "mcp_server"),
			attribute.String("countersign.outcome", "passed"), attribute.StringSlice("countersign.causes", []string{}),
		},
		{attribute.String("countersign.outcome", "failed"), attribute.StringSlice("countersign.causes", []string{"status"})},
	} {
		for _, each := range want {
			if !slices.Contains(ended[i].Attributes(), each) {
				t.Errorf("span %d has no %s=%v but %v", i, each.Key, each.Value.AsString(), ended[i].Attributes())
			}
		}
	}
	if named.Load() != 0 {
		t.Errorf("%d requests of probes told the target in which trace they are", named.Load())
	}
	if len(observer.told) != 2 || len(observer.told[0].Parts) != 3 || observer.told[1].Outcome != registry.OutcomeFailed {
		t.Errorf("the observer was told %+v", observer.told)
	}
}

// spansOf returns the spans of a name, in the order in which they began.
func spansOf(spans *tracetest.SpanRecorder, name string) []sdktrace.ReadOnlySpan {
	var found []sdktrace.ReadOnlySpan
	for _, each := range spans.Started() {
		if each.Name() == name {
			found = append(found, each)
		}
	}
	return found
}

func TestExamine_hasASpanForEachGateWithItsTimeAndItsCause(t *testing.T) {
	t.Parallel()
	double := startDouble(t)
	const secret = "opensesame"
	double.echo.Store(true)
	component := double.component("asm")
	component.Spec = &registry.MCPServer{URL: double.URL, Profile: registry.ThreeGates, Credentials: registry.Credentials{
		Headers: map[string]registry.Secret{"X-Key": registry.SecretAt("env:KEY")},
	}}
	spans, _, adjust := watched()
	b := startWith(t, &registry.Registered{Components: []registry.Component{component}}, func(o *examiner.Options) {
		adjust(o)
		o.Resolve = func(string) (string, error) { return secret, nil }
	})
	began := time.Now()
	record, err := b.Examine(t.Context(), "asm")
	if err != nil {
		t.Fatal(err)
	}
	probes := spansOf(spans, "probe")
	if len(probes) != 1 || probes[0].Status().Code != codes.Unset {
		t.Fatalf("the spans of the probe are %v", probes)
	}
	for _, part := range record.Summary.Parts {
		gates := spansOf(spans, "gate "+part.Part)
		if len(gates) != 1 {
			t.Fatalf("%s has %d spans", part.Part, len(gates))
		}
		gate, code := gates[0], codes.Unset
		want := []attribute.KeyValue{attribute.String("countersign.gate", part.Part), attribute.String("countersign.outcome", "passed")}
		if part.Part == "test" {
			want[1], code = attribute.String("countersign.outcome", "failed"), codes.Error
			want = append(want, attribute.String("error.type", "not_ok"))
		}
		if !slices.Equal(gate.Attributes(), want) || gate.Status().Code != code || strings.Contains(fmt.Sprint(gate), secret) {
			t.Errorf("%s is told as %v, %v; want %v", part.Part, gate.Attributes(), gate.Status(), want)
		}
		if gate.Parent().SpanID() != probes[0].SpanContext().SpanID() {
			t.Errorf("%s is no child of the probe", part.Part)
		}
		took := gate.EndTime().Sub(gate.StartTime())
		if gate.StartTime().Before(began) || gate.EndTime().After(probes[0].EndTime()) || took != part.Took || took == 0 {
			t.Errorf("%s is told from %v to %v, of a probe from %v to %v; it took %v", part.Part, gate.StartTime(), gate.EndTime(), began, probes[0].EndTime(), part.Took)
		}
	}
}

func TestExamine_hasASpanOfNoTimeForAGateThatWasNeverAsked(t *testing.T) {
	t.Parallel()
	component := registry.Component{Name: "asm", Spec: &registry.MCPServer{URL: "no address", Profile: registry.ThreeGates}}
	spans, _, adjust := watched()
	b := startWith(t, &registry.Registered{Components: []registry.Component{component}}, adjust)
	if _, err := b.Examine(t.Context(), "asm"); err != nil {
		t.Fatal(err)
	}
	gates := spansOf(spans, "gate listTools")
	if len(gates) != 1 || !gates[0].StartTime().Equal(gates[0].EndTime()) || gates[0].Status().Description != "not_configured" {
		t.Fatalf("the spans are %v", gates)
	}
	if probe := spansOf(spans, "probe")[0]; gates[0].StartTime().Before(probe.StartTime()) || gates[0].EndTime().After(probe.EndTime()) {
		t.Errorf("the span is at %v, of a probe from %v to %v", gates[0].StartTime(), probe.StartTime(), probe.EndTime())
	}
}

func TestExamine_tellsOfAnInterruptedProbeOnlyWhatItHadOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans, observer, adjust := watched()
		h := &held{let: make(chan struct{}), result: passing()}
		h.result.SessionsOpened, h.result.SessionsClosed = 2, 2
		b := startWith(t, only("asm"), adjust)
		b.ExamineWith(h.examine)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := b.Examine(ctx, "asm")
			wantFault(t, err, fault.Unavailable)
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if len(observer.told) != 1 || observer.told[0].Sessions != (registry.Opened{Opened: 2, Ended: 2}) || observer.told[0].Parts != nil {
			t.Errorf("the observer was told %+v", observer.told)
		}
		if ended := spans.Ended(); len(ended) != 1 || !slices.Contains(ended[0].Attributes(), attribute.String("countersign.outcome", "interrupted")) {
			t.Errorf("the spans are %v", ended)
		}
	})
}
