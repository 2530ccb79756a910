package examiner

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/registry"
)

var errNotWritten = errors.New("not written yet")

// Components lists components in the order of their names, with the status of
// each. Faults: InvalidArgument, Unavailable.
func (e *Examiner) Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	return registry.ComponentPage{}, errNotWritten
}

// Component tells all that there is to know about one component. Faults: NotFound,
// Unavailable.
func (e *Examiner) Component(ctx context.Context, name string) (registry.ComponentView, error) {
	return registry.ComponentView{}, errNotWritten
}

// Probe probes a component now and records the result. Faults: NotFound,
// Unavailable when ctx ends before, or when the result cannot be recorded.
func (e *Examiner) Probe(ctx context.Context, name string) (registry.Examination, error) {
	return registry.Examination{}, errNotWritten
}

// Accept accepts the tools that the newest result of a component brought home.
// Accepting what is accepted changes nothing. Faults: NotFound, WrongState when
// there are no such tools, or when they changed meanwhile, Unavailable.
func (e *Examiner) Accept(ctx context.Context, name string) (registry.Acceptance, error) {
	return registry.Acceptance{}, errNotWritten
}
