// Package fault owns the one error that crosses an edge of Countersign: a
// stable code, a message for people and a hint that says what to do next.
//
// It knows no transport: a tool error, a problem document and an exit code are
// each made from a fault at their own edge, by an exhaustive switch on its Code.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Code is a stable identifier of a fault and part of the public contract. It
// implements error, so errors.Is(err, fault.NotFound) needs no sentinel list.
type Code string

// The codes; Meaning says what each stands for. Those of the reference server
// keep its spelling.
const (
	SelfVerify          Code = "E_SELF_VERIFY"
	WrongState          Code = "E_WRONG_STATE"
	NotFound            Code = "E_NOT_FOUND"
	EmptyCriteria       Code = "E_EMPTY_CRITERIA"
	EmptyEvidence       Code = "E_EMPTY_EVIDENCE"
	MissingNotes        Code = "E_MISSING_NOTES"
	InvalidAgentID      Code = "E_INVALID_AGENT_ID"
	IdentityMismatch    Code = "E_IDENTITY_MISMATCH"
	InvalidArgument     Code = "E_INVALID_ARGUMENT"
	TooLarge            Code = "E_TOO_LARGE"
	AlreadySuperseded   Code = "E_ALREADY_SUPERSEDED"
	IdempotencyConflict Code = "E_IDEMPOTENCY_CONFLICT"
	Unavailable         Code = "E_UNAVAILABLE"
	Internal            Code = "E_INTERNAL"
)

// Codes returns every code, in the order in which they are documented.
func Codes() []Code {
	return []Code{
		SelfVerify, WrongState, NotFound, EmptyCriteria, EmptyEvidence, MissingNotes, InvalidAgentID,
		IdentityMismatch, InvalidArgument, TooLarge, AlreadySuperseded, IdempotencyConflict, Unavailable, Internal,
	}
}

// Meaning says in one sentence when a code is given.
func (c Code) Meaning() string {
	switch c {
	case SelfVerify:
		return "The agent that claimed the task tried to give the verdict."
	case WrongState:
		return "The task's status does not permit the operation; `current_status` tells it."
	case NotFound:
		return "What the call names (a task, a file) does not exist."
	case EmptyCriteria:
		return "A task needs at least one acceptance criterion, none blank."
	case EmptyEvidence:
		return "A claim needs evidence."
	case MissingNotes:
		return "A rejection needs notes."
	case InvalidAgentID:
		return "An agent id is not of the form ^[a-z0-9][a-z0-9._-]{0,63}$ after trimming and lower-casing."
	case IdentityMismatch:
		return "The call names another agent than the connection is locked to."
	case InvalidArgument:
		return "An argument is missing, unknown or ill-formed; `field` names it."
	case TooLarge:
		return "A limit was passed; `limit` tells it, and nothing was stored."
	case AlreadySuperseded:
		return "The rejected task has a successor; `superseded_by` names it."
	case IdempotencyConflict:
		return "The idempotency key was used before with other content."
	case Unavailable:
		return "Nothing changed; the same call may succeed later."
	case Internal:
		return "A defect or an unforeseen condition; the log tells its cause under `reference`."
	}
	return ""
}

// Error makes a code comparable with errors.Is.
func (c Code) Error() string { return string(c) }

// Names of the details that several faults share.
const (
	CurrentStatus = "current_status" // the status a task is in
	Field         = "field"          // the argument at fault
	Limit         = "limit"          // the limit that was passed
	Reference     = "reference"      // where the log tells the cause of an internal fault
)

// Error is a fault. Details are shown to the caller, so they never hold a
// secret; the cause is for the log and is never shown.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Details map[string]any
	cause   error
}

// New returns a fault with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy that says what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := e.clone()
	c.Hint = fmt.Sprintf(format, args...)
	return c
}

// With returns a copy with one more detail. The names code, message and hint
// are taken.
func (e *Error) With(name string, value any) *Error {
	c := e.clone()
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[name] = value
	return c
}

// WithCause returns a copy that wraps the error it stems from.
func (e *Error) WithCause(cause error) *Error {
	c := e.clone()
	c.cause = cause
	return c
}

func (e *Error) clone() *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	return &c
}

// Error gives code and message, and the cause where there is one that the message
// does not end with. It is meant for logs; what a caller is shown is Message and Hint.
func (e *Error) Error() string {
	if e.cause != nil && !strings.HasSuffix(e.Message, e.cause.Error()) {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is this fault's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// MarshalJSON gives the shape of a tool error: code, message, hint when there
// is one, and the details beside them.
func (e *Error) MarshalJSON() ([]byte, error) {
	shape := map[string]any{"code": e.Code, "message": e.Message}
	if e.Hint != "" {
		shape["hint"] = e.Hint
	}
	for name, value := range e.Details {
		if _, taken := shape[name]; !taken {
			shape[name] = value
		}
	}
	return json.Marshal(shape)
}

// Of returns the fault that err is or wraps, and whether there is one. Any
// other error is internal: log it in full under a reference and show Hidden.
func Of(err error) (*Error, bool) {
	return errors.AsType[*Error](err)
}

// Hidden returns what is shown of an error that is no fault: only the reference
// under which the log tells its cause.
func Hidden(reference string) *Error {
	return New(Internal, "the call failed inside Countersign; nothing is known to have changed").
		WithHint("Look for reference %s in Countersign's log, then try again.", reference).
		With(Reference, reference)
}
