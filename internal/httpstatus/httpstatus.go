// Package httpstatus owns with which HTTP status a fault is answered, by pages and
// by the API alike.
//
// It must not know what an answer holds beside that.
package httpstatus

import (
	"net/http"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Of is the status (RFC 9110) with which a fault is answered; 500 for a code that is
// unknown.
func Of(code fault.Code) int {
	switch code {
	case fault.InvalidArgument, fault.InvalidAgentID:
		return http.StatusBadRequest
	case fault.SelfVerify, fault.IdentityMismatch:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.WrongState, fault.AlreadySuperseded, fault.IdempotencyConflict:
		return http.StatusConflict
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.EmptyCriteria, fault.EmptyEvidence, fault.MissingNotes:
		return http.StatusUnprocessableEntity
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// SayWhenAgain says in the header of an answer with a status when to try again, where
// that is of use.
func SayWhenAgain(header http.Header, status int) {
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
}
