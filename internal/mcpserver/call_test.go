package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// toolResult is what a call answers with.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func resultOf(t *testing.T, answer string) toolResult {
	t.Helper()
	var decoded struct{ Result toolResult }
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil {
		t.Fatalf("%v in %.300s", err, answer)
	}
	if len(decoded.Result.Content) != 1 || decoded.Result.Content[0].Type != "text" {
		t.Fatalf("not exactly one text content: %.300s", answer)
	}
	return decoded.Result
}

// faultOf checks the shape of a tool error and returns what it says.
func faultOf(t *testing.T, answer string) map[string]any {
	t.Helper()
	result := resultOf(t, answer)
	if !result.IsError || result.StructuredContent != nil {
		t.Fatalf("not a tool error without structured content: %.300s", answer)
	}
	var said map[string]any
	if err := json.Unmarshal([]byte(result.Content[0].Text), &said); err != nil {
		t.Fatalf("%v in %s", err, result.Content[0].Text)
	}
	return said
}

const someTask = `{"title":"t","acceptance_criteria":["c"],"created_by":"a"}`

func TestCall_answersEveryCodeAsAToolError(t *testing.T) {
	var give error
	operations := double{create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) {
		return task.Created{}, give
	}}
	c := startStdio(t, operations, Options{})
	c.initialize()
	for _, code := range fault.Codes() {
		if code == fault.Internal {
			continue
		}
		give = fault.New(code, "m <&> %d", 1).WithHint("h").With("detail", 7).WithCause(errors.New("secret cause"))
		answer := c.ask(callOf(1, "create_task", someTask))
		want := map[string]any{"code": string(code), "message": "m <&> 1", "hint": "h", "detail": 7.0}
		if diff := cmp.Diff(want, faultOf(t, answer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", code, diff)
		}
		if text := resultOf(t, answer).Content[0].Text; !strings.Contains(text, "<&>") {
			t.Errorf("a model would read escapes: %s", text)
		}
	}
}

func TestCall_hidesWhatIsNoFaultBehindAReference(t *testing.T) {
	causes := map[string]error{
		"any error":         errors.New("disk on fire at /secret/path"),
		"an internal fault": fault.New(fault.Internal, "disk on fire").WithCause(errors.New("at /secret/path")),
	}
	for name, cause := range causes {
		var log bytes.Buffer
		operations := double{create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) {
			return task.Created{}, cause
		}}
		c := startStdio(t, operations, Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
		c.initialize()
		answer := c.ask(callOf(1, "create_task", someTask))
		said := faultOf(t, answer)
		if strings.Contains(answer, "fire") || said["code"] != "E_INTERNAL" {
			t.Errorf("%s: answered with %s", name, answer)
		}
		reference, _ := said["reference"].(string)
		if !uuids.MatchString(reference) || !strings.Contains(log.String(), reference) || !strings.Contains(log.String(), "/secret/path") {
			t.Errorf("%s: reference %q does not lead to the cause in the log: %s", name, reference, log.String())
		}
	}
}

func TestCall_survivesAPanic(t *testing.T) {
	var log bytes.Buffer
	operations := double{
		create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) { panic("boom") },
		list:   func(context.Context, task.Query) (task.Page, error) { return task.Page{}, nil },
	}
	options := Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	c := startStdio(t, operations, options)
	c.initialize()
	said := faultOf(t, c.ask(callOf(1, "create_task", someTask)))
	if reference, _ := said["reference"].(string); said["code"] != "E_INTERNAL" || !strings.Contains(log.String(), reference) || !strings.Contains(log.String(), "boom") {
		t.Errorf("said %v, logged %s", said, log.String())
	}
	if result := resultOf(t, c.ask(callOf(2, "list_tasks", `{}`))); result.IsError {
		t.Errorf("after the panic: %v", result)
	}

	server := startHTTP(t, operations, options)
	status, answer := post(t, server.URL, callOf(3, "create_task", someTask), nil)
	if status != 200 || faultOf(t, answer)["code"] != "E_INTERNAL" {
		t.Errorf("over HTTP: %d %s", status, answer)
	}
	if status, answer := post(t, server.URL, callOf(4, "list_tasks", `{}`), nil); status != 200 || resultOf(t, answer).IsError {
		t.Errorf("over HTTP after the panic: %d %s", status, answer)
	}
}

