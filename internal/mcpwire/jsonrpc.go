package mcpwire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/internal/registry"
)

// outgoing is a message to the server: a request, a notification (no ID), or an
// answer to a request of the server (Reply, Result or Error).
type outgoing struct {
	ID     *int64
	Method string
	Params map[string]any
	Reply  json.RawMessage
	Result any
	Error  map[string]any

	Headers map[string]string // what else travels in the header of a modern request; not encoded
}

func (o outgoing) encode() ([]byte, error) {
	message := map[string]any{"jsonrpc": "2.0"}
	if o.Method != "" {
		message["method"] = o.Method
	}
	if o.ID != nil {
		message["id"] = *o.ID
		message["params"] = o.Params
	}
	if o.Reply != nil {
		message["id"] = o.Reply
	}
	if o.Result != nil {
		message["result"] = o.Result
	}
	if o.Error != nil {
		message["error"] = o.Error
	}
	return json.Marshal(message)
}

// message is a JSON-RPC message of the server. Nil members are absent ones.
type message struct {
	id     json.RawMessage
	method string
	result json.RawMessage
	err    *rpcError
}

// decodeMessage reads one JSON-RPC 2.0 message and reports whether raw is one.
// Keys are matched case-sensitively, which a struct would not do.
func decodeMessage(raw []byte) (message, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return message{}, false
	}
	var protocol string
	if json.Unmarshal(members["jsonrpc"], &protocol) != nil || protocol != "2.0" {
		return message{}, false
	}
	got := message{id: members["id"], result: members["result"]}
	if name, present := members["method"]; present {
		isName := json.Unmarshal(name, &got.method) == nil && got.method != ""
		return got, isName
	}
	if fault, present := members["error"]; present && !isNull(fault) {
		got.err = decodeError(fault)
		return got, got.result == nil || isNull(got.result)
	}
	return got, got.result != nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// answers reports whether m is the answer to request id. Ids are compared as
// they are written: "3" is not 3.
func (m message) answers(id int64) bool {
	return m.method == "" && string(m.id) == strconv.FormatInt(id, 10)
}

// isAnonymousError reports whether m is an error that names no request, as
// servers send it when they did not get as far as reading the id.
func (m message) isAnonymousError() bool {
	return m.err != nil && (m.id == nil || isNull(m.id))
}

// unsupportedVersion is the one code of the protocol that is evidence of an era.
const unsupportedVersion = -32022

const (
	invalidParams  = -32602
	methodNotFound = -32601
)

// rpcError is the error of a JSON-RPC answer.
type rpcError struct {
	code      int64
	message   string
	supported []string // data.supported, when it is a list of strings
}

func decodeError(raw json.RawMessage) *rpcError {
	var got rpcError
	var members, data map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		got.message = excerpt(raw)
		return &got
	}
	_ = json.Unmarshal(members["code"], &got.code)
	_ = json.Unmarshal(members["message"], &got.message)
	if json.Unmarshal(members["data"], &data) == nil {
		got.supported = versions(data["supported"])
	}
	return &got
}

// versions reads a list of protocol versions; nil for anything else.
func versions(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil || slices.Contains(list, "") {
		return nil
	}
	return list
}

func (e *rpcError) detail() string {
	return registry.Shorten(fmt.Sprintf("error %d: %s", e.code, e.message), registry.MaxDetail)
}
