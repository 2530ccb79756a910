package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// maxUnderWay is how many calls of one stdio client are worked on at a time; no
// further line is read until one of them is answered.
const maxUnderWay = 64

// drainLimit is how long a connection that ends waits for the calls under way and
// for its client to read their answers. A call that may take longer is then
// broken off.
const drainLimit = callLimit + 5*time.Second

// errUnread says that a connection ended and its client did not read.
var errUnread = errors.New("the client does not read")

// connection is the SDK's view of a stdio client. It stands between the lines
// and the SDK: what the SDK would not survive, lose or answer wrongly is
// answered here. Both write through send, so that no two lines mix.
type connection struct {
	lines <-chan line
	stop  <-chan struct{}
	queue []jsonrpc.Message // of the last line; touched by Read only

	observer Observer

	slots   chan struct{} // one for each call under way
	closed  chan struct{}
	close   func()
	drains  time.Duration // drainLimit
	unread  chan struct{} // closed when nobody waits any more for the client to read
	abandon func()        // closes unread

	pending struct {
		sync.Mutex
		calls map[jsonrpc.ID]*batch // nil for a call of its own
	}
	writing chan struct{} // holds one token while a line is written
	out     io.Writer
}

// batch gathers the answers to the calls of one line. pending guards it.
type batch struct {
	open    int
	answers [][]byte
}

func newConnection(lines <-chan line, stop <-chan struct{}, out io.Writer, drains time.Duration, observer Observer) *connection {
	c := &connection{
		lines: lines, stop: stop, out: out, drains: drains, observer: observer,
		slots:   make(chan struct{}, maxUnderWay),
		closed:  make(chan struct{}),
		unread:  make(chan struct{}),
		writing: make(chan struct{}, 1),
	}
	c.close = sync.OnceFunc(func() { close(c.closed) })
	c.abandon = sync.OnceFunc(func() { close(c.unread) })
	c.pending.calls = map[jsonrpc.ID]*batch{}
	return c
}

// Connect makes a connection its own transport.
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is empty: a stdio process is one session.
func (c *connection) SessionID() string { return "" }

// Close makes Read return.
func (c *connection) Close() error {
	c.close()
	return nil
}

