package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

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
			Headline: []headlinePart{{}, {}},
			Told:     told{Well: []string{""}, Failing: []failingReceiver{{}}},
			Fleet:    &fleetPart{Rows: []componentRow{{}}, Counts: []statusCount{{}}, Total: 1},
			Claims:   &claimPart{Rows: []taskRow{{}}},
			Runs:     &runPart{Rows: []runRow{{}}},
		},
	}}
}

// overview is what the first page is given: a part for everybody whom it can ask.
type overview struct {
	Headline []headlinePart
	Told     told
	Fleet    *fleetPart
	Claims   *claimPart
	Runs     *runPart
}

// headlinePart is a sentence of the headline, and the section that it is about.
type headlinePart struct{ Place, Words string }

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
func (p *fleetPart) More() int { return p.Need - len(p.Rows) }

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

// runPart tells of runs and what their last preflights said.
type runPart struct {
	unread

	Source  Source
	Rows    []runRow
	More    bool // there are others
	NotRead bool // there are others whose preflights were not read
	Refused int  // how many of those that were read were refused
	Checked int  // how many of those had a preflight
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

// runPart reads runs with their last preflights, at most runsPerPage, of which those
// that were refused come first. Faults: Unavailable.
func (s *site) runPart(ctx context.Context) (runPart, error) {
	told, err := s.Runs.RunPage(ctx, registry.PageQuery{Limit: runsPerPage})
	if err != nil {
		return runPart{}, fmt.Errorf("list runs: %w", err)
	}
	part := runPart{Source: s.Source, NotRead: told.NextCursor != ""}
	for _, run := range told.Runs {
		part.Rows = append(part.Rows, s.runRow(run))
		if run.Last != nil {
			part.Checked++
			if !run.Last.Allowed {
				part.Refused++
			}
		}
	}
	pressing := []string{lampOf("refused"), lampOf("allowed_on_fallback")}
	slices.SortStableFunc(part.Rows, func(a, b runRow) int {
		return cmp.Compare(placeOf(pressing, a.Outcome.Lamp), placeOf(pressing, b.Outcome.Lamp))
	})
	part.More = part.NotRead || len(part.Rows) > overviewRows
	part.Rows = part.Rows[:min(len(part.Rows), overviewRows)]
	return part, nil
}

// placeOf is where a word stands among others; after all of them when it does not.
func placeOf(words []string, word string) int {
	if at := slices.Index(words, word); at >= 0 {
		return at
	}
	return len(words)
}

// headline says what waits for a person, a sentence for each section: first of runs
// that were refused.
func (v overview) headline() []headlinePart {
	var said []headlinePart
	add := func(place, words string) {
		if words != "" {
			said = append(said, headlinePart{place, words})
		}
	}
	runs := v.Runs != nil && v.Runs.Unread == nil
	if runs && v.Runs.Refused > 0 {
		add("runs", v.Runs.says())
	}
	if v.Fleet != nil && v.Fleet.Unread == nil {
		add("fleet", v.Fleet.says())
	}
	if v.Claims != nil && v.Claims.Unread == nil {
		add("claims", v.Claims.says())
	}
	if runs && v.Runs.Refused == 0 {
		add("runs", v.Runs.says())
	}
	return said
}

// says is the part in a sentence; empty when there is nothing to say.
func (p *fleetPart) says() string {
	switch {
	case p.Total == 0:
		return ""
	case p.Need == 0:
		return "Every component is available."
	case p.Need == 1:
		return fmt.Sprintf("One of %s needs attention.", counted(p.Total, "component"))
	}
	return fmt.Sprintf("%d of %s need attention.", p.Need, counted(p.Total, "component"))
}

// says is the part in a sentence; empty when there is nothing to say.
func (p *claimPart) says() string {
	switch {
	case p.None:
		return ""
	case p.Waiting == "0":
		return "No claim waits for a verdict."
	case p.Waiting == "1":
		return "One claim waits for a verdict."
	}
	return p.Waiting + " claims wait for a verdict."
}

// says is what the last preflights said then, in a sentence; empty when there was
// none, and when those that were not read could have been refused.
func (p *runPart) says() string {
	switch {
	case p.Refused > 0 && p.NotRead:
		return "At least " + p.refused()
	case p.Refused > 0:
		return sentence(p.refused())
	case p.Checked > 0 && !p.NotRead:
		return "No run was refused by its last preflight."
	}
	return ""
}

func (p *runPart) refused() string {
	if p.Refused == 1 {
		return "one run was refused by its last preflight."
	}
	return fmt.Sprintf("%d runs were refused by their last preflights.", p.Refused)
}
