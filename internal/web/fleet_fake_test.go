package web_test

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// fleetDouble answers as it is told; it keeps what the pages ask.
type fleetDouble struct {
	registered registry.Registered
	readings   []registry.Reading // the most pressing first
	counts     registry.StatusCounts
	wants      map[string]registry.Wanted
	views      map[string]registry.ComponentView
	results    []registry.KeptResult
	recent     map[string][]registry.RecentResult
	runs       registry.RunPage
	run        registry.RunView
	cursor     string // of the next page of everything
	err        error

	asked  registry.ComponentQuery
	probed string
	waits  time.Duration // how long a page waits for the probe
}

func (f *fleetDouble) Registered() *registry.Registered { return &f.registered }

func (f *fleetDouble) Attention(_ context.Context, limit int) (registry.Attention, error) {
	return registry.Attention{Components: f.readings[:min(len(f.readings), limit)], Counts: f.counts, Wants: f.wants}, f.err
}

func (f *fleetDouble) Components(_ context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	f.asked = query
	return registry.ComponentPage{Components: f.readings, NextCursor: f.cursor}, f.err
}

func (f *fleetDouble) Component(_ context.Context, name string) (registry.ComponentView, error) {
	view, known := f.views[name]
	if !known && f.err == nil {
		return view, fault.New(fault.NotFound, "there is no component %q", name)
	}
	return view, f.err
}

func (f *fleetDouble) Results(context.Context, string, registry.ResultQuery) (registry.ResultPage, error) {
	return registry.ResultPage{Results: f.results, NextCursor: f.cursor}, f.err
}

func (f *fleetDouble) Result(_ context.Context, id string) (registry.KeptResult, error) {
	for _, kept := range f.results {
		if kept.ResultID == id {
			return kept, f.err
		}
	}
	return registry.KeptResult{}, fault.New(fault.NotFound, "there is no result %q", id)
}

func (f *fleetDouble) Recent(context.Context, []string) (map[string][]registry.RecentResult, error) {
	return f.recent, f.err
}

func (f *fleetDouble) Probe(ctx context.Context, name string) (registry.Examination, error) {
	f.probed = name
	if deadline, bounded := ctx.Deadline(); bounded {
		f.waits = time.Until(deadline)
	}
	return registry.Examination{Reading: f.views[name].Reading}, f.err
}

func (f *fleetDouble) RunPage(context.Context, registry.PageQuery) (registry.RunPage, error) {
	return f.runs, f.err
}

func (f *fleetDouble) RunView(context.Context, string) (registry.RunView, error) { return f.run, f.err }

func (f *fleetDouble) Preflights(_ context.Context, _ string, query registry.PageQuery) (registry.PreflightPage, error) {
	return pageOf(f.run.Preflights, query), f.err
}
