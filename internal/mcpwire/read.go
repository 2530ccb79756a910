package mcpwire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/countersign-dev/countersign/internal/registry"
)

// read finds the message that answers request id. An error is a *Failure.
func (s *streamable) read(ctx context.Context, exchange *Exchange, id int64) (message, error) {
	exchange.Response.Body = &meteredBody{exchange.Response.Body, &s.left}
	if exchange.isType("text/event-stream") {
		return s.readStream(ctx, exchange, id)
	}
	status := exchange.Response.StatusCode
	body, err := exchange.ReadAll(ctx, MaxBodyBytes)
	if err != nil && !errors.Is(err, ErrBroken) {
		return message{}, err
	}
	if err == nil {
		s.answered(fmt.Sprintf("status %d", status))
	}
	got, isMessage := decodeMessage(body)
	switch {
	case err == nil && isMessage && (got.answers(id) || got.isAnonymousError()):
		s.checkType(exchange)
		return got, nil
	case registry.StatusCause(status) != "":
		return message{}, &Failure{Cause: registry.HTTPStatus, Detail: statusText(status, body), status: status}
	case err == nil && isMessage:
		return message{}, s.unusable("the answer has the id %s instead of %d", excerpt(got.id), id)
	case err != nil:
		return message{}, &Failure{Cause: registry.NotMCP, Detail: err.Error(), status: status}
	}
	return message{}, &Failure{Cause: registry.NotMCP, Detail: statusText(status, body), status: status}
}

func statusText(status int, body []byte) string {
	if text := excerpt(body); text != "" {
		return fmt.Sprintf("status %d: %s", status, text)
	}
	return fmt.Sprintf("status %d", status)
}

func (s *streamable) checkType(exchange *Exchange) {
	if !exchange.isType("application/json") {
		kind := exchange.Response.Header.Get("Content-Type")
		s.warn("an answer in JSON has the content type %q", registry.Shorten(kind, maxExcerpt))
	}
}

// readStream reads events up to the answer and no further: the stream may never
// end. Notifications are left aside, requests of the server are answered.
func (s *streamable) readStream(ctx context.Context, exchange *Exchange, id int64) (message, error) {
	status := exchange.Response.StatusCode
	events := newEventReader(exchange.Response.Body)
	for {
		got, err := events.next()
		if err == nil || errors.Is(err, io.EOF) {
			s.answered(fmt.Sprintf("status %d", status))
		}
		if err != nil {
			return message{}, streamFailure(ctx, exchange, err)
		}
		if got.name != "" && got.name != "message" {
			continue
		}
		answer, isMessage := decodeMessage(got.data)
		switch {
		case !isMessage:
			s.warn("the stream holds an event that is no JSON-RPC message")
		case answer.answers(id):
			return answer, nil
		case answer.isAnonymousError() && registry.StatusCause(status) != "":
			return answer, nil
		case answer.method != "" && answer.id != nil:
			s.reply(ctx, answer)
		}
	}
}

func streamFailure(ctx context.Context, exchange *Exchange, err error) error {
	if known, ok := errors.AsType[*Failure](err); ok {
		return known
	}
	if failure := explain(ctx, err, exchange.trace); failure.Cause == registry.Timeout {
		return failure
	}
	status := exchange.Response.StatusCode
	if registry.StatusCause(status) != "" {
		return &Failure{Cause: registry.HTTPStatus, Detail: statusText(status, nil), status: status}
	}
	return &Failure{Cause: registry.ProtocolError, Detail: "the stream ended without the answer", status: status}
}

// reply answers a request of the server.
func (s *streamable) reply(ctx context.Context, request message) {
	answer, isDue := s.replyTo(request)
	if !isDue {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	if exchange, err := s.post(ctx, answer); err == nil {
		exchange.Close()
	}
}
