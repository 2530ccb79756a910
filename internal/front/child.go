package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// child is one run of the server.
type child struct {
	process *mcpwire.Process
	log     *slog.Logger
	lastID  *atomic.Int64
	hello   hello                      // after greet
	claims  map[string]json.RawMessage // what each request to a child of the modern era says of its client; nil for a legacy one
	replies chan []byte

	gone chan struct{} // closed when no answer will come any more
	why  error         // after gone

	mu       sync.Mutex
	calls    map[int64]*call
	bindings map[string][]binding // by the name of the tool
}

// call is a request that waits for its answer.
type call struct {
	id       int64
	answered chan outcome         // takes one
	progress chan json.RawMessage // params of progress notifications; nil when nobody asked
}

// outcome is what a call came to: a result, an error of the child as it sent it,
// or a failure of ours to get either.
type outcome struct {
	result  json.RawMessage
	refusal json.RawMessage
	failed  error
}

func newChild(process *mcpwire.Process, lastID *atomic.Int64, log *slog.Logger) *child {
	return &child{
		process: process, log: log, lastID: lastID,
		replies:  make(chan []byte, maxReplies),
		gone:     make(chan struct{}),
		calls:    map[int64]*call{},
		bindings: map[string][]binding{},
	}
}

// pump takes in what the child says, until it ends or ctx is done.
func (c *child) pump(ctx context.Context) {
	defer close(c.gone)
	for {
		message, err := c.process.Receive(ctx)
		failure, failed := errors.AsType[*mcpwire.Failure](err)
		switch {
		case !failed:
			c.take(ctx, message)
		case failure.Cause == registry.TooLarge && ctx.Err() == nil:
			c.log.WarnContext(ctx, "a message of the child was dropped", slog.String("cause", failure.Detail))
			c.settle(message.ID, outcome{failed: errors.New("the server's answer is too large: " + failure.Detail)})
		default:
			c.why = err
			return
		}
	}
}

// take leads a message to whom it is for.
func (c *child) take(ctx context.Context, message mcpwire.Message) {
	switch {
	case message.Method == "" && message.Error != nil:
		c.settle(message.ID, outcome{refusal: message.Error})
	case message.Method == "":
		c.settle(message.ID, outcome{result: message.Result})
	case message.ID != nil:
		c.reply(ctx, message)
	case message.Method == "notifications/progress":
		c.forward(message.Params)
	default:
		c.log.DebugContext(ctx, "a notification of the child goes to nobody", slog.String("method", registry.Shorten(message.Method, maxLabel)))
	}
}

// settle ends a call. An answer to nothing that was asked, or to something that
// was answered or cancelled, goes to nobody.
func (c *child) settle(id json.RawMessage, came outcome) {
	number, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return
	}
	if waiting := c.forget(number); waiting != nil {
		waiting.answered <- came
	}
}

func (c *child) forget(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.calls[id]
	delete(c.calls, id)
	return waiting
}

// forward hands progress to the call whose token it bears. A client that is too
// slow misses some of it: the child is not to wait for a client.
func (c *child) forward(params json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return
	}
	token, err := strconv.ParseInt(string(members["progressToken"]), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.calls[token]
	if waiting == nil || waiting.progress == nil {
		return
	}
	select {
	case waiting.progress <- params:
	default:
	}
}

// codeMethodNotFound and the others are of JSON-RPC 2.0 and of the protocol.
const (
	codeParseError         = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
	codeLegacyNotFound     = -32002 // a resource that is not there, before 2026-07-28
)

// reply answers a request of the child: behind a front there is no client that
// it could ask.
func (c *child) reply(ctx context.Context, request mcpwire.Message) {
	answer := []byte(`{}`)
	member := "result"
	if request.Method != "ping" {
		member = "error"
		answer = encode(wireError{Code: codeMethodNotFound, Message: fmt.Sprintf(
			"%.100s has nobody to answer it: many clients share this server, and no capability was declared", request.Method)})
		c.log.InfoContext(ctx, "a request of the child was refused", slog.String("method", registry.Shorten(request.Method, maxLabel)))
	}
	select {
	case c.replies <- envelope(request.ID, member, answer):
	default:
	}
}

// answer sends the replies, apart from pump, which must not wait for the child
// to read.
func (c *child) answer(ctx context.Context) {
	for {
		select {
		case reply := <-c.replies:
			_ = c.process.Send(ctx, reply) // it fails when the child has ended
		case <-c.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// start sends a request. With progress its token is set to the id. Whoever
// starts a call ends it with await or cancel.
func (c *child) start(ctx context.Context, method string, params params, progress bool) (*call, error) {
	started := &call{id: c.lastID.Add(1), answered: make(chan outcome, 1)}
	if c.claims != nil {
		params = params.claiming(c.claims)
	}
	if progress {
		started.progress = make(chan json.RawMessage, maxProgress)
		params.meta = maps.Clone(params.meta)
		params.meta["progressToken"] = strconv.AppendInt(nil, started.id, 10)
	} else if _, asked := params.meta["progressToken"]; asked {
		params.meta = maps.Clone(params.meta)
		delete(params.meta, "progressToken")
	}
	c.mu.Lock()
	c.calls[started.id] = started
	c.mu.Unlock()
	text := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      int64           `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", started.id, method, params.encode()})
	if err := c.process.Send(ctx, text); err != nil {
		c.forget(started.id)
		return nil, err
	}
	return started, nil
}

// cancel tells the child that nobody waits for the call any more.
func (c *child) cancel(ctx context.Context, abandoned *call, reason string) {
	if c.forget(abandoned.id) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendLimit)
	defer cancel()
	c.notify(ctx, "notifications/cancelled", map[string]any{"requestId": abandoned.id, "reason": reason})
}

func (c *child) notify(ctx context.Context, method string, params any) {
	// It fails when the child has ended or does not read, which shows elsewhere.
	_ = c.process.Send(ctx, encode(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", method, params}))
}

// await waits for the outcome of a call and passes its progress on. When ctx is
// done it cancels the call.
func (c *child) await(ctx context.Context, waiting *call, progress func(json.RawMessage)) outcome {
	for {
		select {
		case came := <-waiting.answered:
			drain(waiting.progress, progress)
			return came
		case params := <-waiting.progress:
			progress(params)
		case <-c.gone:
			return c.last(waiting)
		case <-ctx.Done():
			cause := whyDone(ctx)
			c.cancel(ctx, waiting, cause.Error())
			return outcome{failed: cause}
		}
	}
}

// drain passes on the progress that came before the answer.
func drain(from <-chan json.RawMessage, progress func(json.RawMessage)) {
	for {
		select {
		case params := <-from:
			progress(params)
		default:
			return
		}
	}
}

// last is the outcome of a call whose child has ended: its answer may have come
// just before.
func (c *child) last(waiting *call) outcome {
	c.forget(waiting.id)
	select {
	case came := <-waiting.answered:
		return came
	default:
		return outcome{failed: fmt.Errorf("the server ended during the call: %w", c.why)}
	}
}

// ask makes one call without progress.
func (c *child) ask(ctx context.Context, method string, params params) outcome {
	waiting, err := c.start(ctx, method, params, false)
	if err != nil {
		return outcome{failed: err}
	}
	return c.await(ctx, waiting, nil)
}
