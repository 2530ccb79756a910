package examiner

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
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

// span begins the span of a probe. It belongs to the trace of who asked first.
// Nothing of it is sent to the component, which is to be proven as it is for
// everybody, and need not learn who asks.
func (e *Examiner) span(ctx context.Context, component *registry.Component) (context.Context, trace.Span) {
	return e.Tracer.Start(ctx, "probe", trace.WithAttributes(
		attribute.String("countersign.component", component.Name), attribute.String("countersign.kind", string(component.Kind()))))
}

// note tells what a probe found. A component that did not pass is an answer, and
// no error of the span.
func (e *Examiner) note(span trace.Span, found *registry.Summary, interrupted bool) {
	if interrupted {
		e.Observer.Probed(registry.Summary{Sessions: found.Sessions})
		span.SetAttributes(attribute.String("countersign.outcome", "interrupted"))
		return
	}
	e.Observer.Probed(*found)
	causes := make([]string, 0, len(found.Causes))
	for _, cause := range found.Causes {
		causes = append(causes, string(cause))
	}
	span.SetAttributes(attribute.String("countersign.outcome", string(found.Outcome)), attribute.StringSlice("countersign.causes", causes))
	for _, part := range found.Parts {
		span.SetAttributes(attribute.Float64("countersign.gate."+part.Part+".seconds", part.Took.Seconds()))
	}
}
