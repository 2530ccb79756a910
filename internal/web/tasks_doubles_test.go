package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// noon is when the pages of the tests are made.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// before is the moment so long before noon.
func before(d time.Duration) task.Time { return task.At(noon.Add(-d)) }

// hostile is what a page must show as text that does nothing.
const hostile = "</bdi></td></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'\u202e\x1b[2J\u2028"

// visit opens a page at noon.
func visit(t *testing.T, options web.Options, address string) *httptest.ResponseRecorder {
	t.Helper()
	return visitWithin(t.Context(), t, options, address)
}

// visitWithin opens a page at noon, until ctx ends.
func visitWithin(ctx context.Context, t *testing.T, options web.Options, address string) *httptest.ResponseRecorder {
	t.Helper()
	options.Now = func() time.Time { return noon }
	pages, err := web.Pages(options)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for pattern, page := range pages {
		mux.Handle(pattern, page)
	}
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
	return answer
}

// gateDouble answers as it is told, and keeps what it was asked last.
type gateDouble struct {
	page        task.Page
	whole       task.Task
	transitions []task.Transition

	listed, onRecord, read error

	asked task.Query
}

func (g *gateDouble) List(_ context.Context, query task.Query) (task.Page, error) {
	g.asked = query
	return g.page, g.listed
}

func (g *gateDouble) Task(context.Context, string) (task.Task, error) { return g.whole, g.read }

func (g *gateDouble) TaskOnRecord(context.Context, string) (task.Task, []task.Transition, error) {
	if g.onRecord != nil {
		return task.Task{}, nil, g.onRecord
	}
	return g.whole, g.transitions, nil
}

// countDouble is what was counted; it keeps what it was asked last.
type countDouble struct {
	page    task.AgentPage
	agents  map[task.AgentID]task.AgentView
	lineage []task.Summary
	err     error

	asked task.AgentQuery
}

func (c *countDouble) Tally(context.Context) (task.Tally, error)   { return task.Tally{}, c.err }
func (c *countDouble) Oldest(context.Context) (task.Oldest, error) { return task.Oldest{}, c.err }

func (c *countDouble) Lineage(context.Context, string) ([]task.Summary, error) {
	return c.lineage, c.err
}

func (c *countDouble) Agents(_ context.Context, query task.AgentQuery) (task.AgentPage, error) {
	c.asked = query
	return c.page, c.err
}

func (c *countDouble) Agent(_ context.Context, id string) (task.AgentView, error) {
	if view, known := c.agents[task.AgentID(id)]; known {
		return view, nil
	}
	return task.AgentView{}, fault.New(fault.NotFound, "nothing that an agent %q did was counted", id)
}

// runDouble is what may be started; it keeps what it was asked last.
type runDouble struct {
	page registry.RunPage
	view registry.RunView
	err  error

	asked registry.PageQuery
}

func (d *runDouble) RunPage(_ context.Context, query registry.PageQuery) (registry.RunPage, error) {
	d.asked = query
	return d.page, d.err
}

func (d *runDouble) RunView(context.Context, string) (registry.RunView, error) { return d.view, d.err }

func (d *runDouble) Preflights(_ context.Context, _ string, query registry.PageQuery) (registry.PreflightPage, error) {
	d.asked = query
	return pageOf(d.view.Preflights, query), d.err
}

// pageOf is a page of preflights, of which a second one is empty.
func pageOf(all []registry.KeptPreflight, query registry.PageQuery) (page registry.PreflightPage) {
	if query.Cursor != "" {
		return page
	}
	page.Preflights = all[:min(len(all), query.Limit)]
	if len(all) > query.Limit {
		page.NextCursor = "next"
	}
	return page
}
