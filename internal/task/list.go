package task

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/cursor"
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

// List returns a page of tasks, in the order of the query, and how many tasks
// there are of each status whatever the filters. A page with a cursor is not the
// last one, even if it holds fewer tasks than the limit, or none: see Page.
// Faults: InvalidArgument, InvalidAgentID, NotFound (a supersedes that is no
// UUID), Unavailable.
func (g *Gate) List(ctx context.Context, query Query) (Page, error) {
	filter, err := parseQuery(query)
	if err != nil {
		return Page{}, err
	}
	tasks, next, err := g.store.List(ctx, filter)
	if err != nil {
		return Page{}, err
	}
	page := Page{Tasks: tasks, CountsCappedAt: MaxCount}
	if tasks == nil {
		page.Tasks = []Summary{}
	}
	if next.ID != "" {
		if page.NextCursor, err = cursorAfter(filter, next); err != nil {
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
			return Filter{}, InvalidArgument(fieldStatus, "is %s; it must be one of %s", quote(*query.Status), JoinedNames(Statuses()))
		}
	}
	if err := parseOrder(query, &filter); err != nil {
		return Filter{}, err
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

// parseOrder validates the order and the cursor, which belongs to one order,
// and with the oldest first to one status.
func parseOrder(query Query, filter *Filter) error {
	if query.Order != nil {
		switch *query.Order {
		case OrderNewest:
		case OrderOldest:
			filter.OldestFirst = true
		default:
			return InvalidArgument(fieldOrder, "is %s; it must be %s or %s", quote(*query.Order), OrderNewest, OrderOldest)
		}
	}
	if filter.OldestFirst && filter.Status == "" {
		return InvalidArgument(fieldOrder, "is %s without a status; tasks are the oldest of one status", OrderOldest).
			WithHint("Give status as well, one of %s.", JoinedNames(Statuses()))
	}
	if query.Cursor == nil {
		return nil
	}
	var ok bool
	if filter.OldestFirst {
		filter.After, ok = decodePlace(*query.Cursor, filter.Status)
	} else {
		filter.Before, ok = decodeCursor(*query.Cursor)
	}
	if !ok {
		asItCame := "exactly as it came"
		if query.Order != nil {
			asItCame += ", with the same order and status"
		}
		return InvalidArgument(fieldCursor, "is no cursor of this list").
			WithHint("Give next_cursor of the page before %s, or leave cursor out for the first page.", asItCame)
	}
	return nil
}

// cursorAfter makes the cursor of the page after a place.
func cursorAfter(filter Filter, last Place) (string, error) {
	if filter.OldestFirst {
		return encodePlace(last, filter.Status)
	}
	return encodeCursor(last.ID)
}

// encodePlace makes the cursor of the page after a place among the tasks of a status,
// which is when each reached that status.
func encodePlace(last Place, of Status) (string, error) {
	place, err := cursor.AppendID(cursor.AppendMoment(nil, int64(last.At)), string(last.ID))
	if err != nil {
		return "", err
	}
	return cursor.TasksOldest.After(string(of), place), nil
}

// decodePlace returns the place that a cursor made by encodePlace for the status
// holds, and whether it is one.
func decodePlace(text string, of Status) (Place, bool) {
	place, ok := cursor.TasksOldest.Place(string(of), text)
	if !ok {
		return Place{}, false
	}
	at, rest, isMoment := cursor.CutMoment(place)
	id, isID := cursor.ID(rest)
	return Place{At: Time(at), ID: ID(id)}, isMoment && isID
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

// JoinedNames lists values for a hint.
func JoinedNames[V ~string](values []V) string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return strings.Join(names, ", ")
}
