package store

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// The names of the dialects; each is also the directory of its migrations.
const (
	dialectSQLite   = "sqlite"
	dialectPostgres = "postgres"
)

// dialect holds what differs between the databases, beside their schemas and
// the way in which a task is created.
type dialect struct {
	name string
	// lockClause makes a transition's SELECT wait for and see a concurrent one.
	lockClause string
	// leads is the condition that a column (the first %s), which an index begins with,
	// equals a value. An order that begins with that column is then that of this index.
	leads string
	// listed is a query of the texts in a JSON array, which is $1.
	listed string
	// later selects the events after the position $1 and $2.
	later string
	// after selects those of them that are settled.
	after string
	// deleteEvents deletes at most maxRemoved events: those after the position $1 and
	// $2 up to the position $3 and $4.
	deleteEvents string
	// settled selects the events before which none will ever appear.
	settled string
	// order and backward are the order of events, as ORDER BY takes it.
	order, backward string
	// violated returns the name of the constraint that err violates, or "".
	violated func(err error) string
	// transient reports whether trying the same again may succeed: the
	// statement had no effect, or an effect that explain recognises.
	transient func(err error) bool
	// passes reports whether err, which is not transient or was for too long, may
	// pass by itself or when room is made.
	passes func(err error) bool
	// unavailable returns the fault of a database that cannot serve now, or nil.
	unavailable func(err error) *fault.Error
	// create inserts the criteria, the first transition and the task.
	create createFunc
}

// ledHere is where a text leaves room for the condition of led.
const ledHere = "{led}"

// led completes a text by the condition that the component, which the index of the
// purpose and the order begin with, equals a value.
func (d *dialect) led(text, value string) string {
	return strings.Replace(text, ledHere, fmt.Sprintf(d.leads, "component", value), 1)
}
