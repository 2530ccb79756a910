package mcpwire

import (
	"context"
	"net/http"

	"github.com/countersign-dev/countersign/internal/registry"
)

// RoundTripper carries the requests of a library that makes its own, by the rules
// of the outlet: see Outlet.RoundTripper.
type RoundTripper struct{ gateway *gateway }

// RoundTripper returns what Client sends its requests with, for a library that
// wants to make a client itself. It follows no redirect; an error is a *Failure.
// Call CloseIdleConnections in the end.
func (o Outlet) RoundTripper() RoundTripper { return RoundTripper{o.gateway()} }

// RoundTrip implements http.RoundTripper.
func (t RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	seen := newTrace()
	response, err := t.gateway.RoundTrip(request.WithContext(seen.follow(request.Context())))
	if err != nil {
		return nil, explain(request.Context(), err, seen)
	}
	return response, nil
}

// CloseIdleConnections drops the connections that are not in use.
func (t RoundTripper) CloseIdleConnections() { t.gateway.CloseIdleConnections() }

// Refusal is the failure of an answer with another status than one of success:
// nil for that. What the body says about it is for the caller to add.
func (e *Exchange) Refusal() error {
	cause := registry.StatusCause(e.Response.StatusCode)
	if cause == "" {
		return nil
	}
	return &Failure{Cause: cause, Detail: e.StatusDetail(), status: e.Response.StatusCode}
}

// Explain makes a failure of an error that a library has wrapped; nil of nil.
func Explain(ctx context.Context, err error) *Failure {
	if err == nil {
		return nil
	}
	return explain(ctx, err, newTrace())
}

// Status is that of the answer over HTTP that failed; 0 when none came.
func (f *Failure) Status() int { return f.status }