// Read returns the next message that the SDK is to serve, and io.EOF after the
// last one is answered. The SDK cancels what is under way when Read fails, and
// writes no answer after that, so the end is held back.
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			return c.admit(next)
		}
		select {
		case next, more := <-c.lines:
			if !more {
				c.drain()
				return nil, io.EOF
			}
			if err := c.accept(next); err != nil {
				return nil, err
			}
		case <-c.stop:
			c.drain()
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// admit waits until a call may be worked on.
func (c *connection) admit(message jsonrpc.Message) (jsonrpc.Message, error) {
	if request, ok := message.(*jsonrpc.Request); !ok || !request.IsCall() {
		return message, nil
	}
	select {
	case c.slots <- struct{}{}:
		return message, nil
	case <-c.stop:
		c.drain()
		return nil, io.EOF
	case <-c.closed:
		return nil, io.EOF
	}
}

// drain waits until nothing is under way, which is when every slot is free. It is
// the last thing that Read does.
func (c *connection) drain() {
	defer c.abandon()
	patience := time.NewTimer(c.drains)
	defer patience.Stop()
	for range maxUnderWay {
		select {
		case c.slots <- struct{}{}:
		case <-patience.C:
			return
		case <-c.closed:
			return
		}
	}
}

// outlast sees to it that a connection which is to stop ends although its client
// does not read, also while Read waits for that.
func (c *connection) outlast(left <-chan struct{}) {
	select {
	case <-c.stop:
	case <-left:
		return
	}
	patience := time.NewTimer(c.drains)
	defer patience.Stop()
	select {
	case <-patience.C:
		c.abandon()
	case <-left:
	}
}

// accept queues the messages of a line for the SDK and answers the others.
func (c *connection) accept(next line) error {
	if next.long {
		return c.send(c.refuse(tooLong(nil)))
	}
	if len(next.text) > task.MaxRequest {
		c.observer.Refused(fault.TooLarge)
		return c.send(refuseLong(next.text))
	}
	parts, together, refusal := split(next.text)
	if refusal != nil {
		return c.send(c.refuse(refusal))
	}
	var group *batch
	if together {
		group = new(batch)
	}
	for _, part := range parts {
		message, refusal := c.decode(part, group)
		switch {
		case refusal == nil:
			c.queue = append(c.queue, message)
		case group == nil:
			return c.send(c.refuse(refusal))
		default:
			group.answers = append(group.answers, c.refuse(refusal))
		}
	}
	if group != nil && group.open == 0 && len(group.answers) > 0 {
		return c.send(joined(group.answers))
	}
	return nil
}

// refuse tells of a refusal and returns its answer.
func (c *connection) refuse(refusal *refused) []byte {
	c.observer.Refused(refusal.faultCode())
	return refusal.encode()
}

// decode checks and decodes one message and notes that a call waits for its answer.
func (c *connection) decode(raw json.RawMessage, group *batch) (jsonrpc.Message, *refused) {
	if refusal := inspect(raw, group != nil); refusal != nil {
		return nil, refusal
	}
	message, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		id, _ := salvage(raw)
		return nil, notRequest(id, schema.Shortened(err.Error()))
	}
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return message, nil
	}
	c.pending.Lock()
	defer c.pending.Unlock()
	if _, taken := c.pending.calls[request.ID]; taken {
		// With the id, this would be taken for the answer to the first call.
		return nil, notRequest(nil, fmt.Sprintf("id %s is that of a call under way", schema.Shortened(fmt.Sprint(request.ID.Raw()))))
	}
	c.pending.calls[request.ID] = group
	if group != nil {
		group.open++
	}
	return message, nil
}

// Write sends what the SDK has to say.
func (c *connection) Write(_ context.Context, message jsonrpc.Message) error {
	response, ok := message.(*jsonrpc.Response)
	if ok && response.Error != nil {
		response = &jsonrpc.Response{ID: response.ID, Error: wireError(response.Error)}
		message = response
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode a message to the client: %w", err)
	}
	if !ok {
		return c.send(data)
	}
	defer func() { <-c.slots }()
	if data = c.settle(response.ID, data); data == nil {
		return nil
	}
	return c.send(data)
}

// settle forgets a call and returns what is to be sent now: its answer, or that
// of its whole batch, or nothing yet. The id is free before the answer is sent,
// since the client may use it again from then on.
func (c *connection) settle(id jsonrpc.ID, data []byte) []byte {
	c.pending.Lock()
	defer c.pending.Unlock()
	group := c.pending.calls[id]
	delete(c.pending.calls, id)
	if group == nil {
		return data
	}
	group.answers = append(group.answers, data)
	group.open--
	if group.open > 0 {
		return nil
	}
	return joined(group.answers)
}

// send writes one line. A client that does not read makes it wait, until the
// connection ends and has waited long enough: a write cannot be broken off, so
// its goroutine is then left to end with the process.
func (c *connection) send(data []byte) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.unread:
		return errUnread
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.out.Write(append(slices.Clip(data), '\n'))
		<-c.writing
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("write a message to the client: %w", err)
		}
		return nil
	case <-c.unread:
		return errUnread
	}
}

// joined makes a batch of answers.
func joined(answers [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'})
}

// refuseLong answers a line over the limit. A tool call is answered by a tool
// error, which unlike a protocol error reaches the agent that can shorten it.
func refuseLong(text []byte) []byte {
	id, method := salvage(text)
	if id == nil || method != methodCall {
		return tooLong(id).encode()
	}
	result := failure(task.TooLarge("request", task.LimitRequest))
	return encode(answer{Version: "2.0", ID: id, Result: result})
}
