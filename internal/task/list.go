package task

import (
	"context"
	"slices"
)

// Task returns a task whole; a transport cuts what it cannot carry.
// Faults: NotFound, Unavailable.
func (g *Gate) Task(ctx context.Context, id string) (Task, error) {
	parsed, isUUID := ParseID(id)
	if err := requireID(parsed, isUUID); err != nil {
		return Task{}, err
	}
	return g.store.Task(ctx, parsed)
}

// List returns a page of tasks, newest first, and how many tasks there are of
// each status whatever the filters.
// Faults: InvalidArgument, InvalidAgentID, NotFound (a supersedes that is no
// UUID), Unavailable.
func (g *Gate) List(ctx context.Context, query Query) (Page, error) {
	filter, err := parseQuery(query)
	if err != nil {
		return Page{}, err
	}
	tasks, more, err := g.store.List(ctx, filter)
	if err != nil {
		return Page{}, err
	}
	page := Page{Tasks: tasks, CountsCappedAt: MaxCount}
	if tasks == nil {
		page.Tasks = []Summary{}
	}
	if more && len(tasks) > 0 {
		if page.NextCursor, err = encodeCursor(tasks[len(tasks)-1].TaskID); err != nil {
			return Page{}, err
		}
	}
	page.Counts, err = g.store.Counts(ctx, MaxCount)
	return page, err
}

// parseQuery validates a query in the order of the precedence.
func parseQuery(query Query) (Filter, error) {
	filter := Filter{Limit: DefaultPage}
	if query.Limit != nil {
		filter.Limit = *query.Limit
	}
	if filter.Limit < 1 || filter.Limit > MaxPage {
		return Filter{}, InvalidArgument(fieldLimit, "is %d; it must be from 1 to %d", filter.Limit, MaxPage)
	}
	if query.Status != nil {
		filter.Status = Status(*query.Status)
		if !slices.Contains(Statuses(), filter.Status) {
			return Filter{}, InvalidArgument(fieldStatus, "is %s; it must be one of %v", quote(*query.Status), Statuses())
		}
	}
	if query.Cursor != nil {
		before, ok := decodeCursor(*query.Cursor)
		if !ok {
			return Filter{}, InvalidArgument(fieldCursor, "is no cursor of this list").
				WithHint("Give next_cursor of the page before exactly as it came, or leave cursor out for the first page.")
		}
		filter.Before = before
	}
	if err := parseAgentFilters(query, &filter); err != nil {
		return Filter{}, err
	}
	if query.Supersedes != nil {
		id, isUUID := ParseID(*query.Supersedes)
		if err := requireID(id, isUUID); err != nil {
			return Filter{}, err
		}
		filter.Supersedes = id
	}
	return filter, nil
}

func parseAgentFilters(query Query, filter *Filter) error {
	for _, wanted := range []struct {
		field string
		given *string
		into  *AgentID
	}{
		{fieldCreatedBy, query.CreatedBy, &filter.CreatedBy},
		{fieldClaimedBy, query.ClaimedBy, &filter.ClaimedBy},
		{fieldVerifiableBy, query.VerifiableBy, &filter.VerifiableBy},
	} {
		if wanted.given == nil {
			continue
		}
		agent, err := ParseAgentID(wanted.field, *wanted.given)
		if err != nil {
			return err
		}
		*wanted.into = agent
	}
	return nil
}
