package front

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// Why a call ends before its answer.
var (
	errCancelled = errors.New("the client cancelled the request")
	errOverdue   = errors.New("the server did not answer in time")
	errLeft      = errors.New("the client closed the connection")
)

// whyDone says why a call is over before its answer.
func whyDone(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errLeft
}

// ServeHTTP serves the endpoint: POST with one JSON-RPC message in either era.
// It keeps no session. A legacy client is given a session id all the same, as a
// name by which its notifications/cancelled finds its own request and no other.
//
// It refuses, with a JSON-RPC error as body: another method than POST with 405
// (there is no push and no session to end), another Content-Type than JSON with
// 415, an Accept for neither JSON nor events with 406, a body over MaxBody with
// 413, a malformed message with 400, and with 503 whatever comes while the child
// is down or too much is being worked on.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document, events := accepts(r.Header)
	answer := &reply{w: w, document: document, events: events, limit: f.limits.write}
	if status, problem := f.fits(w, r, document || events); problem != nil {
		answer.document = true
		answer.refuse(status, problem)
		return
	}
	body, status, problem := f.read(w, r)
	defer f.held.Release(int64(cap(body)))
	if problem != nil {
		answer.refuse(status, problem)
		return
	}
	got, problem := decode(body)
	answer.id = got.id
	if problem != nil {
		answer.refuse(http.StatusBadRequest, problem)
		return
	}
	if got.id == nil || got.method == "" {
		f.notice(r.Header, got)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if answer.modern, problem = modern(r.Header, got); problem != nil {
		answer.refuse(http.StatusBadRequest, problem)
		return
	}
	f.serve(r, got, answer)
}

// fits judges what precedes the body.
func (f *Front) fits(w http.ResponseWriter, r *http.Request, answerable bool) (int, *wireError) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, refusal(codeInvalidRequest, "only POST is served: there are no sessions and no push")
	case err != nil || kind != "application/json":
		return http.StatusUnsupportedMediaType, refusal(codeInvalidRequest, "Content-Type must be application/json")
	case !answerable:
		return http.StatusNotAcceptable, refusal(codeInvalidRequest, "Accept must hold application/json and text/event-stream")
	}
	return http.StatusOK, nil
}

