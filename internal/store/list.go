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

// leadOf is the column with which the index begins that a list is read along, and
// its value for the tasks of a status.
func leadOf(filter task.Filter, status task.Status) (column, value string) {
	switch {
	case byAge(filter):
		return "status", string(status)
	case filter.ClaimedBy != "":
		return "claimed_by", string(filter.ClaimedBy)
	case filter.CreatedBy != "":
		return "created_by", string(filter.CreatedBy)
	}
	return "status", string(status)
}

// byAge reports whether a list has an order that the ids do not tell: a pending task
// has its status since it was created.
func byAge(filter task.Filter) bool { return filter.OldestFirst && filter.Status != task.Pending }

// passesOver reports whether a list passes over entries of the index that it is read
// along: no index has its conditions together.
func passesOver(filter task.Filter) bool {
	lead, _ := leadOf(filter, filter.Status)
	return filter.Supersedes == "" && (filter.CreatedBy != "" && lead != "created_by" ||
		filter.ClaimedBy != "" && lead != "claimed_by" || filter.VerifiableBy != "" && filter.ClaimedBy == "")
}

// listing makes the statement of a page.
type listing struct {
	filter    task.Filter
	leads     string // see dialect.leads
	arguments []any
}

// endStatement returns the statement of the place where the page of a filter ends
// that passes over entries, however few of them it shows, so that it looks at no more
// than most. Of these each status has a part: the place is that of the last entry of
// its part, in the range of the status that has it first. There is none where the
// ranges have fewer entries.
func endStatement(leads string, filter task.Filter, most int) (text string, arguments []any) {
	l := listing{filter: filter, leads: leads}
	statuses := statusesOf(filter)
	limit := " LIMIT 1 OFFSET " + l.place(max(most/len(statuses), 1)-1)
	if byAge(filter) {
		return "SELECT updated_at, id FROM tasks" + l.within(filter.Status, nil) + limit, l.arguments
	}
	var places []string
	for _, status := range statuses {
		places = append(places, "SELECT id FROM (SELECT id FROM tasks"+l.within(status, nil)+limit+") AS place")
	}
	return "SELECT 0, id FROM (" + strings.Join(places, " UNION ALL ") + ") AS places ORDER BY id DESC LIMIT 1", l.arguments
}

// pageStatement returns the statement for a filter that a task can meet, up to the
// place where its page ends, which is zero where nothing is passed over. Only the
// conditions asked for stand in it, so that each filter meets its index.
func pageStatement(leads string, filter task.Filter, end task.Place) (text string, arguments []any) {
	l := listing{filter: filter, leads: leads}
	order := " ORDER BY id DESC LIMIT "
	switch {
	case byAge(filter):
		order = " ORDER BY updated_at, id LIMIT "
	case filter.OldestFirst:
		order = " ORDER BY id LIMIT "
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
		ranges = append(ranges, l.within(status, l.beyond(end))+" LIMIT $1")
	}
	if len(ranges) == 1 && !passesOver(filter) {
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

// within returns the end of a statement that reads the tasks of a status after the
// page before: a range of one index, in its order, where the further conditions hold.
func (l *listing) within(status task.Status, further []string) string {
	filter := l.filter
	lead, value := leadOf(filter, status)
	conditions := []string{fmt.Sprintf(l.leads, lead, l.place(value))}
	if lead != "status" {
		conditions = append(conditions, "status = "+l.place(string(status)))
	}
	order := lead + " DESC, id DESC"
	switch {
	case byAge(filter):
		order = lead + ", updated_at, id"
		conditions = append(conditions, "claimed_by IS NOT NULL") // as the index has it
	case filter.OldestFirst:
		order = lead + ", id"
	}
	conditions = append(append(conditions, l.after()...), further...)
	return " WHERE " + strings.Join(conditions, " AND ") + " ORDER BY " + order
}

// after returns the condition that a task comes after the page before.
func (l *listing) after() []string {
	filter := l.filter
	switch {
	case !filter.OldestFirst && filter.Before != "":
		return []string{"id < " + l.place(string(filter.Before))}
	case !filter.OldestFirst || filter.After.ID == "":
		return nil
	case byAge(filter):
		return []string{"(updated_at, id) > (" + l.place(int64(filter.After.At)) + ", " + l.place(string(filter.After.ID)) + ")"}
	}
	return []string{"id > " + l.place(string(filter.After.ID))}
}

// beyond returns the conditions that the index which is read along does not begin
// with, and that of the place where the page ends. A comparison of a column that
// another index begins with is one of a text made of it, which no index has: else
// that index could be read to its end, and what was found put in order.
func (l *listing) beyond(end task.Place) []string {
	filter := l.filter
	lead, _ := leadOf(filter, filter.Status)
	var conditions []string
	if filter.CreatedBy != "" && lead != "created_by" {
		conditions = append(conditions, "created_by || '' = "+l.place(string(filter.CreatedBy)))
	}
	if filter.ClaimedBy != "" && lead != "claimed_by" {
		conditions = append(conditions, "claimed_by || '' = "+l.place(string(filter.ClaimedBy)))
	}
	if filter.VerifiableBy != "" && filter.ClaimedBy == "" {
		conditions = append(conditions, "claimed_by <> "+l.place(string(filter.VerifiableBy)))
	}
	switch {
	case end.ID == "":
	case byAge(filter):
		conditions = append(conditions, "(updated_at, id) <= ("+l.place(int64(end.At))+", "+l.place(string(end.ID))+")")
	default:
		conditions = append(conditions, "id >= "+l.place(string(end.ID)))
	}
	return conditions
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
	conditions = append(conditions, l.after()...)
	return " WHERE " + strings.Join(conditions, " AND ")
}
