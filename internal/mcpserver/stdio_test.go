package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/task"
)

const ping = `{"jsonrpc":"2.0","id":"ping","method":"ping"}`

func TestServeStdio_finishesWhatIsUnderWayBeforeItEnds(t *testing.T) {
	for _, ending := range []string{"input", "context"} {
		begun, finish := make(chan struct{}), make(chan struct{})
		operations := double{create: func(ctx context.Context, _ task.Caller, _ task.CreateRequest) (task.Created, error) {
			close(begun)
			<-finish
			return task.Created{Status: task.Pending}, ctx.Err()
		}}
		c := startStdio(t, operations, Options{})
		c.initialize()
		c.send(callOf(7, "create_task", someTask))
		<-begun
		if ending == "input" {
			shut(t, c.in)
		} else {
			c.cancel()
		}
		close(finish)
		if answer := c.receive(); resultOf(t, answer).IsError {
			t.Errorf("%s: %s", ending, answer)
		}
		if _, err := c.hangUp(); err != nil {
			t.Errorf("%s: ended with %v", ending, err)
		}
	}
}

func TestServeStdio_answersEachOfManyPipelinedCallsOnce(t *testing.T) {
	const calls = 10 * maxUnderWay
	c := startStdio(t, newOperations(t), Options{Caller: thisProcess("")})
	c.initialize()
	go func() {
		for id := range calls {
			// The pipe is open until every answer has come.
			_, _ = io.WriteString(c.in, callOf(id, "create_task", someTask)+"\nnot json\n")
		}
	}()
	seen, refused := map[int]int{}, 0
	for range 2 * calls {
		var answer struct {
			ID     *int
			Result toolResult
		}
		text := c.receive()
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if answer.ID == nil {
			refused++
			continue
		}
		if answer.Result.IsError {
			t.Errorf("call %d: %s", *answer.ID, text)
		}
		seen[*answer.ID]++
	}
	if len(seen) != calls || refused != calls {
		t.Errorf("%d calls were answered and %d lines refused, want %d of each", len(seen), refused, calls)
	}
}

func TestServeStdio_worksOnABoundedNumberOfCalls(t *testing.T) {
	begun, finish := make(chan struct{}, 4*maxUnderWay), make(chan struct{})
	operations := double{create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) {
		begun <- struct{}{}
		<-finish
		return task.Created{}, nil
	}}
	c := startStdio(t, operations, Options{})
	c.initialize()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for id := range 2 * maxUnderWay {
			_, _ = io.WriteString(c.in, callOf(id, "create_task", someTask)+"\n")
		}
	}()
	for range maxUnderWay {
		<-begun
	}
	select {
	case <-sent:
		t.Error("every line was read while the calls were under way")
	case <-begun:
		t.Errorf("more than %d calls are under way", maxUnderWay)
	default:
	}
	close(finish)
	for range 2 * maxUnderWay {
		c.receive()
	}
}

func TestServeStdio_refusesAnIDThatIsUnderWay(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	operations := double{create: func(context.Context, task.Caller, task.CreateRequest) (task.Created, error) {
		close(begun)
		<-finish
		return task.Created{}, nil
	}}
	c := startStdio(t, operations, Options{})
	c.initialize()
	c.send(callOf(7, "create_task", someTask))
	<-begun
	got := c.ask(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	if !strings.Contains(got, "-32600") || !strings.Contains(got, `"id":null`) || !strings.Contains(got, "id 7 is") {
		t.Errorf("the second use: %s", got)
	}
	close(finish)
	if got := c.receive(); resultOf(t, got).IsError {
		t.Errorf("the first use: %s", got)
	}
	c.ask(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
}

// An id that could not come back as it was sent is refused, and only the member
// called id, in lower case, is one.
func TestServeStdio_answersUnderTheIDThatWasSent(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { answersUnderTheID(t, connect(t, server)) })
}

func answersUnderTheID(t *testing.T, c *client) {
	t.Helper()
	c.initialize()
	if got := c.ask(`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`); !strings.Contains(got, "-32600") || !strings.Contains(got, `"id":null`) {
		t.Errorf("half of a surrogate pair: %s", got)
	}
	long := strings.Repeat("x", task.MaxRequest)
	if got := c.ask(`{"jsonrpc":"2.0","id":1,"ID":2,"method":"tools/call","Method":"ping","params":"` + long + `"}`); !strings.Contains(got, `"id":1`) || !strings.Contains(got, "E_TOO_LARGE") {
		t.Errorf("two spellings: %s", got)
	}
}

func TestServeStdio_answersLinesThatAreTooLong(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { answersLongLines(t, connect(t, server)) })
}

