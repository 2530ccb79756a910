package schema

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// ComponentQuery holds the arguments of a list of components.
type ComponentQuery struct {
	Kind, Status, Search, Attention, Cursor *string
	Limit                                   *int
}

// attentionNeeded is the one value of the argument attention.
const attentionNeeded = "needed"

// ListComponents returns what a list of components takes.
func ListComponents() Operation[ComponentQuery] {
	return Operation[ComponentQuery]{"list_components", []Argument[ComponentQuery]{
		{"kind", "Only components of this kind.", Optional, func(q *ComponentQuery) any { return &q.Kind }, oneOf(registry.Kinds()...)},
		{"status", "Only components with this status.", Optional, func(q *ComponentQuery) any { return &q.Status }, oneOf(registry.Statuses()...)},
		limitArgument("Components", func(q *ComponentQuery) any { return &q.Limit }),
		cursorArgument(func(q *ComponentQuery) any { return &q.Cursor }),
	}}
}

// SearchComponents returns what a list of components takes that can be searched.
func SearchComponents() Operation[ComponentQuery] {
	return ListComponents().with(Argument[ComponentQuery]{
		"search", "Only components whose names contain this, whatever its case.", Optional,
		func(q *ComponentQuery) any { return &q.Search }, longest(registry.MaxName),
	}).with(Argument[ComponentQuery]{
		"attention", "Only components that need attention, the most pressing first: those without which a run would be refused, then those in whose place one would start on a fallback at best, going by their statuses; then unavailable, unknown, with changed tools, degraded or flapping, probing, of each those first that a slot names.", Optional,
		func(q *ComponentQuery) any { return &q.Attention }, oneOf(attentionNeeded),
	})
}

// Query checks the arguments. Faults: InvalidArgument.
func (q ComponentQuery) Query() (query registry.ComponentQuery, err error) {
	if query.Kind, err = chosen("kind", q.Kind, registry.Kinds()); err != nil {
		return registry.ComponentQuery{}, err
	}
	if query.Status, err = chosen("status", q.Status, registry.Statuses()); err != nil {
		return registry.ComponentQuery{}, err
	}
	if query.Limit, query.Cursor, err = paged(q.Limit, q.Cursor); err != nil {
		return registry.ComponentQuery{}, err
	}
	attention, err := chosen("attention", q.Attention, []string{attentionNeeded})
	if err != nil {
		return registry.ComponentQuery{}, err
	}
	query.Attention = attention != ""
	if q.Search != nil {
		query.Search = *q.Search
	}
	return query, nil
}

// paged checks what every list of the registry takes; zero values are those of
// the first page of the size that the list itself chooses.
func paged(limit *int, cursor *string) (most int, after string, err error) {
	if limit != nil {
		if most = *limit; most < 1 || most > registry.MaxPage {
			return 0, "", task.InvalidArgument("limit", "must be from 1 to %d", registry.MaxPage)
		}
	}
	if cursor != nil {
		if after = *cursor; after == "" || len(after) > maxCursor {
			return 0, "", task.InvalidArgument("cursor", "is not the next_cursor of a page").
				WithHint("Leave it out for the first page.")
		}
	}
	return most, after, nil
}

// maxCursor is how many bytes of a cursor are passed on.
const maxCursor = 1000

// chosen returns the given one of some values; the zero value when none is given.
func chosen[V ~string](name string, given *string, values []V) (V, error) {
	if given == nil {
		return "", nil
	}
	if !slices.Contains(values, V(*given)) {
		return "", task.InvalidArgument(name, "cannot be %q", Shortened(*given)).
			WithHint("It is one of %s, or left out.", task.JoinedNames(values))
	}
	return V(*given), nil
}

// Named holds the argument of the operations that take one name.
type Named struct{ Name string }

// GetComponent returns what the reading of a component takes.
func GetComponent() Operation[Named] {
	return Operation[Named]{"get_component", []Argument[Named]{componentArgument(func(q *Named) any { return &q.Name })}}
}

