// Package feed owns the order of what happens: every transition of a task, every
// change of a component's status and every preflight, as one sequence that
// whoever listens can leave and resume.
//
// It must not know who listens, nor how the sequence is kept. Its one idea is
// that an event only says where to look: what it is about is read anew, so that
// a listener who missed nothing and one who missed everything see the same.
package feed

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind says what an event is about.
type Kind string

// The kinds of event.
const (
	Task      Kind = "task"      // Subject is the id of a task, What its status
	Component Kind = "component" // Subject is the name of a component, What its status
	Run       Kind = "run"       // Subject is the name of a run, What one of the outcomes below
)

// What a preflight came to, as the What of an event of the kind Run.
const (
	Allowed           = "allowed"
	AllowedOnFallback = "allowed_on_fallback" // at least one slot is not filled by its primary
	Refused           = "refused"
)

// Kinds returns every kind of event, in the order in which they are documented.
func Kinds() []Kind { return []Kind{Task, Component, Run} }

// Event is one thing that happened. It carries no text of agents and servers.
type Event struct {
	ID      Position
	Kind    Kind
	Subject string
	What    string
	At      time.Time
}

// Position is a place in the sequence; the zero value is before the first event.
// Events are in the order of Turn and, within it, of Number. What becomes visible
// later has a greater position than all that was visible before.
type Position struct{ Turn, Number int64 }

// String is how a position is told to listeners: "0-17".
func (p Position) String() string {
	return strconv.FormatInt(p.Turn, 10) + "-" + strconv.FormatInt(p.Number, 10)
}

// ParsePosition reads what String wrote.
func ParsePosition(text string) (Position, error) {
	turn, number, found := strings.Cut(text, "-")
	if found {
		t, wrongTurn := strconv.ParseInt(turn, 10, 64)
		n, wrongNumber := strconv.ParseInt(number, 10, 64)
		p := Position{Turn: t, Number: n}
		if wrongTurn == nil && wrongNumber == nil && t >= 0 && n >= 0 && p.String() == text {
			return p, nil
		}
	}
	return Position{}, fmt.Errorf("%.40q is no position in the feed", text)
}

// Before reports whether p comes before other.
func (p Position) Before(other Position) bool { return p.compare(other) < 0 }

func (p Position) compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Turn, other.Turn), cmp.Compare(p.Number, other.Number))
}
