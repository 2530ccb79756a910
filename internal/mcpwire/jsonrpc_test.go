package mcpwire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeMessage_tellsMessagesFromOtherJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                            "answer",
		` {"result":{},"id":7,"jsonrpc":"2.0","more":1} `:                 "answer",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":null}`:               "answer",
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`: "error",
		`{"jsonrpc":"2.0","id":7,"error":"no"}`:                           "error",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`:  "anonymous error",
		`{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`:            "anonymous error",
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                          "other message",
		`{"jsonrpc":"2.0","id":7.0,"result":{}}`:                          "other message",
		`{"jsonrpc":"2.0","id":8,"result":{}}`:                            "other message",
		`{"jsonrpc":"2.0","result":{}}`:                                   "other message",
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                        "other message",
		`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`:  "other message",
		`{"jsonrpc":"2.0","id":7}`:                                        "no message",
		`{"jsonrpc":"2.0","ID":7,"Result":{}}`:                            "no message",
		`{"JSONRPC":"2.0","id":7,"result":{}}`:                            "no message",
		`{"jsonrpc":"1.0","id":7,"result":{}}`:                            "no message",
		`{"jsonrpc":2.0,"id":7,"result":{}}`:                              "no message",
		`{"id":7,"result":{}}`:                                            "no message",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}`:         "no message",
		`{"jsonrpc":"2.0","id":7,"method":""}`:                            "no message",
		`{"jsonrpc":"2.0","id":7,"result":{}} {}`:                         "no message",
		`[{"jsonrpc":"2.0","id":7,"result":{}}]`:                          "no message",
		`null`:                                                            "no message",
		``:                                                                "no message",
	} {
		got, isMessage := decodeMessage([]byte(raw))
		kind := "other message"
		switch {
		case !isMessage:
			kind = "no message"
		case got.isAnonymousError():
			kind = "anonymous error"
		case got.answers(7) && got.err != nil:
			kind = "error"
		case got.answers(7):
			kind = "answer"
		}
		if kind != want {
			t.Errorf("%s is taken for %q, want %q", raw, kind, want)
		}
	}
}

func TestDecodeError_takesVersionsOnlyFromAListOfStrings(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`{"code":-32022,"data":{"supported":["2026-07-28"]}}`:    {"2026-07-28"},
		`{"code":-32022,"data":{"supported":["2026-07-28",1]}}`:  nil,
		`{"code":-32022,"data":{"supported":["2026-07-28",""]}}`: nil,
		`{"code":-32022,"data":{"Supported":["2026-07-28"]}}`:    nil,
		`{"code":-32022,"data":{"supported":"2026-07-28"}}`:      nil,
		`{"code":-32022,"data":["2026-07-28"]}`:                  nil,
		`{"code":-32022}`:                                        nil,
	} {
		got := decodeError(json.RawMessage(raw))
		if diff := cmp.Diff(want, got.supported); diff != "" || got.code != unsupportedVersion {
			t.Errorf("%s: code %d, versions (-want +got):\n%s", raw, got.code, diff)
		}
	}
}

// FuzzDecodeMessage compares the decoder with plain encoding/json.
func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"7","method":"ping"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, isMessage := decodeMessage(raw)
		if !isMessage {
			return
		}
		var plain map[string]any
		if json.Unmarshal(raw, &plain) != nil || plain["jsonrpc"] != "2.0" {
			t.Fatalf("%s is taken for a message", raw)
		}
		if got.answers(7) && (plain["id"] != 7.0 || plain["method"] != nil) {
			t.Fatalf("%s is taken for the answer to 7", raw)
		}
		if got.err != nil {
			_ = got.err.detail()
		}
	})
}
