package schema

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// ComponentQuery holds the arguments of a list of components.
type ComponentQuery struct {
	Kind, Status, Cursor *string
	Limit                *int
}

// ListComponents returns what a list of components takes.
func ListComponents() Operation[ComponentQuery] {
	return Operation[ComponentQuery]{"list_components", []Argument[ComponentQuery]{
		{"kind", "Only components of this kind.", Optional, func(q *ComponentQuery) any { return &q.Kind }, oneOf(registry.Kinds()...)},
		{"status", "Only components with this status.", Optional, func(q *ComponentQuery) any { return &q.Status }, oneOf(registry.Statuses()...)},
		{
			"limit", fmt.Sprintf("Components on a page; %d when left out.", registry.DefaultPage), Optional,
			func(q *ComponentQuery) any { return &q.Limit }, within(1, registry.MaxPage),
		},
		cursorArgument(func(q *ComponentQuery) any { return &q.Cursor }),
	}}
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
			WithHint("It is one of %s, or left out.", JoinedNames(values))
	}
	return V(*given), nil
}

// Named holds the argument of the operations that take one name.
type Named struct{ Name string }

// GetComponent returns what the reading of a component takes.
func GetComponent() Operation[Named] {
	return Operation[Named]{"get_component", []Argument[Named]{componentArgument()}}
}

// ProbeComponent returns what a probe of a component takes.
func ProbeComponent() Operation[Named] {
	return Operation[Named]{"probe_component", []Argument[Named]{componentArgument()}}
}

// Preflight returns what the preflight of a run takes.
func Preflight() Operation[Named] {
	return Operation[Named]{"preflight", []Argument[Named]{runArgument(func(q *Named) any { return &q.Name })}}
}

func componentArgument() Argument[Named] {
	return Argument[Named]{"name", "Name of the component, as list_components gives it.", Required, func(q *Named) any { return &q.Name }, nil}
}

func runArgument[Q any](place func(*Q) any) Argument[Q] {
	return Argument[Q]{"run", "Name of the run, as the operator configured it.", Checked, place, nil}
}
