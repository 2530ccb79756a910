package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ExamineWith replaces the probe.
func (e *Examiner) ExamineWith(examine func(context.Context, *registry.Component, probe.Settings) registry.Result) {
	e.examine = examine
}

// Waiting is how many callers wait for a probe of the component.
func (e *Examiner) Waiting(name string) int {
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	waiting := 0
	for key, each := range e.flights.under {
		if key.name == name {
			waiting += each.waiting
		}
	}
	return waiting
}
