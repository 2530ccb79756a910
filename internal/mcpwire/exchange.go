package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// NewHTTPClient returns a client with connections of its own that follows no
// redirect, asks for no compression (a small body stays a small body) and goes
// through no proxy of the environment: what is probed is the address itself.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: MaxHeaderBytes},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Exchange is one request and its answer. Close it.
type Exchange struct {
	Response *http.Response
	trace    *trace
}

// Do sends the request, bound to ctx. An error is a *Failure.
func Do(ctx context.Context, client *http.Client, request *http.Request) (*Exchange, error) {
	seen := newTrace()
	response, err := client.Do(prepared(ctx, request, seen)) //nolint:bodyclose // the Exchange owns the body; its Close closes it
	if err != nil {
		return nil, explain(ctx, err, seen)
	}
	return &Exchange{Response: response, trace: seen}, nil
}

func prepared(ctx context.Context, request *http.Request, seen *trace) *http.Request {
	request.Header.Set("Accept-Encoding", "identity")
	return request.WithContext(seen.follow(ctx))
}

// Close ends the exchange, also in the middle of an answer.
func (e *Exchange) Close() { _ = e.Response.Body.Close() }

// ErrBroken says that a body ended before its end.
var ErrBroken = errors.New("the connection broke in the middle of the answer")

// ReadAll reads the body. A body of more than limit bytes and a time-out are a
// *Failure; a body that breaks off is returned as far as it came, with ErrBroken.
func (e *Exchange) ReadAll(ctx context.Context, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(e.Response.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return nil, tooLarge(limit)
	case err == nil:
		return body, nil
	}
	if failure, known := errors.AsType[*Failure](err); known {
		return nil, failure
	}
	if failure := explain(ctx, err, e.trace); failure.Cause == registry.Timeout {
		return nil, failure
	}
	return body, ErrBroken
}

func tooLarge(limit int64) *Failure {
	return &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the answer is larger than %d bytes", limit)}
}

// refusal is the failure of an answer whose status alone decides: a redirect,
// missing credentials or rights, too many requests. Nil for any other.
func (e *Exchange) refusal() error {
	cause := registry.StatusCause(e.Response.StatusCode)
	if cause == "" || cause == registry.Status {
		return nil
	}
	return &Failure{Cause: cause, Detail: e.StatusDetail(), status: e.Response.StatusCode}
}

// StatusDetail names the status and what the header says about it: where a
// redirect leads, what credentials are asked for, when to come again. Of a 403
// it quotes the text, since that often names the host that is admitted.
func (e *Exchange) StatusDetail() string {
	status := e.Response.StatusCode
	detail := fmt.Sprintf("status %d", status)
	name := ""
	switch {
	case registry.StatusCause(status) == registry.Redirect:
		name = "Location"
	case status == http.StatusUnauthorized:
		name = "WWW-Authenticate"
	case status == http.StatusTooManyRequests:
		name = "Retry-After"
	case status == http.StatusForbidden:
		body, _ := io.ReadAll(io.LimitReader(e.Response.Body, maxRefusal))
		if text := excerpt(body); text != "" {
			detail += ": " + text
		}
	}
	if value := e.Response.Header.Get(name); name != "" && value != "" {
		detail += "; " + name + ": " + value
	}
	return registry.Shorten(detail, registry.MaxDetail)
}

// post sends one message with the headers of the era.
func (c *Client) post(ctx context.Context, method string, message outgoing) (*Exchange, error) {
	body, err := message.encode()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Failure{Cause: registry.Unreachable, Detail: "the endpoint's address is unusable", err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	c.address(request)
	if c.era == registry.Modern {
		request.Header.Set("Mcp-Method", method)
	}
	exchange, err := c.send(ctx, request, method == initialize)
	if err != nil {
		return nil, err
	}
	c.arrived(exchange)
	return exchange, nil
}

// address adds who we are and what was agreed.
func (c *Client) address(request *http.Request) {
	request.Header.Set("User-Agent", c.identity.Name+"/"+c.identity.Version)
	if c.session != "" {
		request.Header.Set(sessionHeader, c.session)
	}
	if c.version != "" {
		request.Header.Set("MCP-Protocol-Version", c.version)
	}
}

func (c *Client) send(ctx context.Context, request *http.Request, opensSession bool) (*Exchange, error) {
	if opensSession {
		return c.sendDetached(ctx, request)
	}
	return Do(ctx, c.http, request)
}

// arrived keeps what the header of an answer says.
func (c *Client) arrived(exchange *Exchange) {
	if !c.traced {
		c.traced = true
		c.report.Timings = exchange.trace.timings()
	}
	if id := exchange.Response.Header.Get(sessionHeader); id != "" {
		c.opened(id)
	}
}

// isType reports whether the body claims to be of the media type.
func (e *Exchange) isType(kind string) bool {
	claimed, _, _ := strings.Cut(e.Response.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(claimed), kind)
}
