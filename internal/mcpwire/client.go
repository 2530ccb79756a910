// Package mcpwire owns Countersign's client of the Model Context Protocol over
// streamable HTTP: both protocol eras, how the right one is found, and how an
// answer is told from everything else that a server may send.
//
// It must not know what a probe concludes; it reports tools, or a Failure with
// a cause. Its one idea is distrust: every read, page, reply and wait is
// bounded by a named limit, and whatever a server opened for us is closed again.
package mcpwire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of what one client takes from a server.
const (
	MaxBytes       = 8 << 20  // bytes of all bodies together
	MaxEventBytes  = 4 << 20  // bytes of one server-sent event
	MaxHeaderBytes = 64 << 10 // bytes of the header of one answer
	MaxPages       = 256      // pages of a list
	MaxTools       = 10_000   // tools of a list
	MaxSessions    = 8        // sessions remembered in order to be closed
	MaxReplies     = 16       // answers given to requests of the server
	MaxWarnings    = 20       // warnings kept

	maxExcerpt  = 200     // bytes of an answer quoted in a detail
	maxVersion  = 64      // bytes of a protocol version
	maxAttempts = 5       // requests made to agree on an era and a version
	maxRefusal  = 4 << 10 // bytes read of the body of a refusal
)

// CloseTimeout bounds what Close takes, apart from the deadline of the probe.
const CloseTimeout = 2 * time.Second

// replyTimeout bounds an answer to a request of the server, because a server
// that handles one request at a time takes none while it streams.
const replyTimeout = time.Second

// Identity is how the client introduces itself.
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Report is what a client has learned, complete after Close.
type Report struct {
	Era             registry.Era
	ProtocolVersion string
	Server          registry.Server
	Timings         registry.Timings
	Warnings        []string
	SessionsOpened  int
	SessionsClosed  int
}

// Client speaks to one endpoint over connections of its own. It is for one
// probe and one goroutine: Handshake, Tools, Close, in this order.
type Client struct {
	endpoint *url.URL
	identity Identity
	http     *http.Client
	left     int64 // bytes that may still be read
	lastID   int64
	era      registry.Era // of the requests; reported once it is settled
	version  string
	replies  int
	settled  bool // the handshake is over
	traced   bool // the timings of the first exchange are in the report
	session  string
	sessions []string
	pending  *pending
	report   Report
}

// New returns a client of the endpoint. It does no I/O; Close it all the same.
func New(endpoint *url.URL, identity Identity) *Client {
	return &Client{endpoint: endpoint, identity: identity, http: NewHTTPClient(), left: MaxBytes}
}

// Report returns what was learned so far.
func (c *Client) Report() Report { return c.report }

func (c *Client) warn(format string, args ...any) {
	text := registry.Shorten(fmt.Sprintf(format, args...), registry.MaxDetail)
	if len(c.report.Warnings) < MaxWarnings && !slices.Contains(c.report.Warnings, text) {
		c.report.Warnings = append(c.report.Warnings, text)
	}
}

// call makes one request of the protocol and returns its result.
func (c *Client) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	c.lastID++
	id := c.lastID
	exchange, err := c.post(ctx, method, outgoing{ID: &id, Method: method, Params: c.complete(params)})
	if err != nil {
		return nil, err
	}
	defer exchange.Close()
	if refusal := exchange.refusal(); refusal != nil {
		return nil, refusal
	}
	return c.answer(ctx, exchange, id)
}

// complete adds what every request of the modern era carries.
func (c *Client) complete(params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	if c.era == registry.Modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    c.version,
			"io.modelcontextprotocol/clientCapabilities": struct{}{},
			"io.modelcontextprotocol/clientInfo":         c.identity,
		}
	}
	return params
}

// answer finds the answer to request id in the exchange and judges it.
func (c *Client) answer(ctx context.Context, exchange *Exchange, id int64) (json.RawMessage, error) {
	got, err := c.read(ctx, exchange, id)
	status := exchange.Response.StatusCode
	switch {
	case err != nil:
		return nil, err
	case got.err != nil:
		return nil, &Failure{Cause: c.phaseCause(), Detail: got.err.detail(), status: status, rpc: got.err}
	case registry.StatusCause(status) != "":
		return nil, &Failure{Cause: registry.Status, Detail: fmt.Sprintf("status %d", status), status: status}
	}
	return got.result, nil
}

// phaseCause is the cause of an error or an unusable result at this point.
func (c *Client) phaseCause() registry.Cause {
	if c.settled {
		return registry.ProtocolError
	}
	return registry.Handshake
}

func (c *Client) unusable(format string, args ...any) error {
	return &Failure{Cause: c.phaseCause(), Detail: fmt.Sprintf(format, args...)}
}

// notify sends a notification; any 2xx will do, and no answer is awaited.
func (c *Client) notify(ctx context.Context, method string) error {
	exchange, err := c.post(ctx, method, outgoing{Method: method})
	if err != nil {
		return err
	}
	defer exchange.Close()
	if refusal := exchange.refusal(); refusal != nil {
		return refusal
	}
	if status := exchange.Response.StatusCode; registry.StatusCause(status) != "" {
		return &Failure{Cause: c.phaseCause(), Detail: fmt.Sprintf("status %d to %s", status, method), status: status}
	}
	return nil
}
