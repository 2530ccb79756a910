package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/task"
)

// statusesOf returns the statuses that a task which meets the filter can have.
func statusesOf(filter task.Filter) []task.Status {
	return slices.DeleteFunc(task.Statuses(), func(status task.Status) bool {
		return filter.Status != "" && filter.Status != status ||
			filter.ClaimedBy != "" && status == task.Pending ||
			filter.VerifiableBy != "" && (status != task.Claimed || filter.VerifiableBy == filter.ClaimedBy)
	})
}

// walks reports whether the statement of a filter may pass over entries of the index
// that it reads along: no index has these conditions together.
func walks(filter task.Filter) bool {
	return filter.Supersedes == "" && (filter.VerifiableBy != "" && filter.ClaimedBy == "" || filter.CreatedBy != "" && filter.ClaimedBy != "")
}

// listing makes the statement of a page.
type listing struct {
	filter    task.Filter
	leads     string // see dialect.leads
	arguments []any
}

// pageStatement returns the statement for a filter that a task can meet. Only the
// conditions asked for stand in it, so that each filter meets its index.
func pageStatement(leads string, filter task.Filter) (text string, arguments []any) {
	l := listing{filter: filter, leads: leads}
	order := " ORDER BY id DESC LIMIT "
	if filter.OldestFirst {
		order = " ORDER BY updated_at, id LIMIT "
	}
	order += l.place(filter.Limit + 1)
	byAgent := filter.CreatedBy != "" || filter.ClaimedBy != "" || filter.VerifiableBy != ""
	switch {
	case filter.Supersedes != "":
		return selectSummaries + l.successor() + order, l.arguments
	case filter.Status == "" && !byAgent && filter.Before == "":
		return selectSummaries + order, l.arguments
	case filter.Status == "" && !byAgent:
		return selectSummaries + " WHERE id < " + l.place(string(filter.Before)) + order, l.arguments
	}
	// The indexes are in the order of a list within a status only.
	var ranges []string
	for _, status := range statusesOf(filter) {
		ranges = append(ranges, l.within(status))
	}
	if len(ranges) == 1 && !walks(filter) {
		return selectSummaries + ranges[0], l.arguments
	}
	// What is passed over is read from the index alone.
	for i := range ranges {
		ranges[i] = "SELECT id FROM (SELECT id FROM tasks" + ranges[i] + ") AS page"
	}
	return selectSummaries + " WHERE id IN (" + strings.Join(ranges, " UNION ALL ") + ")" + order, l.arguments
}

func (l *listing) place(value any) string {
	l.arguments = append(l.arguments, value)
	return "$" + strconv.Itoa(len(l.arguments))
}

// within returns the end of a statement that reads the tasks of a status: a range of
// one index, in its order.
func (l *listing) within(status task.Status) string {
	filter := l.filter
	lead, value := "status", string(status)
	switch {
	case filter.ClaimedBy != "":
		lead, value = "claimed_by", string(filter.ClaimedBy)
	case filter.CreatedBy != "":
		lead, value = "created_by", string(filter.CreatedBy)
	}
	conditions := []string{fmt.Sprintf(l.leads, lead, l.place(value))}
	where := func(condition, value string) {
		if value != "" {
			conditions = append(conditions, condition+l.place(value))
		}
	}
	if lead != "status" {
		where("status = ", string(status))
	}
	if lead != "created_by" {
		where("created_by = ", string(filter.CreatedBy))
	}
	if lead != "claimed_by" {
		where("claimed_by <> ", string(filter.VerifiableBy))
	}
	order := lead + " DESC, id DESC"
	if filter.OldestFirst {
		order = lead + ", updated_at, id"
		conditions = append(conditions, l.after()...)
	} else {
		where("id < ", string(filter.Before))
	}
	return " WHERE " + strings.Join(conditions, " AND ") + " ORDER BY " + order + " LIMIT $1"
}

// after returns the condition that a task comes after the page before.
func (l *listing) after() []string {
	if l.filter.After.ID == "" {
		return nil
	}
	return []string{"(updated_at, id) > (" + l.place(int64(l.filter.After.At)) + ", " + l.place(string(l.filter.After.ID)) + ")"}
}

// successor returns the conditions of the one task that supersedes another.
func (l *listing) successor() string {
	filter := l.filter
	conditions := []string{"supersedes = " + l.place(string(filter.Supersedes))}
	for _, each := range []struct{ condition, value string }{
		{"status = ", string(filter.Status)},
		{"created_by = ", string(filter.CreatedBy)},
		{"claimed_by = ", string(filter.ClaimedBy)},
		{"status = 'claimed' AND claimed_by <> ", string(filter.VerifiableBy)},
	} {
		if each.value != "" {
			conditions = append(conditions, each.condition+l.place(each.value))
		}
	}
	if filter.Before != "" && !filter.OldestFirst {
		conditions = append(conditions, "id < "+l.place(string(filter.Before)))
	}
	if filter.OldestFirst {
		conditions = append(conditions, l.after()...)
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}
