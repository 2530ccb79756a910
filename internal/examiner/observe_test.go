package examiner_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
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
	ended := spans.Ended()
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
