package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Message is a JSON-RPC message of a process: a request (ID and Method), a
// notification (Method), an answer (ID, and Result or Error), or an error that
// names no request (Error alone). Members are kept as they were sent, nil when
// they are absent.
type Message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// received is a message, or why there is none.
type received struct {
	message Message
	err     error
}

// Receive returns the next message. What else the process writes is left aside
// and counted, see Warnings. An error is a *Failure: process_exit when it has
// ended, with its last words; protocol_error when it closed its output and runs
// on; timeout; or too_large, after which the next messages can be received, for
// a line over MaxLineBytes. The Message then holds the ID, if it could be found.
func (p *Process) Receive(ctx context.Context) (Message, error) {
	select {
	case got, more := <-p.messages:
		if more {
			return got.message, got.err
		}
		return Message{}, p.over(ctx, "standard output")
	case <-ctx.Done():
		if p.within.Load() {
			return Message{}, lineTooLong()
		}
		return Message{}, p.late(ctx, "an answer")
	}
}

// over explains why nothing more is to be had.
func (p *Process) over(ctx context.Context, stream string) *Failure {
	timer := time.NewTimer(closedLimit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return p.ended()
	default:
	}
	select {
	case <-p.exited:
		return p.ended()
	case <-timer.C:
		return p.failure(registry.ProtocolError, "the process closed its "+stream+" and runs on")
	case <-ctx.Done():
		return p.late(ctx, "the process to end")
	}
}

// ended says why the process has ended. One that was not read any further, since
// its line had no end, dies of that.
func (p *Process) ended() *Failure {
	if p.flooded.Load() {
		return lineTooLong()
	}
	return p.failure(registry.ProcessExit, p.exit.String())
}

func (p *Process) late(ctx context.Context, what string) *Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return p.failure(registry.Timeout, "interrupted while waiting for "+what)
	}
	return p.failure(registry.Timeout, "the time ran out while waiting for "+what)
}

// failure quotes the last words of the process.
func (p *Process) failure(cause registry.Cause, detail string) *Failure {
	if words := p.Stderr(); words != "" {
		detail += "; standard error: " + strings.ReplaceAll(words, "\n", "; ")
	}
	return &Failure{Cause: cause, Detail: registry.Shorten(detail, registry.MaxDetail)}
}

func lineTooLong() *Failure {
	return &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("a message is larger than %d bytes", MaxLineBytes)}
}

// read is the only reader of standard output. It reads on while the process
// ends, so that a full pipe does not keep it from ending.
func (p *Process) read() {
	defer func() { _ = p.stdout.Close() }()
	defer close(p.messages)
	in := lineReader{in: bufio.NewReaderSize(p.stdout, 64<<10), within: &p.within}
	for {
		text, err := in.next()
		if errors.Is(err, bufio.ErrBufferFull) {
			p.flooded.Store(true)
		}
		if got, isOne := p.take(text); isOne {
			select {
			case p.messages <- got:
			case <-p.closing:
			}
		}
		if err != nil {
			return
		}
	}
}

// take makes a message of a line, or counts it.
func (p *Process) take(got line) (received, bool) {
	text := bytes.TrimSpace(bytes.TrimPrefix(got.text, []byte("\ufeff")))
	switch {
	case got.long:
		return received{Message{ID: got.id}, lineTooLong()}, true
	case len(text) == 0:
		return received{}, false
	}
	read, isMessage := decodeMessage(text)
	if !isMessage {
		p.odd.junk(text, p.redact)
		return received{}, false
	}
	message := Message{ID: read.id, Method: read.method, Result: read.result}
	switch {
	case read.method != "":
		message.Params = member(text, "params")
	case read.err != nil:
		message.Error = member(text, "error")
	}
	if message.Method == "" && message.Error == nil && (message.ID == nil || isNull(message.ID)) {
		p.odd.anonymous()
		return received{}, false
	}
	return received{message, nil}, true
}

// member is one member of a JSON object; its name is matched case-sensitively.
func member(object []byte, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members)
	return members[name]
}

// line is one line without its end. Of a line over MaxLineBytes only the id of
// the message is kept.
type line struct {
	text []byte
	long bool
	id   json.RawMessage
}

// longLine is the size from which on a line gets all the room that one may have,
// in bytes.
const longLine = 512 << 10

// roomy gives a long line all the room at once: one that grows by and by is held
// twice while it is moved.
func roomy(text []byte, limit int) []byte {
	if len(text) >= longLine && cap(text) < limit {
		return slices.Grow(text, limit-len(text))
	}
	return text
}

// lineReader reads lines in bounded memory.
type lineReader struct {
	in     *bufio.Reader
	within interface{ Store(val bool) } // told when a line is too long, and at its end
}

// next returns the next line; a last line without an end is a line. It fails
// with io.EOF and the like, and when a line passes MaxSkipped.
func (r *lineReader) next() (line, error) {
	var got line
	var finder idFinder
	size := 0
	for {
		chunk, err := r.in.ReadSlice('\n')
		size += len(chunk)
		if !got.long && size > MaxLineBytes {
			finder.feed(got.text)
			got = line{long: true}
			r.within.Store(true)
		}
		if got.long {
			finder.feed(chunk)
		} else {
			got.text = append(roomy(got.text, MaxLineBytes), chunk...)
		}
		if errors.Is(err, bufio.ErrBufferFull) && size <= MaxSkipped {
			continue
		}
		got.id = finder.id()
		if err == nil {
			r.within.Store(false)
		}
		return got, err
	}
}

// oddities counts what a process writes beside its messages.
type oddities struct {
	mu      sync.Mutex
	lines   int
	first   string
	answers int
}

func (o *oddities) junk(text []byte, redact func(string) string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lines == 0 {
		o.first = excerpt([]byte(redact(string(text))))
	}
	o.lines++
}

func (o *oddities) anonymous() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers++
}

// Warnings says what the process did against the protocol and was forgiven. It
// may quote the process, so it is untrusted text.
func (p *Process) Warnings() []string {
	o := &p.odd
	o.mu.Lock()
	defer o.mu.Unlock()
	var warnings []string
	if o.lines > 0 {
		warnings = append(warnings, fmt.Sprintf("lines on standard output that are no JSON-RPC message: %d, the first: %s", o.lines, o.first))
	}
	if o.answers > 0 {
		warnings = append(warnings, fmt.Sprintf("answers without an id: %d", o.answers))
	}
	return warnings
}

// lastLines keeps the end of what is read.
type lastLines struct {
	log    func(string)
	redact func(string) string

	mu   sync.Mutex
	kept []string
}

// read takes lines until the end of in, which it reads also when nobody cares:
// a full pipe would stop the process.
func (l *lastLines) read(in io.Reader) {
	reader := bufio.NewReaderSize(in, 32*MaxStderrLine)
	for {
		text, rest, err := reader.ReadLine()
		l.add(text)
		for rest && err == nil {
			_, rest, err = reader.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

func (l *lastLines) add(raw []byte) {
	text := registry.Shorten(strings.TrimSpace(l.redact(string(raw))), MaxStderrLine)
	if text == "" {
		return
	}
	if l.log != nil {
		l.log(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == MaxStderrLines {
		l.kept = append(l.kept[:0], l.kept[1:]...)
	}
	l.kept = append(l.kept, text)
}

// String is the lines that were kept.
func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.kept, "\n")
}
