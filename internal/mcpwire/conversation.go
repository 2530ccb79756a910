package mcpwire

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// carrier moves messages to one server and back.
type carrier interface {
	// fresh makes ready for the first request of an era.
	fresh(ctx context.Context) error
	// ask sends a request and returns the answer with the HTTP status that it came
	// with, 0 where there is none. An error is a *Failure.
	ask(ctx context.Context, request outgoing) (message, int, error)
	// tell sends a message that is not answered. An error is a *Failure.
	tell(ctx context.Context, message outgoing) error
	// close ends whatever was opened, also when ctx has ended.
	close(ctx context.Context)
}

// conversation is what was agreed with a server and learned of it, whatever
// carries the messages.
type conversation struct {
	identity Identity
	began    time.Time
	left     int64        // bytes that may still be read
	era      registry.Era // of the requests; reported once it is settled
	version  string
	settled  bool // the handshake is over
	replies  int
	report   Report
}

func (c *conversation) warn(format string, args ...any) {
	text := registry.Shorten(fmt.Sprintf(format, args...), registry.MaxDetail)
	if len(c.report.Warnings) < MaxWarnings && !slices.Contains(c.report.Warnings, text) {
		c.report.Warnings = append(c.report.Warnings, text)
	}
}

// phaseCause is the cause of an error or an unusable result at this point.
func (c *conversation) phaseCause() registry.Cause {
	if c.settled {
		return registry.ProtocolError
	}
	return registry.Handshake
}

func (c *conversation) unusable(format string, args ...any) error {
	return &Failure{Cause: c.phaseCause(), Detail: fmt.Sprintf(format, args...)}
}

// answered notes the first complete answer of any kind.
func (c *conversation) answered(detail string) {
	if c.report.FirstAnswer == "" {
		c.report.FirstAnswer, c.report.FirstAnswerAfter = detail, time.Since(c.began)
	}
}

// replyTo is the answer to a request of the server, which it may wait for: an
// empty result to a ping, "method not found" to any other, since no capability
// was declared. In the modern era servers make no requests.
func (c *conversation) replyTo(request message) (answer outgoing, isDue bool) {
	if c.era == registry.Modern || c.replies == MaxReplies {
		return outgoing{}, false
	}
	c.replies++
	answer = outgoing{Reply: request.id}
	if request.method == "ping" {
		answer.Result = struct{}{}
		return answer, true
	}
	answer.Error = map[string]any{"code": methodNotFound, "message": "no capability was declared"}
	c.warn("the server asked for %s although no capability was declared", registry.Shorten(request.method, maxExcerpt))
	return answer, true
}
