package web

import (
	"net/url"

	"github.com/countersign-dev/countersign/internal/task"
)

// tasksPerPage bounds the rows of the page of tasks.
const tasksPerPage = 50

// Parameters of the page of tasks.
const (
	paramStatus       = "status"
	paramOrder        = "order"
	paramCreatedBy    = "created_by"
	paramClaimedBy    = "claimed_by"
	paramVerifiableBy = "verifiable_by"
	paramSupersedes   = "supersedes"
	paramCursor       = "cursor"
)

// anyStatus shows the tasks of every status.
const anyStatus = "all"

// taskFilters are the parameters that filter, in the order of the form.
func taskFilters() []string {
	return []string{paramCreatedBy, paramClaimedBy, paramVerifiableBy, paramSupersedes}
}

// tasksAsked is what the address of the page of tasks asks for.
type tasksAsked struct {
	status string // a status, or anyStatus
	order  string
	filter map[string]string // of taskFilters; no empty values
	cursor string
}

// askTasks reads an address. What is not there, or is empty, is the default: what
// waits for a verdict, the longest first.
func askTasks(given url.Values) tasksAsked {
	asked := tasksAsked{status: given.Get(paramStatus), order: given.Get(paramOrder), cursor: given.Get(paramCursor), filter: map[string]string{}}
	if asked.status == "" {
		asked.status = string(task.Claimed)
	}
	if asked.order == "" {
		asked.order = usualOrder(asked.status)
	}
	for _, name := range taskFilters() {
		if value := given.Get(name); value != "" {
			asked.filter[name] = value
		}
	}
	return asked
}

// usualOrder is the order of a status when none is asked for.
func usualOrder(status string) string {
	if status == string(task.Claimed) {
		return task.OrderOldest
	}
	return task.OrderNewest
}

// address is where the first page of what is asked for is.
func (a tasksAsked) address() string {
	values := url.Values{paramStatus: {a.status}}
	if a.order != usualOrder(a.status) {
		values.Set(paramOrder, a.order)
	}
	for name, value := range a.filter {
		values.Set(name, value)
	}
	return "/tasks?" + values.Encode()
}

// of is what is asked for with another status, in its usual order.
func (a tasksAsked) of(status string) tasksAsked {
	a.status, a.order = status, usualOrder(status)
	return a
}

// in is what is asked for in another order.
func (a tasksAsked) in(order string) tasksAsked {
	a.order = order
	return a
}

// query is what the gate is asked.
func (a tasksAsked) query() task.Query {
	limit := tasksPerPage
	query := task.Query{
		Limit: &limit, Order: &a.order,
		CreatedBy: a.given(paramCreatedBy), ClaimedBy: a.given(paramClaimedBy),
		VerifiableBy: a.given(paramVerifiableBy), Supersedes: a.given(paramSupersedes),
	}
	if a.status != anyStatus {
		query.Status = &a.status
	}
	if a.cursor != "" {
		query.Cursor = &a.cursor
	}
	return query
}

func (a tasksAsked) given(name string) *string {
	value, is := a.filter[name]
	if !is {
		return nil
	}
	return &value
}
