package mcpwire

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

const sessionHeader = "Mcp-Session-Id"

// opened remembers a session that the server opened, so that Close ends it.
func (s *streamable) opened(id string) {
	if slices.Contains(s.sessions, id) {
		return
	}
	s.report.SessionsOpened++
	if !isVisibleASCII(id) || len(s.sessions) == MaxSessions {
		s.warn("the server opened a session that cannot be closed: its id is malformed or one of too many")
		return
	}
	s.sessions = append(s.sessions, id)
	s.session = id
}

// isVisibleASCII is what the specification asks of a session id.
func isVisibleASCII(id string) bool {
	return !slices.ContainsFunc([]byte(id), func(b byte) bool { return b < 0x21 || b > 0x7e })
}

// pending is a request whose answer may still open a session.
type pending struct {
	done     chan struct{}
	cancel   context.CancelFunc
	exchange *Exchange
	err      error
}

// sendDetached sends a request that may open a session. When ctx ends first,
// the request lives on until Close, because a session whose id never arrived
// could not be closed.
func (s *streamable) sendDetached(ctx context.Context, request *http.Request) (*Exchange, error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	seen := newTrace()
	request = prepared(detached, request, seen)
	p := &pending{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(p.done)
		response, err := s.http.Do(request) //nolint:bodyclose // the Exchange owns the body; its Close closes it
		if err != nil {
			p.err = err
			return
		}
		p.exchange = &Exchange{Response: response, trace: seen}
	}()
	select {
	case <-ctx.Done():
		s.pending = p
		return nil, explain(ctx, ctx.Err(), seen)
	case <-p.done:
	}
	if p.err != nil {
		cancel()
		return nil, explain(ctx, p.err, seen)
	}
	p.exchange.Response.Body = &boundBody{
		ReadCloser: p.exchange.Response.Body, cancel: cancel, release: context.AfterFunc(ctx, cancel),
	}
	return p.exchange, nil
}

// close ends every session that was opened and drops the connections.
func (s *streamable) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTimeout)
	defer cancel()
	defer s.http.CloseIdleConnections()
	s.settlePending(ctx)
	failures := make([]error, len(s.sessions))
	var all sync.WaitGroup
	for i, id := range s.sessions {
		all.Go(func() { failures[i] = s.end(ctx, id) })
	}
	all.Wait()
	for _, err := range failures {
		s.report.SessionsClosed++
		if err != nil {
			s.warn("the server did not answer the end of its session: %v", err)
		}
	}
	s.sessions = nil
}

func (s *streamable) settlePending(ctx context.Context) {
	p := s.pending
	if p == nil {
		return
	}
	s.pending = nil
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	<-p.done
	if p.exchange != nil {
		s.arrived(p.exchange)
		p.exchange.Close()
	}
	p.cancel()
}

func (s *streamable) end(ctx context.Context, id string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.endpoint.String(), http.NoBody)
	if err != nil {
		return err
	}
	s.address(request)
	request.Header.Set(sessionHeader, id)
	exchange, err := Do(ctx, s.http, request)
	if err != nil {
		return err
	}
	exchange.Close()
	return nil
}
