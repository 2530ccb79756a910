package front

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reply is the answer to one request: one JSON document or, once there is
// progress to be told before it, a stream of events.
type reply struct {
	w        http.ResponseWriter
	id       json.RawMessage
	modern   bool
	events   bool // the client takes a stream
	document bool // the client takes JSON
	begun    bool // the stream has begun
	limit    time.Duration
	broken   func() // called when the client does not read
}

// accepts reads what the client takes. Without Accept that is JSON.
func accepts(header http.Header) (document, events bool) {
	values := header.Values("Accept")
	if len(values) == 0 {
		return true, false
	}
	for each := range strings.SplitSeq(strings.Join(values, ","), ",") {
		kind, _, _ := strings.Cut(each, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*":
			document, events = true, true
		case "application/json", "application/*":
			document = true
		case "text/event-stream", "text/*":
			events = true
		}
	}
	return document, events
}

// progress tells of progress, if the client takes a stream.
func (r *reply) progress(params json.RawMessage) {
	if r.events {
		r.event(encode(struct {
			Version string          `json:"jsonrpc"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
		}{"2.0", "notifications/progress", params}))
	}
}

func (r *reply) result(result json.RawMessage) {
	r.end(http.StatusOK, envelope(r.id, "result", result))
}

// refuse answers with an error. The modern era gives some of them a status; a
// status over 299 is one in both eras.
func (r *reply) refuse(status int, problem *wireError) {
	if status == http.StatusOK {
		status = r.statusOf(problem.Code)
	}
	r.end(status, envelope(r.id, "error", encode(problem)))
}

func (r *reply) statusOf(code int) int {
	switch {
	case !r.modern:
		return http.StatusOK
	case code == codeMethodNotFound:
		return http.StatusNotFound
	case code == codeInvalidParams, code == codeInvalidRequest, code <= codeHeaderMismatch && code >= codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// nothing ends the answer to a request that the client cancelled.
func (r *reply) nothing() {
	if !r.events {
		r.refuse(http.StatusOK, refusal(codeInternal, "the request was cancelled"))
		return
	}
	r.begin()
}

func (r *reply) end(status int, message []byte) {
	if r.begun || !r.document && status == http.StatusOK {
		r.event(message)
		return
	}
	header := r.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(message)+1))
	header.Set("X-Content-Type-Options", "nosniff")
	r.w.WriteHeader(status)
	r.write(append(message, '\n'))
}

// write sends text at once, within the time that a client may take to read it:
// one that does not read would keep a place for ever.
func (r *reply) write(text []byte) {
	connection := http.NewResponseController(r.w)
	// Where no deadline can be set, as in tests, none is needed.
	_ = connection.SetWriteDeadline(time.Now().Add(r.limit))
	_, err := r.w.Write(text)
	if err = cmp.Or(err, connection.Flush()); err != nil && r.broken != nil {
		r.broken()
	}
	_ = connection.SetWriteDeadline(time.Time{}) // the connection may be used again
}

func (r *reply) begin() {
	if r.begun {
		return
	}
	r.begun = true
	header := r.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies are to pass on each event at once
	header.Set("X-Content-Type-Options", "nosniff")
	r.w.WriteHeader(http.StatusOK)
}

func (r *reply) event(message []byte) {
	r.begin()
	text := append([]byte("event: message\ndata: "), onOneLine(message)...)
	r.write(append(text, "\n\n"...))
}