func TestGuard_answersDefectsOutsideOfTools(t *testing.T) {
	server := New(newOperations(t), logging(t, Options{}))
	for name, next := range map[string]mcp.MethodHandler{
		"a panic": func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("secret") },
		"an error without a code": func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, errors.New("secret")
		},
	} {
		_, err := server.guard(next)(t.Context(), "prompts/list", nil)
		coded, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || coded.Code != jsonrpc.CodeInternalError || strings.Contains(coded.Message+string(coded.Data), "secret") || !uuids.Match(coded.Data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCall_isMadeOnBehalfOfTheRightCaller(t *testing.T) {
	callers := make(chan task.Caller, 1)
	operations := double{create: func(ctx context.Context, caller task.Caller, _ task.CreateRequest) (task.Created, error) {
		callers <- caller
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the call has no deadline")
		}
		return task.Created{}, nil
	}}
	c := startStdio(t, operations, Options{Caller: thisProcess("a")})
	c.initialize()
	c.ask(callOf(1, "create_task", someTask))
	if diff := cmp.Diff(thisProcess("a"), <-callers); diff != "" {
		t.Errorf("over stdio (-want +got):\n%s", diff)
	}
	server := startHTTP(t, operations, Options{Caller: thisProcess("a")})
	post(t, server.URL, callOf(1, "create_task", someTask), nil)
	if diff := cmp.Diff(task.Caller{Principal: task.Principal{Kind: "anonymous", ID: "http"}}, <-callers); diff != "" {
		t.Errorf("over HTTP (-want +got):\n%s", diff)
	}
}

func TestGetTask_staysUnderItsLimitOnTheWire(t *testing.T) {
	c := startStdio(t, newOperations(t), Options{Caller: thisProcess("")})
	c.initialize()
	control := strings.Repeat(`\u0001`, task.MaxEvidence)
	created := resultOf(t, c.ask(callOf(1, "create_task", `{"title":"t","acceptance_criteria":["<b>","`+strings.Repeat("&", task.MaxCriterion)+`"],"created_by":"a"}`)))
	if created.IsError {
		t.Fatalf("create: %v", created.Content)
	}
	var made task.Created
	if err := json.Unmarshal(created.StructuredContent, &made); err != nil {
		t.Fatal(err)
	}
	if result := resultOf(t, c.ask(callOf(2, "claim_done", `{"task_id":"`+string(made.TaskID)+`","agent_id":"a","evidence":"`+control+`"}`))); result.IsError {
		t.Fatalf("claim: %v", result.Content)
	}
	result := resultOf(t, c.ask(callOf(3, "get_task", `{"task_id":"`+string(made.TaskID)+`"}`)))
	if len(result.StructuredContent) > maxResultBytes || len(result.Content[0].Text) > maxResultBytes {
		t.Errorf("%d bytes as object and %d as text", len(result.StructuredContent), len(result.Content[0].Text))
	}
	var whole, asText task.Task
	if err := json.Unmarshal(result.StructuredContent, &whole); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(result.Content[0].Text), &asText); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, asText); diff != "" {
		t.Errorf("object and text differ:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"evidence"}, whole.Truncated); diff != "" {
		t.Errorf("truncated (-want +got):\n%s", diff)
	}
}

func TestEncode_leavesNoEscapeThatAModelWouldRead(t *testing.T) {
	for text, want := range map[string]string{
		`<&>`:          `"<&>"`,
		`\u003c`:       `"\\u003c"`,
		"\x01\\\"<":    `"\u0001\\\"<"`,
		`\\<`:          `"\\\\<"`,
		"\u2028":       `"\u2028"`,
		"é\U0001f600>": "\"é\U0001f600>\"",
	} {
		if got := string(encode(text)); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
		before := encode(map[string]any{"was": json.RawMessage(escape(text))})
		if got := string(before); got != `{"was":`+want+`}` {
			t.Errorf("%q, which was JSON before, became %s", text, got)
		}
	}
	if got := encode(json.RawMessage(`{`)); got != nil {
		t.Errorf("what is no JSON became %s", got)
	}
}
