package front

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// wireError is a JSON-RPC error that is made here.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error makes it an error of Go.
func (e *wireError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

func refusal(code int, format string, args ...any) *wireError {
	return &wireError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// encode is JSON in which <, > and & stay; what is encoded here always encodes.
func encode(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// envelope is a JSON-RPC answer on one line; member is result or error. A nil id
// is written as null.
func envelope(id json.RawMessage, member string, content json.RawMessage) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	var out bytes.Buffer
	out.Grow(len(content) + len(id) + 40)
	out.WriteString(`{"jsonrpc":"2.0","id":`)
	out.Write(id)
	out.WriteString(`,"` + member + `":`)
	out.Write(content)
	out.WriteByte('}')
	return onOneLine(out.Bytes())
}

// onOneLine removes the line ends that may stand between the tokens of JSON.
func onOneLine(text []byte) []byte {
	if !bytes.ContainsAny(text, "\r\n") {
		return text
	}
	var out bytes.Buffer
	_ = json.Compact(&out, text)
	return out.Bytes()
}

// request is a message of a client.
type request struct {
	id       json.RawMessage // nil for a notification
	method   string          // empty for an answer
	params   params
	protocol string // the version that its _meta names; empty for none
	declared bool   // its _meta holds clientCapabilities
}

// params are those of a request, taken apart as far as the front changes them.
// The zero value is none at all.
type params struct {
	rest   map[string]json.RawMessage // all but _meta
	meta   map[string]json.RawMessage // nil for none; without claims
	claims map[string]json.RawMessage // what a modern request says of its client
}

// claiming is the params with what a modern request says of its client: what the
// client says itself or else what the front does.
func (p params) claiming(own map[string]json.RawMessage) params {
	meta := maps.Clone(own)
	maps.Copy(meta, p.claims)
	maps.Copy(meta, p.meta)
	p.meta = meta
	return p
}

func (p params) encode() json.RawMessage {
	if p.rest == nil && p.meta == nil {
		return nil
	}
	all := maps.Clone(p.rest)
	if len(p.meta) > 0 {
		if all == nil {
			all = map[string]json.RawMessage{}
		}
		all["_meta"] = encode(p.meta)
	}
	return encode(all)
}

// text is a member that is a string; empty when it is none.
func (p params) text(name string) string {
	var value string
	_ = json.Unmarshal(p.rest[name], &value)
	return value
}

// decode reads one message. Keys are matched case-sensitively.
func decode(body []byte) (request, *wireError) {
	var members map[string]json.RawMessage
	switch {
	case !utf8.Valid(body) || !json.Valid(body):
		return request{}, refusal(codeParseError, "the body must be one JSON value in UTF-8")
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		return request{}, refusal(codeInvalidRequest, "batches are not served: send each message by itself")
	case json.Unmarshal(body, &members) != nil || members == nil:
		return request{}, refusal(codeInvalidRequest, "a message must be a JSON object")
	}
	var version string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return request{}, refusal(codeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	got := request{id: members["id"]}
	if _, present := members["id"]; present && !isID(got.id) {
		return request{}, refusal(codeInvalidRequest, "id must be a string or a number of at most %d bytes", maxLabel)
	}
	if _, present := members["method"]; !present {
		if members["result"] == nil && members["error"] == nil {
			return got, refusal(codeInvalidRequest, "method is missing")
		}
		return got, nil
	}
	if json.Unmarshal(members["method"], &got.method) != nil || got.method == "" {
		return got, refusal(codeInvalidRequest, "method must be a string")
	}
	return got, got.takeParams(members["params"])
}

func isID(raw json.RawMessage) bool {
	return len(raw) <= maxLabel && strings.ContainsRune(`"-0123456789`, rune(raw[0]))
}

// What a modern request says of itself. It is not for a legacy child.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

func (r *request) takeParams(raw json.RawMessage) *wireError {
	if raw == nil {
		return nil
	}
	if json.Unmarshal(raw, &r.params.rest) != nil || r.params.rest == nil {
		return refusal(codeInvalidParams, "params must be an object")
	}
	meta, present := r.params.rest["_meta"]
	if !present {
		return nil
	}
	delete(r.params.rest, "_meta")
	if json.Unmarshal(meta, &r.params.meta) != nil {
		return refusal(codeInvalidParams, "_meta must be an object")
	}
	_ = json.Unmarshal(r.params.meta[metaVersion], &r.protocol)
	var capabilities map[string]json.RawMessage
	r.declared = json.Unmarshal(r.params.meta[metaCapabilities], &capabilities) == nil && capabilities != nil
	r.params.claims = map[string]json.RawMessage{}
	for _, name := range []string{metaVersion, metaCapabilities, metaClient, metaLogLevel} {
		claim, present := r.params.meta[name]
		if present && r.protocol == modernVersion && name != metaLogLevel { // nobody hears what the child logs
			r.params.claims[name] = claim
		}
		delete(r.params.meta, name)
	}
	return nil
}