// ProbeComponent returns what a probe of a component takes.
func ProbeComponent() Operation[Named] {
	return Operation[Named]{"probe_component", []Argument[Named]{componentArgument(func(q *Named) any { return &q.Name })}}
}

// Preflight returns what the preflight of a run takes.
func Preflight() Operation[Named] {
	return Operation[Named]{"preflight", []Argument[Named]{runArgument(func(q *Named) any { return &q.Name })}}
}

func componentArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"name", "Name of the component, as list_components gives it.", Required, place, nil}
}

func runArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"run", "Name of the run, as the operator configured it.", Checked, place, nil}
}

// PageQuery holds the arguments of a list that only goes on.
type PageQuery struct {
	Limit  *int
	Cursor *string
}

// ListSlots returns what a list of slots takes.
func ListSlots() Operation[PageQuery] { return listByName("list_slots", "Slots") }

// ListRuns returns what a list of runs takes.
func ListRuns() Operation[PageQuery] { return listByName("list_runs", "Runs") }

func listByName(name, what string) Operation[PageQuery] {
	return Operation[PageQuery]{name, []Argument[PageQuery]{
		limitArgument(what, func(q *PageQuery) any { return &q.Limit }),
		cursorArgument(func(q *PageQuery) any { return &q.Cursor }),
	}}
}

// Query checks the arguments. Faults: InvalidArgument.
func (q PageQuery) Query() (query registry.PageQuery, err error) {
	query.Limit, query.Cursor, err = paged(q.Limit, q.Cursor)
	return query, err
}

// ResultsQuery holds the arguments of a list of the results of a component.
type ResultsQuery struct {
	Name   string
	Limit  *int
	Cursor *string
}

// ListResults returns what a list of the results of a component takes.
func ListResults() Operation[ResultsQuery] {
	return Operation[ResultsQuery]{"list_results", []Argument[ResultsQuery]{
		componentArgument(func(q *ResultsQuery) any { return &q.Name }),
		limitArgument("Results", func(q *ResultsQuery) any { return &q.Limit }),
		cursorArgument(func(q *ResultsQuery) any { return &q.Cursor }),
	}}
}

// Query checks the arguments. Faults: InvalidArgument.
func (q ResultsQuery) Query() (query registry.ResultQuery, err error) {
	query.Limit, query.Cursor, err = paged(q.Limit, q.Cursor)
	return query, err
}

// PreflightsQuery holds the arguments of a list of the preflights of a run.
type PreflightsQuery struct {
	Run    string
	Limit  *int
	Cursor *string
}

// ListPreflights returns what a list of the preflights of a run takes.
func ListPreflights() Operation[PreflightsQuery] {
	return Operation[PreflightsQuery]{"list_preflights", []Argument[PreflightsQuery]{
		runArgument(func(q *PreflightsQuery) any { return &q.Run }),
		limitArgument("Preflights", func(q *PreflightsQuery) any { return &q.Limit }),
		cursorArgument(func(q *PreflightsQuery) any { return &q.Cursor }),
	}}
}

// Query checks the arguments. Faults: InvalidArgument.
func (q PreflightsQuery) Query() (query registry.PageQuery, err error) {
	query.Limit, query.Cursor, err = paged(q.Limit, q.Cursor)
	return query, err
}

// GetRun returns what the reading of a run takes.
func GetRun() Operation[Named] {
	return Operation[Named]{"get_run", []Argument[Named]{runArgument(func(q *Named) any { return &q.Name })}}
}

// GetResult returns what the reading of a result takes.
func GetResult() Operation[Named] {
	return Operation[Named]{"get_result", []Argument[Named]{{
		"result_id", "Id of the result, as a status, a list or a preflight gives it.", Required, func(q *Named) any { return &q.Name }, nil,
	}}}
}

func limitArgument[Q any](what string, place func(*Q) any) Argument[Q] {
	return Argument[Q]{
		"limit", fmt.Sprintf("%s on a page; %d when left out.", what, registry.DefaultPage), Optional, place, within(1, registry.MaxPage),
	}
}
