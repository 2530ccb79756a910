package registry

import (
	"encoding/json"
	"fmt"
)

// MaxTranscriptBytes bounds the JSON of a transcript that is read, and
// MaxTranscriptEntries its exchanges, messages and variables.
const (
	MaxTranscriptBytes   = 1 << 20
	MaxTranscriptEntries = 256
)

// Transcript is what was exchanged in a gate that failed: capped, and without
// secrets. Everything in it that stems from the server is untrusted text.
type Transcript struct {
	Exchanges []Exchange    `json:"exchanges,omitempty"` // over HTTP, in the order of the requests
	Messages  []WireMessage `json:"messages,omitempty"`  // with a process, in order
	Stderr    string        `json:"stderr,omitempty"`    // the last words of the process
	LeftOut   int           `json:"leftOut,omitempty"`   // exchanges or messages in the middle that were not kept

	// Curl is what to paste into a shell to make the failing exchange again; empty
	// when there was none. It reads the variables, which hold no secret here.
	Curl      string     `json:"curl,omitempty"`
	Variables []Variable `json:"variables,omitempty"`
}

// Exchange is one request over HTTP and what came of it.
type Exchange struct {
	Request  HTTPMessage  `json:"request"`
	Response *HTTPMessage `json:"response,omitempty"` // nil when none came
	Error    string       `json:"error,omitempty"`    // what ended the exchange before its end
	Address  string       `json:"address,omitempty"`  // that was dialled; empty for a connection that was open
	Timings  Phases       `json:"timings"`
}

// HTTPMessage is a request or a response.
type HTTPMessage struct {
	Line      string   `json:"line"`             // "GET http://127.0.0.1:8080/test" or "200 OK"
	Header    []string `json:"header,omitempty"` // "Name: value", sorted by name
	Body      string   `json:"body,omitempty"`   // its beginning
	BodyBytes int64    `json:"bodyBytes"`        // as many as were sent, or read
}

// WireMessage is one line that went to or came from a process.
type WireMessage struct {
	Sent  bool   `json:"sent"` // to the process
	Text  string `json:"text"` // its beginning
	Bytes int    `json:"bytes"`
}

// Phases are those of one exchange in milliseconds; those that did not occur
// are absent.
type Phases struct {
	ResolveMs   float64 `json:"resolveMs,omitempty"`
	ConnectMs   float64 `json:"connectMs,omitempty"`
	TLSMs       float64 `json:"tlsMs,omitempty"`
	FirstByteMs float64 `json:"firstByteMs,omitempty"`
	TotalMs     float64 `json:"totalMs"`
}

// Variable is a variable of a shell that stands for a secret.
type Variable struct {
	Name  string `json:"name"`
	Means string `json:"means"` // what it is to be set to, in words or as a reference
}

// decodeTranscript reads what was written as a transcript. It refuses what would
// not be written in the same way: an unknown or doubled member, or one that is
// spelled otherwise.
func decodeTranscript(raw json.RawMessage) (*Transcript, error) {
	var read Transcript
	if len(raw) > MaxTranscriptBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxTranscriptBytes)
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	if max(len(read.Exchanges), len(read.Messages), len(read.Variables)) > MaxTranscriptEntries {
		return nil, fmt.Errorf("it has more than %d entries", MaxTranscriptEntries)
	}
	return &read, writtenAs(read, raw)
}
