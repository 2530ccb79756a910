package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// overviewRows bounds the rows of each part of the overview.
const overviewRows = 12

// overviewPages is the page that is opened first.
func overviewPages() []page {
	return []page{{
		Route:  Route{Pattern: "GET /{$}", Name: "overview", Title: "Overview"},
		inMenu: true, show: (*site).showOverview,
		blank: overview{
			Told:   told{Well: []string{""}, Failing: []failingReceiver{{}}},
			Fleet:  &fleetPart{Rows: []componentRow{{}}, Counts: []statusCount{{}}, Total: 1},
			Claims: &claimPart{Rows: []taskRow{{}}},
			Runs:   &runPart{Rows: []runRow{{}}},
		},
	}}
}

// overview is what the first page is given: a part for everybody whom it can ask.
type overview struct {
	Headline string
	Told     told
	Fleet    *fleetPart
	Claims   *claimPart
	Runs     *runPart
}

// unread is why a part of a page cannot be read; nil when it was.
type unread struct{ Unread *refusal }

// fleetPart tells of the components that need attention.
type fleetPart struct {
	unread

	Source Source
	Rows   []componentRow
	Counts []statusCount
	Total  int
	Need   int // how many need attention
}

// More is how many need attention beside those that are shown.
func (p fleetPart) More() int { return p.Need - len(p.Rows) }

// statusCount is how many components have a status.
type statusCount struct {
	Status registry.Status
	Count  int
}

// claimPart tells of the claims that wait for a verdict, the longest first.
type claimPart struct {
	unread

	Rows    []taskRow
	Waiting string // how many there are, in figures
	None    bool   // there is no task at all
	Pending string // how many wait for a claim, in figures
}

// runPart tells of runs and their last preflights.
type runPart struct {
	unread

	Rows []runRow
	More bool // there are others
}

// showOverview reads each part by itself, so that one that cannot be read hides no
// other.
func (s *site) showOverview(r *http.Request) (frame, error) {
	ctx := r.Context()
	view := overview{Told: s.told()}
	if s.Fleet != nil {
		part, err := s.fleetPart(ctx)
		part.Unread = s.unread(ctx, err)
		view.Fleet = &part
	}
	if s.Tasks != nil {
		part, err := s.claimPart(ctx)
		part.Unread = s.unread(ctx, err)
		view.Claims = &part
	}
	if s.Runs != nil {
		part, err := s.runPart(ctx)
		part.Unread = s.unread(ctx, err)
		view.Runs = &part
	}
	view.Headline = view.headline()
	return frame{Topics: []string{topicComponents, topicRuns, topicTasks}, Content: view}, nil
}

// unread says why a part cannot be read, and what to do; nil without an error.
func (s *site) unread(ctx context.Context, err error) *refusal {
	if err == nil {
		return nil
	}
	why := s.shown(ctx, err)
	return &refusal{why.Message, why.Hint}
}

// fleetPart reads the components that need attention. Faults: Unavailable.
func (s *site) fleetPart(ctx context.Context) (fleetPart, error) {
	told, err := s.Fleet.Attention(ctx, overviewRows)
	if err != nil {
		return fleetPart{}, fmt.Errorf("read what needs attention: %w", err)
	}
	part := fleetPart{Source: s.Source, Need: told.Counts.Attention}
	for _, each := range countsOf(told.Counts) {
		part.Total += each.Count
		if each.Count > 0 {
			part.Counts = append(part.Counts, each)
		}
	}
	part.Rows, err = s.rows(ctx, told.Components[:min(len(told.Components), part.Need)])
	for i := range part.Rows {
		part.Rows[i].Wanted = wantedInWords(told.Wants[part.Rows[i].Name])
	}
	return part, err
}

// wantedInWords says what becomes of a run because of a component, going by the statuses
// as a preflight does not: it probes. It is empty when nothing does.
func wantedInWords(wanted registry.Wanted) string {
	switch {
	case wanted.Run == "":
		return ""
	case wanted.Need == registry.NeedFallback:
		return "Run " + wanted.Run + " would start on a fallback at best."
	}
	return "Run " + wanted.Run + " would be refused."
}

// countsOf are the counts in the order in which statuses are counted.
func countsOf(counts registry.StatusCounts) []statusCount {
	return []statusCount{
		{registry.Unavailable, counts.Unavailable},
		{registry.Unknown, counts.Unknown},
		{registry.Probing, counts.Probing},
		{registry.Available, counts.Available},
	}
}

// claimPart reads the claims that wait. Faults: Unavailable.
func (s *site) claimPart(ctx context.Context) (claimPart, error) {
	asked := tasksAsked{status: string(task.Claimed), order: task.OrderOldest}
	query := asked.query()
	query.Limit = new(overviewRows)
	page, err := s.Tasks.List(ctx, query)
	if err != nil {
		return claimPart{}, fmt.Errorf("list the claims that wait: %w", err)
	}
	part := claimPart{
		None: page.Counts == task.Counts{}, Waiting: countOf(&page, task.Claimed), Pending: countOf(&page, task.Pending),
	}
	for _, summary := range page.Tasks {
		part.Rows = append(part.Rows, taskRow{Summary: summary, Since: s.at(summary.UpdatedAt.Time()), Waits: s.waits(summary.Status, summary.UpdatedAt)})
	}
	return part, nil
}

// runPart reads runs with their last preflights, of which those that were refused
// come first. Faults: Unavailable.
func (s *site) runPart(ctx context.Context) (runPart, error) {
	told, err := s.Runs.RunPage(ctx, registry.PageQuery{Limit: overviewRows})
	if err != nil {
		return runPart{}, fmt.Errorf("list runs: %w", err)
	}
	part := runPart{More: told.NextCursor != ""}
	for _, run := range told.Runs {
		part.Rows = append(part.Rows, s.runRow(run))
	}
	pressing := []string{lampOf("refused"), lampOf("allowed_on_fallback")}
	slices.SortStableFunc(part.Rows, func(a, b runRow) int {
		return cmp.Compare(placeOf(pressing, a.Outcome.Lamp), placeOf(pressing, b.Outcome.Lamp))
	})
	return part, nil
}

// placeOf is where a word stands among others; after all of them when it does not.
func placeOf(words []string, word string) int {
	if at := slices.Index(words, word); at >= 0 {
		return at
	}
	return len(words)
}

// headline says what waits for a person, in a sentence or two.
func (v overview) headline() string {
	var said []string
	if part := v.Fleet; part != nil && part.Unread == nil && part.Total > 0 {
		switch part.Need {
		case 0:
			said = append(said, "Every component is available.")
		case 1:
			said = append(said, fmt.Sprintf("One of %s needs attention.", counted(part.Total, "component")))
		default:
			said = append(said, fmt.Sprintf("%d of %s need attention.", part.Need, counted(part.Total, "component")))
		}
	}
	if part := v.Claims; part != nil && part.Unread == nil && !part.None {
		switch part.Waiting {
		case "0":
			said = append(said, "No claim waits for a verdict.")
		case "1":
			said = append(said, "One claim waits for a verdict.")
		default:
			said = append(said, part.Waiting+" claims wait for a verdict.")
		}
	}
	if len(said) == 0 {
		return "A claim counts only when something other than the claimant has checked it."
	}
	return strings.Join(said, " ")
}
