package httpapi

import (
	"context"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
)

// componentRoutes are the routes of components and their results.
func (a API) componentRoutes() []route {
	const tag, results = "components", "results"
	return []route{
		listing("/components", about{
			id: "listComponents", tag: tag, summary: "List components",
			description: "In the order of their names, or in that in which they need attention, each with its status and what is behind it. Nothing is probed.",
		}, schema.SearchComponents(), a.components, func(page registry.ComponentPage) string { return page.NextCursor }),
		reading("/components/{name}", about{
			id: "getComponent", tag: tag, summary: "Read a component", faults: []fault.Code{fault.NotFound},
			description: "All that is known of it, with the newest result whole. Nothing is probed.",
		}, schema.GetComponent(), func(ctx context.Context, q schema.Named) (registry.ComponentView, error) {
			return a.Components.Component(ctx, q.Name)
		}),
		probing("/components/{name}/probe", about{
			id: "probeComponent", tag: tag, summary: "Probe a component", faults: []fault.Code{fault.NotFound},
			description: "Probes it now, the way a run will use it, and keeps the result. It may take long: up to the time-out of the component for each gate, and 12 minutes in all. That it did not pass is an answer.",
		}, schema.ProbeComponent(), func(ctx context.Context, q schema.Named) (registry.Examination, error) {
			return a.Components.Probe(ctx, q.Name)
		}),
		listing("/components/{name}/results", about{
			id: "listResults", tag: results, summary: "List the results of a component", faults: []fault.Code{fault.NotFound},
			description: "The newest first, without their documents.",
		}, schema.ListResults(), a.results, func(page registry.ResultPage) string { return page.NextCursor }),
		reading("/results/{result_id}", about{
			id: "getResult", tag: results, summary: "Read a result", faults: []fault.Code{fault.NotFound},
			description: "With its document, where that was not given up.",
		}, schema.GetResult(), func(ctx context.Context, q schema.Named) (registry.KeptResult, error) {
			return a.Components.Result(ctx, q.Name)
		}),
	}
}

func (a API) components(ctx context.Context, q schema.ComponentQuery) (registry.ComponentPage, error) {
	query, err := q.Query()
	if err != nil {
		return registry.ComponentPage{}, err
	}
	return a.Components.Components(ctx, query)
}

func (a API) results(ctx context.Context, q schema.ResultsQuery) (registry.ResultPage, error) {
	query, err := q.Query()
	if err != nil {
		return registry.ResultPage{}, err
	}
	return a.Components.Results(ctx, q.Name, query)
}

// runRoutes are the routes of runs, their slots and their preflights.
func (a API) runRoutes() []route {
	const tag, slots = "runs", "slots"
	return []route{
		listing("/slots", about{
			id: "listSlots", tag: slots, summary: "List slots",
			description: "In the order of their names, each with the components that may fill it, as they are now. Nothing is probed.",
		}, schema.ListSlots(), paging(a.Runs.SlotPage), func(page registry.SlotPage) string { return page.NextCursor }),
		listing("/runs", about{
			id: "listRuns", tag: tag, summary: "List runs", description: "In the order of their names, each with its newest preflight.",
		}, schema.ListRuns(), paging(a.Runs.RunPage), func(page registry.RunPage) string { return page.NextCursor }),
		reading("/runs/{run}", about{
			id: "getRun", tag: tag, summary: "Read a run", faults: []fault.Code{fault.NotFound},
			description: "Its slots, what may fill them, and its newest preflights. Nothing is probed.",
		}, schema.GetRun(), func(ctx context.Context, q schema.Named) (registry.RunView, error) {
			return a.Runs.RunView(ctx, q.Name)
		}),
		listing("/runs/{run}/preflights", about{
			id: "listPreflights", tag: tag, summary: "List the preflights of a run", faults: []fault.Code{fault.NotFound},
			description: "The newest first, whole.",
		}, schema.ListPreflights(), a.preflights, func(page registry.PreflightPage) string { return page.NextCursor }),
		probing("/runs/{run}/preflight", about{
			id: "preflightRun", tag: tag, summary: "May this run start?", faults: []fault.Code{fault.NotFound},
			description: "Probes the components of every slot of the run now, all at once. That it may not start is an answer: allowed is then false.",
		}, schema.Preflight(), func(ctx context.Context, q schema.Named) (registry.Preflight, error) {
			return a.Runs.Preflight(ctx, q.Name)
		}),
	}
}

// paging checks the arguments of a list that only goes on.
func paging[R any](list func(context.Context, registry.PageQuery) (R, error)) func(context.Context, schema.PageQuery) (R, error) {
	return func(ctx context.Context, q schema.PageQuery) (page R, err error) {
		query, err := q.Query()
		if err != nil {
			return page, err
		}
		return list(ctx, query)
	}
}

func (a API) preflights(ctx context.Context, q schema.PreflightsQuery) (registry.PreflightPage, error) {
	query, err := q.Query()
	if err != nil {
		return registry.PreflightPage{}, err
	}
	return a.Runs.Preflights(ctx, q.Run, query)
}
