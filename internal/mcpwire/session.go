package mcpwire

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

const sessionHeader = "Mcp-Session-Id"

// opened remembers a session that the server opened, so that Close ends it.
func (c *Client) opened(id string) {
	if slices.Contains(c.sessions, id) {
		return
	}
	c.report.SessionsOpened++
	if !isVisibleASCII(id) || len(c.sessions) == MaxSessions {
		c.warn("the server opened a session that cannot be closed: its id is malformed or one of too many")
		return
	}
	c.sessions = append(c.sessions, id)
	c.session = id
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
func (c *Client) sendDetached(ctx context.Context, request *http.Request) (*Exchange, error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	seen := newTrace()
	request = prepared(detached, request, seen)
	p := &pending{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(p.done)
		response, err := c.http.Do(request) //nolint:bodyclose // the Exchange owns the body; its Close closes it
		if err != nil {
			p.err = err
			return
		}
		p.exchange = &Exchange{Response: response, trace: seen}
	}()
	select {
	case <-ctx.Done():
		c.pending = p
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

// Close ends every session that was opened and drops the connections. It takes
// at most CloseTimeout, also when ctx has ended. A session counts as closed
// once the server was told, whatever it answers.
func (c *Client) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTimeout)
	defer cancel()
	defer c.http.CloseIdleConnections()
	c.settlePending(ctx)
	failures := make([]error, len(c.sessions))
	var all sync.WaitGroup
	for i, id := range c.sessions {
		all.Go(func() { failures[i] = c.end(ctx, id) })
	}
	all.Wait()
	for _, err := range failures {
		c.report.SessionsClosed++
		if err != nil {
			c.warn("the server did not answer the end of its session: %v", err)
		}
	}
	c.sessions = nil
}

func (c *Client) settlePending(ctx context.Context) {
	p := c.pending
	if p == nil {
		return
	}
	c.pending = nil
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	<-p.done
	if p.exchange != nil {
		c.arrived(p.exchange)
		p.exchange.Close()
	}
	p.cancel()
}

func (c *Client) end(ctx context.Context, id string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.endpoint.String(), http.NoBody)
	if err != nil {
		return err
	}
	c.address(request)
	request.Header.Set(sessionHeader, id)
	exchange, err := Do(ctx, c.http, request)
	if err != nil {
		return err
	}
	exchange.Close()
	return nil
}
