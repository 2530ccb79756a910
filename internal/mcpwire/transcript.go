package mcpwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of a transcript.
const (
	MaxExchanges = 16       // exchanges, and messages, that are kept
	MaxBody      = 2 << 10  // bytes kept of a body and of a message
	MaxCurlBody  = 16 << 10 // bytes of a request body that a curl line may hold
	MaxHeader    = 8 << 10  // bytes kept of a header

	keptFirst = 4 // exchanges, and messages, that are kept of the beginning
)

// Recorder keeps what one gate exchanges, capped. It is for many goroutines, and
// nil records nothing. Exchanges over HTTP are recorded by the client of an
// Outlet; the messages of a process by Sent, Received and Said.
type Recorder struct {
	Limit time.Duration // of the gate, which a curl line keeps to; 0 for what each request has left

	mu        sync.Mutex
	exchanges []*recording
	messages  []registry.WireMessage
	leftOut   int
	stderr    string
}

// recording is one exchange, as it was.
type recording struct {
	request  *http.Request
	carried  carried
	sent     []byte // the body, to MaxCurlBody
	sentAll  int64
	limit    time.Duration // of the gate, or that was left; 0 for none
	began    time.Time
	took     time.Duration
	trace    *trace
	status   string // empty when no response came
	header   http.Header
	body     []byte // to MaxBody
	bodyRead int64
	untold   bool // the body is a secret
	broke    string
}

// Sent records a message that a process was sent.
func (r *Recorder) Sent(message []byte) { r.message(true, message) }

// Received records a line that a process wrote to standard output.
func (r *Recorder) Received(message []byte) { r.message(false, message) }

// Said records the last words of a process on standard error.
func (r *Recorder) Said(stderr string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stderr = registry.Shorten(stderr, MaxStderrLines*MaxStderrLine)
}

func (r *Recorder) message(sent bool, text []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = keep(r, r.messages, registry.WireMessage{
		Sent: sent, Text: string(text[:min(len(text), MaxBody)]), Bytes: len(text),
	})
}

// keep adds one, and leaves out one in the middle when there are too many.
func keep[T any](r *Recorder, list []T, one T) []T {
	if len(list) == MaxExchanges {
		list = slices.Delete(list, keptFirst, keptFirst+1)
		r.leftOut++
	}
	return append(list, one)
}

// roundTrip carries one request and records it.
func (r *Recorder) roundTrip(transport http.RoundTripper, request *http.Request, with carried) (*http.Response, error) {
	if r == nil {
		return transport.RoundTrip(request)
	}
	one := &recording{request: request, carried: with, began: time.Now(), trace: newTrace(), sentAll: request.ContentLength}
	if deadline, ok := request.Context().Deadline(); ok {
		one.limit = time.Until(deadline)
	}
	if r.Limit > 0 {
		one.limit = r.Limit
	}
	if request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			one.sent, _ = io.ReadAll(io.LimitReader(body, MaxCurlBody))
		}
	}
	r.mu.Lock()
	r.exchanges = keep(r, r.exchanges, one)
	r.mu.Unlock()

	response, err := transport.RoundTrip(request.WithContext(one.trace.follow(request.Context())))
	r.mu.Lock()
	defer r.mu.Unlock()
	one.took = time.Since(one.began)
	if err != nil {
		one.broke = explain(request.Context(), err, one.trace).Detail
		return nil, err
	}
	one.status, one.header = response.Status, response.Header.Clone()
	one.untold = isForTokens(request.Context()) && registry.StatusCause(response.StatusCode) == ""
	response.Body = &recordedBody{ReadCloser: response.Body, recorder: r, of: one}
	return response, nil
}

// recordedBody is a body whose beginning is kept as it is read.
type recordedBody struct {
	io.ReadCloser

	recorder *Recorder
	of       *recording
}

// Read keeps what is read, up to a limit.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.recorder.mu.Lock()
	defer b.recorder.mu.Unlock()
	b.of.took = time.Since(b.of.began)
	b.of.bodyRead += int64(n)
	if room := MaxBody - len(b.of.body); room > 0 && !b.of.untold {
		b.of.body = append(b.of.body, p[:min(n, room)]...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.of.broke = explain(b.of.request.Context(), err, b.of.trace).Detail
	}
	return n, err
}

// Transcript is what was recorded so far, cleaned; nil when nothing was.
func (r *Recorder) Transcript(hide *Redactor) *registry.Transcript {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.exchanges) == 0 && len(r.messages) == 0 && r.stderr == "" {
		return nil
	}
	made := &registry.Transcript{LeftOut: r.leftOut, Stderr: hide.Clean(r.stderr)}
	for _, one := range r.exchanges {
		made.Exchanges = append(made.Exchanges, one.shown(hide))
	}
	for _, one := range r.messages {
		one.Text = excerptOf(hide, []byte(one.Text), int64(one.Bytes))
		made.Messages = append(made.Messages, one)
	}
	reproduce(r.exchanges, hide, made)
	return made
}

// shown is the recording as it may be shown.
func (o *recording) shown(hide *Redactor) registry.Exchange {
	header := o.request.Header.Clone()
	for _, secret := range o.carried.headers {
		header.Set(secret.name, secret.shown+"$"+secret.variable.Name)
	}
	sent := o.sent[:min(len(o.sent), MaxBody)]
	took := o.trace.timings()
	made := registry.Exchange{
		Request: registry.HTTPMessage{
			Line:   registry.Shorten(hide.Clean(o.request.Method+" "+o.request.URL.String()), MaxBody),
			Header: headerLines(hide, header),
			Body:   excerptOf(hide, sent, o.sentAll), BodyBytes: o.sentAll,
		},
		Error: hide.Clean(o.broke), Address: o.trace.dialled(),
		Timings: registry.Phases{
			ResolveMs: took.ResolveMs, ConnectMs: took.ConnectMs, TLSMs: took.TLSMs, FirstByteMs: took.FirstByteMs,
			TotalMs: registry.Milliseconds(o.took),
		},
	}
	if o.status != "" {
		made.Response = &registry.HTTPMessage{
			Line: registry.Shorten(hide.Clean(o.status), maxExcerpt), Header: headerLines(hide, o.header),
			Body: excerptOf(hide, o.body, o.bodyRead), BodyBytes: o.bodyRead,
		}
	}
	return made
}

// excerptOf is the beginning of a body of so many bytes.
func excerptOf(hide *Redactor, beginning []byte, all int64) string {
	text := strings.ToValidUTF8(hide.Clean(string(beginning)), "\ufffd")
	if int64(len(beginning)) < all {
		text += "..."
	}
	return text
}

// headerLines writes a header in the order of the names.
func headerLines(hide *Redactor, header http.Header) []string {
	var lines []string
	var sized bytes.Buffer
	_ = header.Write(&sized)
	left := MaxHeader
	for line := range strings.SplitSeq(strings.TrimSpace(sized.String()), "\r\n") {
		if left -= len(line); left < 0 {
			return append(lines, fmt.Sprintf("... (%d bytes)", sized.Len()))
		}
		if line != "" {
			lines = append(lines, strings.ToValidUTF8(hide.Clean(line), "\ufffd"))
		}
	}
	return lines
}