// read takes the body to its end. Its capacity is what is held of the bytes that
// all requests may have; the caller gives it back.
func (f *Front) read(w http.ResponseWriter, r *http.Request) ([]byte, int, *wireError) {
	size := int64(MaxBody)
	if r.ContentLength >= 0 {
		size = r.ContentLength
	}
	if size > MaxBody {
		return nil, http.StatusRequestEntityTooLarge, tooLong()
	}
	if !f.held.TryAcquire(size) {
		w.Header().Set("Retry-After", "1")
		return nil, http.StatusServiceUnavailable, refusal(codeInternal, "too much is being worked on; nothing was done, try again in a second")
	}
	body := make([]byte, size)
	n, err := io.ReadFull(r.Body, body)
	if err == nil { // the end has not been seen yet
		var more int
		if more, err = io.ReadFull(r.Body, make([]byte, 1)); more > 0 {
			return body, http.StatusRequestEntityTooLarge, tooLong()
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return body, http.StatusBadRequest, refusal(codeParseError, "the body could not be read")
	}
	return body[:n], http.StatusOK, nil
}

func tooLong() *wireError {
	return refusal(codeInvalidRequest, "a request may have at most %d bytes", MaxBody)
}

// notice takes a notification or an answer, of which only a cancellation matters.
func (f *Front) notice(header http.Header, got request) {
	if got.method != "notifications/cancelled" {
		return
	}
	f.running.Lock()
	defer f.running.Unlock()
	if cancel := f.calls[label(header, got.params.rest["requestId"])]; cancel != nil {
		cancel(errCancelled)
	}
}

// label names a request of a client that was given a session id; it is empty
// where there is none, since the ids of two clients may be the same.
func label(header http.Header, id json.RawMessage) string {
	session := header.Get(headerSession)
	if session == "" || len(session) > maxLabel || id == nil {
		return ""
	}
	return session + " " + string(id)
}

// enter makes a call one that its client can cancel; leave undoes it.
func (f *Front) enter(name string, cancel context.CancelCauseFunc) (leave func()) {
	f.running.Lock()
	defer f.running.Unlock()
	if _, taken := f.calls[name]; taken || name == "" {
		return func() {}
	}
	f.calls[name] = cancel
	return func() {
		f.running.Lock()
		defer f.running.Unlock()
		delete(f.calls, name)
	}
}

// serve answers one request.
func (f *Front) serve(r *http.Request, got request, answer *reply) {
	switch {
	case got.method == "ping" && !answer.modern:
		answer.result(encode(struct{}{}))
		return
	case got.method == "initialize" && !answer.modern, got.method == methodDiscover && answer.modern, isPassedOn(got.method):
	default:
		answer.refuse(http.StatusOK, refusal(codeMethodNotFound, "%.100s is not served: the front passes on tools, resources, prompts and completion", got.method))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	answer.broken = func() { cancel(errLeft) }
	if !answer.modern {
		defer f.enter(label(r.Header, got.id), cancel)()
	}
	ctx, stop := context.WithTimeoutCause(ctx, f.limits.call, errOverdue)
	defer stop()
	c, err := f.ready(ctx)
	if err != nil {
		answer.w.Header().Set("Retry-After", "1")
		answer.refuse(http.StatusServiceUnavailable, refusal(codeInternal, "the server behind the front is not ready: %v", err))
		return
	}
	switch got.method {
	case "initialize":
		answer.w.Header().Set(headerSession, rand.Text())
		answer.result(c.hello.initialized(got.params.text("protocolVersion")))
	case methodDiscover:
		answer.result(c.hello.modernized(got.method, c.hello.discovered()))
	default:
		if problem := c.checkParams(r.Header, got); problem != nil && answer.modern {
			answer.refuse(http.StatusOK, problem)
			return
		}
		f.pass(ctx, c, got, answer)
	}
}

// pass has the child answer.
func (f *Front) pass(ctx context.Context, c *child, got request, answer *reply) {
	select {
	case f.places <- struct{}{}:
		defer func() { <-f.places }()
	case <-ctx.Done():
		f.finish(c, got, answer, outcome{failed: whyDone(ctx)})
		return
	}
	token, wanted := got.params.meta["progressToken"]
	waiting, err := c.start(ctx, got.method, got.params, wanted && answer.events)
	if err != nil {
		f.finish(c, got, answer, outcome{failed: cmp.Or(context.Cause(ctx), err)})
		return
	}
	came := c.await(ctx, waiting, func(params json.RawMessage) { answer.progress(withToken(params, token)) })
	if got.method == methodListTools {
		c.learn(came.result)
	}
	f.finish(c, got, answer, came)
}

// withToken gives progress the token of the client.
func withToken(params, token json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(params, &members) // the child's token was read from it
	members["progressToken"] = token
	return encode(members)
}

// finish writes the outcome of a call.
func (f *Front) finish(c *child, got request, answer *reply, came outcome) {
	switch {
	case errors.Is(came.failed, errCancelled):
		answer.nothing()
	case came.failed != nil:
		answer.refuse(http.StatusOK, refusal(codeInternal, "%v", came.failed))
	case came.refusal != nil:
		answer.pass(got.method, came.refusal)
	case !isObject(came.result):
		answer.refuse(http.StatusOK, refusal(codeInternal, "the server's result is no JSON object"))
	case answer.modern:
		answer.result(c.hello.modernized(got.method, came.result))
	case c.claims != nil && !isComplete(came.result):
		answer.refuse(http.StatusOK, refusal(codeInternal, "the server asks for more input, which it can do only of a client that speaks %s", modernVersion))
	default:
		answer.result(came.result)
	}
}

// isComplete reports whether a result of the modern era ends its call.
func isComplete(result json.RawMessage) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(result, &members)
	kind, present := members["resultType"]
	return !present || string(kind) == `"complete"`
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(raw, []byte("{"))
}

// pass passes on an error of the child as it is, if it is one.
func (r *reply) pass(method string, raw json.RawMessage) {
	var members map[string]json.RawMessage
	var code *int
	var message *string
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members["code"], &code) != nil || code == nil ||
		json.Unmarshal(members["message"], &message) != nil || message == nil {
		r.refuse(http.StatusOK, refusal(codeInternal, "the server answered with an error that is none"))
		return
	}
	if r.modern && method == methodRead && *code == codeLegacyNotFound {
		*code = codeInvalidParams
		members["code"] = encode(codeInvalidParams)
		raw = encode(members)
	}
	r.end(r.statusOf(*code), envelope(r.id, "error", raw))
}
