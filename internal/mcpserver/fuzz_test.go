package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func FuzzDecode_takesOnlyWhatItUnderstandsWhole(f *testing.F) {
	for _, seed := range []string{
		someTask, `{}`, `null`, `[]`, `{"title":null}`, `{"title":"\ud800"}`, `{"title":"\ud83d\ude00\\u"}`, `{"title":"a","title":"b"}`,
		`{"title":"t","acceptance_criteria":["a",1]}`, `{"Title":"x"}`, `{"":0}`, `{"":0,"":1}`, `{"title":"\u0000"}`, `{"title":"t","supersedes":"s","idempotency_key":"k"}`,
	} {
		f.Add(seed)
	}
	creation := taskGate{}.createTask(task.Caller{}).operation
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) || !utf8.ValidString(raw) {
			return // refused before
		}
		request, err := creation.Decode(json.RawMessage(strings.TrimSpace(raw)))
		if err != nil {
			coded, ok := fault.Of(err)
			if !ok || coded.Code != fault.InvalidArgument || coded.Details[fault.Field] == "" {
				t.Fatalf("%v does not name an argument", err)
			}
			return
		}
		// What was taken holds every character that was sent, so it says the
		// same when it is written and read again.
		again, err := creation.Decode(encode(request))
		if err != nil {
			t.Fatalf("%s was taken, but not %s: %v", raw, encode(request), err)
		}
		if !bytes.Equal(encode(request), encode(again)) {
			t.Fatalf("%s, then %s", encode(request), encode(again))
		}
	})
}

func FuzzServeStdio_answersInJSONAndLivesOn(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "x", ping, "[" + ping + "]", "[1]", "{}", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task","arguments":` + someTask + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"preflight","arguments":{"run":"nightly"},"_meta":{"progressToken":1}}}`,
		"\xff\n" + ping, `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, initializing + "\n" + initializing,
	} {
		f.Add([]byte(seed))
	}
	operations := double{
		create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) {
			return task.Created{}, nil
		},
		list: func(context.Context, task.Query) (task.Page, error) { return task.Page{}, errors.New("no list") },
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		livesOn(t, New(operations, Options{}), input)
		livesOn(t, NewRegistry(newFleet(), Options{}), input)
	})
}

// livesOn sends a server an input and a last message over stdio.
func livesOn(t *testing.T, server *Server, input []byte) {
	t.Helper()
	var out bytes.Buffer
	last := `{"jsonrpc":"2.0","id":"the last","method":"ping"}`
	if err := server.ServeStdio(t.Context(), strings.NewReader(string(input)+"\n"+last), &out); err != nil {
		t.Fatalf("ended with %v", err)
	}
	for text := range strings.Lines(out.String()) {
		if !json.Valid([]byte(text)) || !strings.HasSuffix(text, "\n") {
			t.Fatalf("wrote %q", text)
		}
		if strings.Contains(text, `"error":{"code":0`) {
			t.Fatalf("an error without a code: %s", text)
		}
	}
	if !strings.Contains(out.String(), `"id":"the last"`) {
		t.Fatalf("the last message was not answered: %s", out.String())
	}
}
