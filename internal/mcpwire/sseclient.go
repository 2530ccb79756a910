package mcpwire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// eventStream carries messages over HTTP with server-sent events, as the
// revision 2024-11-05 has it: one GET stays open and brings every answer, and
// messages are posted to an address that its first event names.
type eventStream struct {
	*conversation

	http     *http.Client
	messages *url.URL
	exchange *Exchange
	events   *eventReader
	end      context.CancelFunc // of the GET
	over     error              // why the stream can bring no more
}

var errNoStream = errors.New("the address offers no event stream")

// openStream opens the stream at the address and learns where messages go. An
// error that is no *Failure says that the address offers no such stream.
func openStream(ctx context.Context, talk *conversation, client *http.Client, at *url.URL) (*eventStream, error) {
	s := &eventStream{conversation: talk, http: client}
	if err := s.open(ctx, at); err != nil {
		client.CloseIdleConnections()
		return nil, err
	}
	if err := s.learnEndpoint(ctx, at); err != nil {
		s.drop()
		client.CloseIdleConnections()
		return nil, err
	}
	talk.report.SessionsOpened++
	talk.answered("an event stream")
	return s, nil
}

func (s *eventStream) open(ctx context.Context, at *url.URL) error {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	request, err := http.NewRequestWithContext(lifetime, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		cancel()
		return &Failure{Cause: registry.Unreachable, Detail: "the endpoint's address is unusable", err: err}
	}
	request.Header.Set("Accept", "text/event-stream")
	s.introduceIn(request)
	exchange, err := Do(lifetime, s.http, request)
	if err == nil && (registry.StatusCause(exchange.Response.StatusCode) != "" || !exchange.isType("text/event-stream")) {
		exchange.Close()
		err = errNoStream
	}
	if !stop() || err != nil {
		cancel()
		if ctx.Err() != nil {
			return late(ctx, "for the event stream")
		}
		return err
	}
	exchange.Response.Body = &meteredBody{exchange.Response.Body, &s.left}
	s.exchange, s.events, s.end = exchange, newEventReader(exchange.Response.Body), cancel
	return nil
}

// late is the failure of what did not come before ctx ended.
func late(ctx context.Context, what string) *Failure {
	detail := "the time ran out while waiting " + what
	if errors.Is(ctx.Err(), context.Canceled) {
		detail = "interrupted while waiting " + what
	}
	return &Failure{Cause: registry.Timeout, Detail: detail, err: ctx.Err()}
}

// learnEndpoint waits for the event that names where messages go. Half of the
// time must do, since there are streams that never name it.
func (s *eventStream) learnEndpoint(ctx context.Context, at *url.URL) error {
	half, cancel := halfOf(ctx)
	defer cancel()
	for {
		got, err := s.next(half)
		switch {
		case err != nil && ctx.Err() != nil:
			return late(ctx, "for the event that names the endpoint")
		case err != nil:
			return errNoStream
		case got.name != "endpoint":
			continue
		}
		s.messages, err = at.Parse(string(got.data))
		if err != nil {
			return s.unusable("the endpoint event holds no address: %s", excerpt(got.data))
		}
		if s.messages.Scheme != at.Scheme || s.messages.Host != at.Host || s.messages.User != nil {
			return s.unusable("the endpoint event leads to another origin: %s", excerpt([]byte(s.messages.Scheme+"://"+s.messages.Host)))
		}
		return nil
	}
}

// next reads one event, as long as ctx lasts. When ctx ends so does the stream.
func (s *eventStream) next(ctx context.Context) (event, error) {
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	return s.events.next()
}

func (*eventStream) fresh(context.Context) error { return nil }

// ask posts the request and reads the stream at the same time, because a server
// may wait for its answer to be read before it answers the POST.
func (s *eventStream) ask(ctx context.Context, request outgoing) (message, int, error) {
	if s.over != nil {
		return message{}, 0, s.over
	}
	posting, cancel := context.WithCancel(ctx)
	defer cancel()
	reading, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		if err := s.tell(posting, request); err != nil {
			enough(err)
		}
	}()
	got, err := s.answer(reading, *request.ID)
	refused, isRefused := errors.AsType[*Failure](context.Cause(reading))
	if err == nil {
		waiting := time.AfterFunc(replyTimeout, cancel)
		defer waiting.Stop()
	} else {
		cancel()
	}
	<-posted
	if err == nil {
		return got, 0, nil
	}
	s.over = s.streamFailure(ctx, err)
	if isRefused && ctx.Err() == nil {
		s.over = refused
	}
	return message{}, 0, s.over
}

// answer reads up to the answer to request id.
func (s *eventStream) answer(ctx context.Context, id int64) (message, error) {
	for {
		got, err := s.next(ctx)
		if err != nil {
			return message{}, err
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
		case answer.isAnonymousError():
			s.warn("the server sent an error that names no request: %s", answer.err.detail())
		case answer.method != "" && answer.id != nil:
			s.reply(ctx, answer)
		}
	}
}

func (s *eventStream) reply(ctx context.Context, request message) {
	if answer, isDue := s.replyTo(request); isDue {
		ctx, cancel := context.WithTimeout(ctx, replyTimeout)
		defer cancel()
		_ = s.tell(ctx, answer) // the server goes on without it, or does not
	}
}

func (s *eventStream) streamFailure(ctx context.Context, err error) error {
	switch known, ok := errors.AsType[*Failure](err); {
	case ok:
		return known
	case ctx.Err() != nil:
		return late(ctx, "for the answer on the event stream")
	}
	return &Failure{Cause: registry.ProtocolError, Detail: "the stream ended without the answer"}
}

// tell posts one message; any 2xx will do.
func (s *eventStream) tell(ctx context.Context, message outgoing) error {
	request, err := newPost(ctx, s.messages, message)
	if err != nil {
		return err
	}
	s.introduceIn(request)
	exchange, err := Do(ctx, s.http, request)
	if err != nil {
		return err
	}
	defer exchange.Close()
	if refusal := exchange.refusal(); refusal != nil {
		return refusal
	}
	if status := exchange.Response.StatusCode; registry.StatusCause(status) != "" {
		return &Failure{Cause: registry.HTTPStatus, Detail: fmt.Sprintf("status %d to a message", status), status: status}
	}
	return nil
}

// close ends the stream, which is the end of the session.
func (s *eventStream) close(context.Context) {
	s.drop()
	s.http.CloseIdleConnections()
	s.report.SessionsClosed++
}

func (s *eventStream) drop() {
	s.end()
	s.exchange.Close()
}
