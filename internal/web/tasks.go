package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/words"
)

// LongWait is after how long the pages mark a claim that waits for a verdict, where
// Options name no other time.
const LongWait = time.Hour

// topicTasks is the topic of every event of a task.
const topicTasks = "task"

// taskPages are the pages of tasks.
func taskPages() []page {
	served := func(o Options) bool { return o.Tasks != nil }
	return []page{
		{
			Route: Route{"GET /tasks", "tasks", "Tasks"}, inMenu: true, served: served,
			blank: tasksView{Refused: &refusal{}, Tabs: []taskTab{{}}, Filters: []taskField{{}}, Rows: []taskRow{{}}}, show: (*site).showTasks,
		},
		{
			Route: Route{"GET /tasks/{id}", "task", "A task"}, served: served,
			blank: taskView{Steps: []taskStep{{}}, Lineage: []lineageRow{{}}}, show: (*site).showTask,
		},
	}
}

// tasksView is the page of tasks.
type tasksView struct {
	Status, Order string
	Tabs          []taskTab
	Filters       []taskField
	Filtered      bool
	Unfiltered    string // the address without filters
	Rows          []taskRow
	Refused       *refusal // what is wrong with the address; nil when it was answered
	Pager         pager

	CutShort bool // filtered, it has fewer rows than a page holds and is not the last
	Heading  string
	None     bool   // there is no task at all
	Other    string // the address of the other order; empty when there is none
	InOther  string // that order, in words
	LongWait string // in words
}

// taskTab is the link to the tasks of one status.
type taskTab struct {
	Status, Address string
	Count           string // empty when it is not counted
	Current         bool
}

// taskField is a field of the form that filters.
type taskField struct{ Name, Label, Value, Hint string }

// taskRow is a task in the list.
type taskRow struct {
	task.Summary

	Since moment // it has its status
	Waits bool   // it is claimed, and has waited for long
}

// AllOpen reports whether every task of the list has a status that it will not keep.
func (v tasksView) AllOpen() bool {
	return v.Status == string(task.Pending) || v.Status == string(task.Claimed)
}

// refusal is what is said of an address that is not answered.
type refusal struct{ Message, Hint string }

// refusalOf is what a person can put right in an address; nil for any other error.
func refusalOf(err error) *refusal {
	for _, code := range []fault.Code{fault.InvalidArgument, fault.InvalidAgentID, fault.NotFound} {
		if errors.Is(err, code) {
			coded, _ := fault.Of(err)
			return &refusal{Message: coded.Message, Hint: coded.Hint}
		}
	}
	return nil
}

// forPeople puts what a person can do in the place of what an agent can, where a
// task is not found.
func forPeople(err error) error {
	coded, known := fault.Of(err)
	if !known || coded.Code != fault.NotFound {
		return err
	}
	return coded.WithHint("Copy the whole id, from the list of tasks or from countersign task list.")
}

// showTasks shows the tasks that the address asks for. What it asks wrongly is said
// beside the form, so that it can be put right.
func (s *site) showTasks(r *http.Request) (frame, error) {
	asked := askTasks(r.URL.Query())
	made := frame{Title: "Tasks", Topics: []string{topicTasks}}
	view := tasksView{
		Status: asked.status, Order: asked.order, Filters: asked.fields(), Heading: asked.heading(), LongWait: words.Age(s.longWait()),
		Filtered: len(asked.filter) > 0, Unfiltered: tasksAsked{status: asked.status, order: asked.order}.address(),
	}
	page, err := s.Tasks.List(r.Context(), asked.query())
	if view.Refused = refusalOf(forPeople(err)); view.Refused != nil {
		view.Tabs, view.Pager = asked.tabs(nil), pagerOf(r, "")
		made.Status, made.Content = http.StatusBadRequest, view
		return made, nil
	}
	if err != nil {
		return frame{}, fmt.Errorf("list tasks: %w", err)
	}
	view.Tabs, view.Pager = asked.tabs(&page), pagerOf(r, page.NextCursor)
	for _, summary := range page.Tasks {
		view.Rows = append(view.Rows, taskRow{Summary: summary, Since: s.at(summary.UpdatedAt.Time()), Waits: s.waits(summary.Status, summary.UpdatedAt)})
	}
	view.CutShort = view.Filtered && page.NextCursor != "" && len(view.Rows) < tasksPerPage
	view.None = page.Counts == task.Counts{} && len(page.Tasks) == 0
	if asked.status != anyStatus && len(view.Rows) > 1 {
		other := asked.in(otherOrder(asked.order))
		view.Other, view.InOther = other.address(), other.inOrder()
	}
	made.Content = view
	return made, nil
}

// waits reports whether a task with a status since a moment is a claim that waits
// for long.
func (s *site) waits(status task.Status, since task.Time) bool {
	return status == task.Claimed && s.Now().Sub(since.Time()) >= s.longWait()
}

// longWait is after how long a claim that waits is marked.
func (s *site) longWait() time.Duration {
	if s.LongWait == nil {
		return LongWait
	}
	return cmp.Or(s.LongWait(), LongWait)
}

func otherOrder(order string) string {
	if order == task.OrderNewest {
		return task.OrderOldest
	}
	return task.OrderNewest
}

// tabs are the links to each status. Counts are of all tasks, whatever the filters;
// there are none without a page.
func (a tasksAsked) tabs(page *task.Page) []taskTab {
	var tabs []taskTab
	for _, status := range append(task.Statuses(), anyStatus) {
		tab := taskTab{Status: string(status), Address: a.of(string(status)).address(), Current: a.status == string(status)}
		if page != nil {
			tab.Count = countOf(page, status)
		}
		tabs = append(tabs, tab)
	}
	return tabs
}

// countOf is how many tasks have a status, in words; empty for any status.
func countOf(page *task.Page, status task.Status) string {
	var count int
	switch status {
	case task.Pending:
		count = page.Counts.Pending
	case task.Claimed:
		count = page.Counts.Claimed
	case task.Verified:
		count = page.Counts.Verified
	case task.Rejected:
		count = page.Counts.Rejected
	default:
		return ""
	}
	if count >= page.CountsCappedAt {
		return fmt.Sprintf("%d+", page.CountsCappedAt)
	}
	return fmt.Sprint(count)
}

// heading says what the list shows, and in which order.
func (a tasksAsked) heading() string {
	shown := map[string]string{
		string(task.Pending):  "Waiting for a claim",
		string(task.Claimed):  "Waiting for a verdict",
		string(task.Verified): "Verified",
		string(task.Rejected): "Rejected",
		anyStatus:             "Of every status",
	}[a.status]
	if shown == "" {
		return "None"
	}
	return shown + ", " + a.inOrder()
}

// inOrder is the order in words.
func (a tasksAsked) inOrder() string {
	switch {
	case a.order != task.OrderOldest:
		return "the newest first"
	case a.status == string(task.Pending), a.status == string(task.Claimed):
		return "the longest first"
	}
	return "the oldest first"
}

// fields are the fields of the form that filters.
func (a tasksAsked) fields() []taskField {
	fields := []taskField{
		{Name: paramCreatedBy, Label: "Created by", Hint: "an agent"},
		{Name: paramClaimedBy, Label: "Claimed by", Hint: "an agent"},
		{Name: paramVerifiableBy, Label: "Verifiable by", Hint: "an agent"},
		{Name: paramSupersedes, Label: "Supersedes", Hint: "a task’s id"},
	}
	for i := range fields {
		fields[i].Value = a.filter[fields[i].Name]
	}
	return fields
}
