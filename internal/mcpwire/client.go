// Package mcpwire owns Countersign's client of the Model Context Protocol over
// streamable HTTP, HTTP with server-sent events, and the standard streams of a
// process: both protocol eras, how the right one is found, and how an answer is
// told from everything else that a server may send.
//
// It must not know what a probe concludes; it reports tools, or a Failure with
// a cause. Its one idea is distrust: every read, page, reply and wait is
// bounded by a named limit, and whatever a server opened for us is closed again.
package mcpwire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of what one client takes from a server.
const (
	MaxBytes       = 8 << 20  // bytes of all bodies together
	MaxBodyBytes   = 2 << 20  // bytes of one answer in JSON
	MaxEventBytes  = 2 << 20  // bytes of one server-sent event
	MaxHeaderBytes = 64 << 10 // bytes of the header of one answer
	MaxPages       = 256      // pages of a list
	MaxTools       = 5_000    // tools of a list
	MaxSessions    = 8        // sessions remembered in order to be closed
	MaxReplies     = 16       // answers given to requests of the server
	MaxWarnings    = 20       // warnings kept

	maxExcerpt  = 200     // bytes of an answer quoted in a detail
	maxVersion  = 64      // bytes of a protocol version
	maxAttempts = 6       // requests made to agree on an era and a version
	maxRefusal  = 4 << 10 // bytes read of the body of a refusal
)

// Limits of what Close takes, apart from the deadline of the probe: a process
// is given time to end by itself, unless the probe was interrupted.
const (
	CloseTimeout        = 2 * time.Second
	ProcessCloseTimeout = 6 * time.Second
)

// replyTimeout bounds an answer to a request of the server, because a server
// that handles one request at a time takes none while it streams.
const replyTimeout = time.Second

// Identity is how the client introduces itself.
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Target is what a client speaks to: an endpoint, or else a command that it
// starts.
type Target struct {
	Endpoint *url.URL
	Command  Command // when there is no endpoint
}

// key tells targets apart in Eras.
func (t Target) key() string {
	if t.Endpoint != nil {
		return t.Endpoint.String()
	}
	return strings.Join(append([]string{t.Command.Dir, t.Command.Path}, t.Command.Args...), "\x00")
}

// Settings are what a client needs beside its target.
type Settings struct {
	Identity Identity
	Outlet   Outlet
	Eras     *Eras // nil to find out the era anew
}

// Report is what a client has learned, complete after Close.
type Report struct {
	Era             registry.Era
	Transport       registry.Transport
	ProtocolVersion string
	Server          registry.Server
	Timings         registry.Timings
	Warnings        []string
	SessionsOpened  int
	SessionsClosed  int

	ProcessesStarted int
	ProcessesEnded   int

	// FirstAnswer is what the first complete answer of any kind was, and
	// FirstAnswerAfter when it came; empty when there was none.
	FirstAnswer      string
	FirstAnswerAfter time.Duration
}

// Client speaks to one target over connections of its own. It is for one probe
// and one goroutine: Handshake, Tools, Call, Close, in this order.
type Client struct {
	*conversation

	target  Target
	outlet  Outlet
	eras    *Eras
	first   carrier // the one that needs no other to have failed
	carrier carrier // the one in use
	lastID  int64

	discovered bool  // server/discover was asked
	refusal    error // how initialize was refused before that
}

// New returns a client of the target. It does no I/O; Close it all the same.
func New(target Target, settings Settings) *Client {
	talk := &conversation{identity: settings.Identity, began: time.Now(), left: MaxBytes}
	client := &Client{conversation: talk, target: target, outlet: settings.Outlet, eras: settings.Eras}
	if target.Endpoint == nil {
		talk.report.Transport = registry.Stdio
		client.first = &stdio{conversation: talk, command: target.Command, recorder: settings.Outlet.Recorder}
	} else {
		talk.report.Transport = registry.StreamableHTTP
		client.first = &streamable{conversation: talk, endpoint: target.Endpoint, http: settings.Outlet.Client()}
	}
	client.carrier = client.first
	return client
}

// Report returns what was learned so far.
func (c *Client) Report() Report { return c.report }

// Close ends every session, stream and process that was opened and drops the
// connections. It takes at most CloseTimeout, or ProcessCloseTimeout when a
// process was started and ctx has not been cancelled. A session counts as closed
// once the server was told, whatever it answers.
func (c *Client) Close(ctx context.Context) {
	if c.carrier != c.first {
		c.carrier.close(ctx)
	}
	c.first.close(ctx)
}

// Ended is the failure of a server process that has ended although it was still
// wanted, or never began; nil for one that runs, and without a process.
func (c *Client) Ended() error {
	if process, ok := c.carrier.(*stdio); ok {
		return process.ended()
	}
	return nil
}

// call makes one request of the protocol and returns its result.
func (c *Client) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	return c.request(ctx, outgoing{Method: method, Params: params})
}

func (c *Client) request(ctx context.Context, request outgoing) (json.RawMessage, error) {
	c.lastID++
	id := c.lastID
	request.ID, request.Params = &id, c.complete(request.Params)
	got, status, err := c.carrier.ask(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case got.err != nil:
		return nil, &Failure{Cause: c.phaseCause(), Detail: got.err.detail(), status: status, rpc: got.err}
	case status != 0 && registry.StatusCause(status) != "":
		return nil, &Failure{Cause: registry.HTTPStatus, Detail: fmt.Sprintf("status %d", status), status: status}
	}
	return got.result, nil
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
