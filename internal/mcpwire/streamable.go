package mcpwire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/internal/registry"
)

// streamable carries messages over streamable HTTP, of both eras.
type streamable struct {
	*conversation

	endpoint *url.URL
	http     *http.Client
	traced   bool // the timings of the first exchange are in the report
	session  string
	sessions []string
	pending  *pending
}

func (*streamable) fresh(context.Context) error { return nil }

func (s *streamable) ask(ctx context.Context, request outgoing) (message, int, error) {
	exchange, err := s.post(ctx, request)
	if err != nil {
		return message{}, 0, err
	}
	defer exchange.Close()
	if refusal := exchange.refusal(); refusal != nil {
		s.answered(fmt.Sprintf("status %d", exchange.Response.StatusCode))
		return message{}, 0, refusal
	}
	got, err := s.read(ctx, exchange, *request.ID)
	return got, exchange.Response.StatusCode, err
}

// tell sends a message; any 2xx will do.
func (s *streamable) tell(ctx context.Context, message outgoing) error {
	exchange, err := s.post(ctx, message)
	if err != nil {
		return err
	}
	defer exchange.Close()
	if refusal := exchange.refusal(); refusal != nil {
		return refusal
	}
	if status := exchange.Response.StatusCode; registry.StatusCause(status) != "" {
		return &Failure{Cause: s.phaseCause(), Detail: fmt.Sprintf("status %d to %s", status, message.Method), status: status}
	}
	return nil
}

// post sends one message with the headers of the era.
func (s *streamable) post(ctx context.Context, message outgoing) (*Exchange, error) {
	request, err := newPost(ctx, s.endpoint, message)
	if err != nil {
		return nil, err
	}
	s.address(request)
	if s.era == registry.Modern {
		request.Header.Set("Mcp-Method", message.Method)
		for name, value := range message.Headers {
			request.Header.Set(name, headerValue(value))
		}
	}
	send := func() (*Exchange, error) { return Do(ctx, s.http, request) }
	if message.Method == initialize {
		send = func() (*Exchange, error) { return s.sendDetached(ctx, request) }
	}
	exchange, err := send()
	if err != nil {
		return nil, err
	}
	s.arrived(exchange)
	return exchange, nil
}

// newPost is a request that carries one message.
func newPost(ctx context.Context, to *url.URL, message outgoing) (*http.Request, error) {
	body, err := message.encode()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", message.Method, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Failure{Cause: registry.Unreachable, Detail: "the endpoint's address is unusable", err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	return request, nil
}

// address adds who we are and what was agreed.
func (s *streamable) address(request *http.Request) {
	s.introduceIn(request)
	if s.session != "" {
		request.Header.Set(sessionHeader, s.session)
	}
}

func (c *conversation) introduceIn(request *http.Request) {
	request.Header.Set("User-Agent", c.identity.Name+"/"+c.identity.Version)
	if c.version != "" {
		request.Header.Set("MCP-Protocol-Version", c.version)
	}
}

// arrived keeps what the header of an answer says.
func (s *streamable) arrived(exchange *Exchange) {
	if !s.traced {
		s.traced = true
		handshake := s.report.Timings.HandshakeMs
		s.report.Timings = exchange.trace.timings()
		s.report.Timings.HandshakeMs = handshake
	}
	if id := exchange.Response.Header.Get(sessionHeader); id != "" {
		s.opened(id)
	}
}
