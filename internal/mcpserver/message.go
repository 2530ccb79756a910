package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// maxBatch is how many messages one batch may hold.
const maxBatch = 100

// refused answers a message that never reaches the SDK: a JSON-RPC error, with
// the id of the message where it could be read and null where not (JSON-RPC
// 2.0, section 5).
type refused struct {
	id      json.RawMessage
	code    int64
	message string
	data    *fault.Error // nil for none
}

// faultCode is empty where there is none.
func (r *refused) faultCode() fault.Code {
	if r.data == nil {
		return ""
	}
	return r.data.Code
}

// encode returns the answer as one line without its end.
func (r *refused) encode() []byte {
	problem := jsonrpc.Error{Code: r.code, Message: r.message}
	if r.data != nil {
		problem.Data = encode(r.data)
	}
	return encode(answer{Version: "2.0", ID: r.id, Error: &problem})
}

// answer is a JSON-RPC response that is made here. A nil ID is written as null.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
	Result  any             `json:"result,omitempty"`
}

func notParsed(why string) *refused {
	return &refused{code: jsonrpc.CodeParseError, message: "parse error: " + why}
}

func notRequest(id json.RawMessage, why string) *refused {
	return &refused{id: id, code: jsonrpc.CodeInvalidRequest, message: "invalid request: " + why}
}

// tooLong refuses a message over task.MaxRequest bytes.
func tooLong(id json.RawMessage) *refused {
	limit := task.TooLarge("request", task.LimitRequest)
	r := notRequest(id, limit.Message)
	r.data = limit
	return r
}

// split returns the messages of one line or body: one, or those of a batch.
func split(raw []byte) (messages []json.RawMessage, batch bool, refusal *refused) {
	if !utf8.Valid(raw) {
		return nil, false, notParsed("the message is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, false, notParsed("a message must be exactly one JSON value")
	}
	raw = bytes.TrimSpace(raw)
	if raw[0] != '[' {
		return []json.RawMessage{raw}, false, nil
	}
	if err := json.Unmarshal(raw, &messages); err != nil || len(messages) == 0 {
		return nil, true, notRequest(nil, "the batch is empty")
	}
	if len(messages) > maxBatch {
		return nil, true, notRequest(nil, "a batch may hold at most "+strconv.Itoa(maxBatch)+" messages")
	}
	return messages, true, nil
}

// inspect checks what the SDK would drop silently or end the process for. raw
// is one valid JSON value.
func inspect(raw json.RawMessage, batch bool) *refused {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return notRequest(nil, "a message must be a JSON object")
	}
	id, identified := members["id"]
	if identified && !validID(id) {
		return notRequest(nil, "id must be a string or an integer")
	}
	var version, method string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return notRequest(id, `jsonrpc must be "2.0"`)
	}
	named, isRequest := members["method"]
	if !isRequest {
		_, result := members["result"]
		_, problem := members["error"]
		if identified && (result || problem) {
			return nil // an answer, to which there is no answer
		}
		return notRequest(id, "method is missing")
	}
	if json.Unmarshal(named, &method) != nil || string(named) == "null" {
		return notRequest(id, "method must be a string")
	}
	if batch && method == "initialize" {
		return notRequest(id, "initialize may not be part of a batch")
	}
	return nil
}

// validID reports whether an id is a string or an integer that comes back as it
// was sent.
func validID(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return !schema.LoneSurrogate(raw)
	}
	number, err := strconv.ParseFloat(string(raw), 64)
	return schema.KindOf(raw) == "a number" && err == nil && number == math.Trunc(number) && math.Abs(number) <= schema.MaxExactInteger
}

// salvage reads id and method of a message that will not be served.
func salvage(raw []byte) (id json.RawMessage, method string) {
	var members map[string]json.RawMessage // a struct would also take Id and ID
	if !utf8.Valid(raw) || json.Unmarshal(raw, &members) != nil {
		return nil, ""
	}
	id = members["id"]
	if len(id) == 0 || !validID(id) {
		return nil, ""
	}
	_ = json.Unmarshal(members["method"], &method) // none when it is no string
	return id, method
}

// maxMessage is how many bytes of an SDK's error message are sent: it quotes
// what it could not decode.
const maxMessage = 500

// wireError returns the JSON-RPC error that an error is sent as. Code 0, which
// the SDK gives to errors of its own without a code, is no valid code; they are
// all about a request that does not fit the state of the session.
func wireError(err error) *jsonrpc.Error {
	wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	if coded, ok := errors.AsType[*jsonrpc.Error](err); ok {
		wire.Data = coded.Data
		if coded.Code != 0 {
			wire.Code = coded.Code
		}
	}
	if len(wire.Message) > maxMessage {
		wire.Message = string(bytes.ToValidUTF8([]byte(wire.Message[:maxMessage]), nil)) + ellipsis
	}
	return wire
}
