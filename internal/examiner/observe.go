package examiner

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Observer is told of every probe, whoever asked for it. It must not block, and is
// called from several goroutines.
type Observer interface {
	// Probed tells what a probe found; of one that was interrupted only what it had
	// opened.
	Probed(found registry.Summary)
}

// unobserved is the observer of an examiner that has none.
type unobserved struct{}

func (unobserved) Probed(registry.Summary) {}

// outcomeAttribute says in a span what came of a probe or of a part of it.
const outcomeAttribute = "countersign.outcome"

// span begins the span of a probe. It belongs to the trace of who asked first.
// Nothing of it is sent to the component, which is to be proven as it is for
// everybody, and need not learn who asks.
func (e *Examiner) span(ctx context.Context, component *registry.Component) (context.Context, trace.Span) {
	return e.Tracer.Start(ctx, "probe", trace.WithAttributes(
		attribute.String("countersign.component", component.Name), attribute.String("countersign.kind", string(component.Kind()))))
}

// note tells what a probe found. A component that did not pass is an answer, and
// no error of the span; what failed of it is one of the gate's.
func (e *Examiner) note(ctx context.Context, span trace.Span, found *registry.Summary, interrupted bool) {
	if interrupted {
		e.Observer.Probed(registry.Summary{Sessions: found.Sessions})
		span.SetAttributes(attribute.String(outcomeAttribute, "interrupted"))
		return
	}
	e.Observer.Probed(*found)
	if !span.IsRecording() {
		return
	}
	causes := make([]string, 0, len(found.Causes))
	for _, cause := range found.Causes {
		causes = append(causes, string(cause))
	}
	span.SetAttributes(attribute.String(outcomeAttribute, string(found.Outcome)), attribute.StringSlice("countersign.causes", causes))
	now := time.Now()
	for i := range found.Parts {
		e.gate(ctx, &found.Parts[i], now)
	}
}

// gate makes the span of a part of a probe that has ended by now. One that was never
// begun takes no time at that moment.
func (e *Examiner) gate(ctx context.Context, part *registry.PartTime, now time.Time) {
	began, ended := part.Began, part.Began.Add(part.Took)
	if began.IsZero() {
		began, ended = now, now
	}
	_, span := e.Tracer.Start(ctx, "gate "+part.Part, trace.WithTimestamp(began), trace.WithAttributes(attribute.String("countersign.gate", part.Part)))
	defer span.End(trace.WithTimestamp(ended))
	if part.OK {
		span.SetAttributes(attribute.String(outcomeAttribute, string(registry.OutcomePassed)))
		return
	}
	span.SetAttributes(attribute.String(outcomeAttribute, string(registry.OutcomeFailed)), attribute.String("error.type", string(part.Cause)))
	span.SetStatus(codes.Error, string(part.Cause))
}
