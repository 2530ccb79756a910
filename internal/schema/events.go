package schema

import (
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// EventsQuery holds the arguments of the stream of events.
type EventsQuery struct{ After, Kind, Component, TaskID, Run *string }

// StreamEvents returns what the stream of events takes; kinds are those of events.
func StreamEvents[K ~string](kinds []K) Operation[EventsQuery] {
	return Operation[EventsQuery]{"stream_events", []Argument[EventsQuery]{
		{"after", "Id of the event after which to go on. Left out: from now on.", Optional, func(q *EventsQuery) any { return &q.After }, nil},
		{"kind", "Only events of this kind.", Optional, func(q *EventsQuery) any { return &q.Kind }, oneOf(kinds...)},
		{
			"component", "Only events of this component, and of the task and the run that are named beside it.", Optional,
			func(q *EventsQuery) any { return &q.Component }, nil,
		},
		{"task_id", "Only events of this task.", Optional, func(q *EventsQuery) any { return &q.TaskID }, nil},
		{"run", "Only events of this run.", Optional, func(q *EventsQuery) any { return &q.Run }, nil},
	}}
}

// Subject is whose events are wanted; empty fields leave it open.
type Subject[K ~string] struct {
	Kind      K
	Component string
	TaskID    task.ID
	Run       string
}

// SubjectOf checks whose events are wanted. Faults: InvalidArgument.
func SubjectOf[K ~string](q EventsQuery, kinds []K) (subject Subject[K], err error) {
	if subject.Kind, err = chosen("kind", q.Kind, kinds); err != nil {
		return subject, err
	}
	if subject.Component, err = namedIn("component", q.Component); err != nil {
		return subject, err
	}
	if subject.Run, err = namedIn("run", q.Run); err != nil {
		return subject, err
	}
	if q.TaskID != nil {
		id, isUUID := task.ParseID(*q.TaskID)
		if !isUUID {
			return subject, task.InvalidArgument("task_id", "is no id of a task")
		}
		subject.TaskID = id
	}
	return subject, nil
}

// namedIn checks a name that may be left out.
func namedIn(argument string, name *string) (string, error) {
	switch {
	case name == nil:
		return "", nil
	case !registry.IsName(*name):
		return "", task.InvalidArgument(argument, "cannot be the name of any")
	}
	return *name, nil
}
