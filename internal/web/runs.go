package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// runsPerPage bounds the rows of the page of runs.
const runsPerPage = 50

// topicRuns is the topic of every event of a run, topicComponents of a component.
const (
	topicRuns       = "run"
	topicComponents = "component"
)

// runPages are the pages of runs.
func runPages() []page {
	served := func(o Options) bool { return o.Runs != nil }
	return []page{
		{
			Route: Route{"GET /runs", "runs", "Runs"}, inMenu: true, served: served,
			blank: runsView{Rows: []runRow{{}}}, show: (*site).showRuns,
		},
		{
			Route: Route{"GET /runs/{name}", "run", "A run"}, served: served, show: (*site).showRun,
			blank: runView{
				Slots: []slotView{{Fillers: []fillerView{{}}, MoreFillers: 1}}, MoreSlots: 1,
				Preflights: []preflightView{{
					Slots: []slotFound{{Attempts: []attemptView{{}}, MoreAttempts: 1}}, MoreSlots: 1,
					Ticket: &registry.Ticket{}, TicketSlots: []registry.TicketSlot{{}}, MoreTicketSlots: 1,
				}},
			},
		},
	}
}

// runsView is the page of runs.
type runsView struct {
	Source Source
	Rows   []runRow
	Pager  pager
}

// runRow is a run in the list.
type runRow struct {
	registry.RunSummary

	Outcome outcome
	Why     string // what fills slots, or does not; empty when every primary does
	When    moment // of the newest preflight
}

// outcome is what became of a preflight: in words, and how they look.
type outcome struct{ Words, Lamp string }

// neverChecked is the outcome where there was no preflight.
func neverChecked() outcome { return outcome{"never checked", lampOf("")} }

// outcomeOf says what became of a preflight.
func outcomeOf(made registry.PreflightSummary) outcome {
	switch {
	case !made.Allowed:
		return outcome{"refused", lampOf("refused")}
	case len(made.Fallbacks) > 0:
		return outcome{"allowed on a fallback", lampOf("allowed_on_fallback")}
	case len(made.Unfilled) > 0:
		return outcome{"allowed, not whole", lampOf("allowed_on_fallback")}
	}
	return outcome{"allowed", lampOf("allowed")}
}

// whyOf says which slots a preflight found empty, or filled by a fallback.
func whyOf(made registry.PreflightSummary) string {
	var said []string
	if len(made.Unfilled) > 0 {
		said = append(said, "nothing healthy for "+someOf(made.Unfilled))
	}
	if len(made.Fallbacks) > 0 {
		said = append(said, "a fallback for "+someOf(made.Fallbacks))
	}
	return strings.Join(said, "; ")
}

// showRuns shows a page of runs.
func (s *site) showRuns(r *http.Request) (frame, error) {
	told, err := s.Runs.RunPage(r.Context(), registry.PageQuery{Limit: runsPerPage, Cursor: r.URL.Query().Get("cursor")})
	if err != nil {
		return frame{}, fmt.Errorf("list runs: %w", err)
	}
	view := runsView{Source: s.Source, Pager: pagerOf(r, told.NextCursor)}
	for _, run := range told.Runs {
		view.Rows = append(view.Rows, s.runRow(run))
	}
	return frame{Title: "Runs", Topics: []string{topicRuns}, Content: view}, nil
}

// runRow is the row of a run.
func (s *site) runRow(run registry.RunSummary) runRow {
	row := runRow{RunSummary: run, Outcome: neverChecked()}
	if run.Last != nil {
		row.Outcome, row.Why, row.When = outcomeOf(*run.Last), whyOf(*run.Last), s.at(run.Last.At)
	}
	return row
}