func answersLongLines(t *testing.T, c *client) {
	t.Helper()
	c.initialize()
	filler := func(bytes int) string { return strings.Repeat("x", bytes) }
	create := func(evidence string) string {
		return callOf(5, "claim_done", `{"task_id":"t","agent_id":"a","evidence":"`+evidence+`"}`)
	}
	if said := faultOf(t, c.ask(create(filler(task.MaxRequest)))); said["code"] != "E_TOO_LARGE" || said["limit"] != float64(task.MaxRequest) {
		t.Errorf("a tool call over the limit: %v", said)
	}
	for name, text := range map[string]string{
		"another method":     `{"method":"ping","params":{"x":"` + filler(task.MaxRequest) + `"},"jsonrpc":"2.0","id":5}`,
		"no JSON":            filler(task.MaxRequest + 1),
		"far over the limit": create(filler(maxReadable)),
		"endless":            filler(3 * maxReadable),
	} {
		got := c.ask(text)
		if !strings.Contains(got, "-32600") || !strings.Contains(got, "E_TOO_LARGE") || !strings.Contains(got, fmt.Sprint(task.MaxRequest)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestServeStdio_leavesToTheGateWhatIsUnderTheLimitOfALine(t *testing.T) {
	c := startStdio(t, newOperations(t), Options{Caller: thisProcess("")})
	c.initialize()
	evidence := strings.Repeat("x", task.MaxRequest-200)
	claim := callOf(5, "claim_done", `{"task_id":"t","agent_id":"a","evidence":"`+evidence+`"}`)
	if said := faultOf(t, c.ask(claim)); said["code"] != "E_TOO_LARGE" || said["limit"] != float64(task.MaxEvidence) {
		t.Errorf("a tool call under the limit: %v", said)
	}
}

func TestServeStdio_answersBytesThatAreNoUTF8(t *testing.T) {
	eachToolSet(t, func(t *testing.T, server *Server, _ int) { answersNoUTF8(t, connect(t, server)) })
}

func answersNoUTF8(t *testing.T, c *client) {
	t.Helper()
	c.initialize()
	for _, text := range []string{"\xff", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + "\xc3" + `"}}`, "\x00"} {
		if got := c.ask(text); !strings.Contains(got, "-32700") {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got, want := c.ask(ping), `{"jsonrpc":"2.0","id":"ping","result":{}}`; got != want {
		t.Errorf("afterwards: %s", got)
	}
}

func TestServeStdio_servesALastLineWithoutAnEnd(t *testing.T) {
	c := startStdio(t, newOperations(t), Options{Caller: thisProcess("")})
	c.initialize()
	if _, err := io.WriteString(c.in, ping); err != nil {
		t.Fatal(err)
	}
	rest, err := c.hangUp()
	if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":"ping","result":{}}`}, rest); diff != "" || err != nil {
		t.Errorf("ended with %v (-want +got):\n%s", err, diff)
	}
}

func TestServeStdio_saysWhenItsInputOrOutputBreaks(t *testing.T) {
	broken := errors.New("broken")
	server := New(newOperations(t), Options{})
	in, toServer := io.Pipe()
	toServer.CloseWithError(broken)
	if err := server.ServeStdio(t.Context(), in, io.Discard); !errors.Is(err, broken) {
		t.Errorf("broken input: %v", err)
	}
	out, fromServer := io.Pipe()
	out.CloseWithError(broken)
	if err := server.ServeStdio(t.Context(), strings.NewReader("x\n"), fromServer); !errors.Is(err, broken) {
		t.Errorf("broken output: %v", err)
	}
}
