//go:build unix

package front

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFront_keepsClientsApart has three clients use the same ids and the same
// progress tokens at the same time.
func TestFront_keepsClientsApart(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	const calls, atOnce = 200, 16
	var all sync.WaitGroup
	for _, client := range []string{"first", "second", "modern"} {
		places := make(chan struct{}, atOnce)
		for call := range calls {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				f.checkCall(t, client, call)
			})
		}
	}
	all.Wait()
	eventually(t, "no call is left", func() bool { return f.underWay() == 0 && f.cancellable() == 0 })
}

func (f *fronted) cancellable() int {
	f.running.Lock()
	defer f.running.Unlock()
	return len(f.calls)
}

// checkCall makes a call whose answer and progress bear a mark, and compares.
func (f *fronted) checkCall(t *testing.T, client string, call int) {
	mark := fmt.Sprintf(`{"client":%q,"call":%d}`, client, call)
	tool := []string{"echo", "count"}[call%2]
	meta := fmt.Sprintf(`"progressToken":%d`, call)
	header := []string{"Mcp-Session-Id", client}
	if client == "modern" {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		header = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, call, tool, mark, meta)
	got, err := f.post(t.Context(), t, body, header...)
	if err != nil || got.status != http.StatusOK || len(got.messages) == 0 {
		t.Errorf("%s, call %d: %d %s, %v", client, call, got.status, got.messages, err)
		return
	}
	final := got.messages[len(got.messages)-1]
	if !strings.Contains(string(final), `"structuredContent":`+mark) || !strings.Contains(string(final), `"id":`+strconv.Itoa(call)) {
		t.Errorf("%s, call %d is answered by %s", client, call, final)
	}
	if strings.Contains(string(final), `"progressToken":`+strconv.Itoa(call)+`,`) {
		t.Errorf("%s, call %d: the child saw the token of the client", client, call)
	}
	progress := got.messages[:len(got.messages)-1]
	if tool == "count" && len(progress) != 5 || tool == "echo" && len(progress) != 0 {
		t.Errorf("%s, call %d: %d notifications", client, call, len(progress))
	}
	for i, each := range progress {
		want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":%s,"progress":%d,"progressToken":%d,"total":5}}`, mark, i, call)
		if string(each) != want {
			t.Errorf("%s, call %d: progress %s\nwant %s", client, call, each, want)
		}
	}
}

func TestFront_withholdsProgressFromWhoTakesNoStream(t *testing.T) {
	t.Parallel()
	got := begin(t, "server").ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":1}}}`,
		"Accept", "application/json")
	if len(got.messages) != 1 || !strings.Contains(string(got.messages[0]), `"_meta":{"seen":null}`) {
		t.Errorf("%s", got.messages)
	}
}

// waitCall is a call that ends when it is cancelled, and tells when it has begun.
const waitCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":"w"}}}`

// hold makes the call and returns when the child works on it.
func (f *fronted) hold(ctx context.Context, t *testing.T, session string) (over chan answer) {
	t.Helper()
	before := f.seen(t).Waiting
	over = f.wait(ctx, t, session)
	eventually(t, "the child works on the call", func() bool { return f.seen(t).Waiting == before+1 })
	return over
}

// wait makes the call.
func (f *fronted) wait(ctx context.Context, t *testing.T, session string) (over chan answer) {
	t.Helper()
	over = make(chan answer, 1)
	go func() {
		got, _ := f.post(ctx, t, waitCall, "Mcp-Session-Id", session)
		over <- got
	}()
	return over
}

func (f *fronted) underWay() int {
	c, _, _ := f.state()
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// seen is what the child has seen.
type seen struct {
	Reasons []string `json:"reasons"` // of the cancellations that it was told of
	Waiting int      `json:"waiting"` // calls that wait, or waited
}

func (f *fronted) seen(t *testing.T) seen {
	t.Helper()
	final := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ended"}}`).final(t)
	var said struct {
		StructuredContent seen `json:"structuredContent"`
	}
	if err := json.Unmarshal(final.Result, &said); err != nil {
		t.Fatal(err)
	}
	return said.StructuredContent
}

func (f *fronted) reasons(t *testing.T) []string {
	t.Helper()
	return f.seen(t).Reasons
}

func TestFront_tellsTheChildWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	ctx, leave := context.WithCancel(t.Context())
	over := f.hold(ctx, t, "")
	leave()
	<-over
	eventually(t, "the child is told", func() bool { return fmt.Sprint(f.reasons(t)) == "[the client closed the connection]" })
}

func TestFront_cancelsTheCallOfTheClientThatAsksAndNoOther(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	first, second := f.hold(t.Context(), t, "first"), f.hold(t.Context(), t, "second")
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
	for _, header := range [][]string{nil, {"Mcp-Session-Id", "third"}, {"Mcp-Session-Id", "second x"}} {
		f.ask(t, fmt.Sprintf(cancel, "7"), header...)
	}
	f.ask(t, fmt.Sprintf(cancel, `"7"`), "Mcp-Session-Id", "first")
	f.ask(t, fmt.Sprintf(cancel, `8`), "Mcp-Session-Id", "first")
	if reasons := f.reasons(t); len(reasons) != 0 {
		t.Errorf("the child was told to cancel: %q", reasons)
	}
	f.ask(t, fmt.Sprintf(cancel, "7"), "Mcp-Session-Id", "second")
	got := <-second
	for _, message := range got.messages {
		if !strings.Contains(string(message), "notifications/progress") {
			t.Errorf("after its cancellation the call is answered by %s", message)
		}
	}
	if reasons := fmt.Sprint(f.reasons(t)); reasons != "[the client cancelled the request]" || got.status != http.StatusOK {
		t.Errorf("reasons %s, status %d", reasons, got.status)
	}
	f.ask(t, fmt.Sprintf(cancel, "7"), "Mcp-Session-Id", "first")
	<-first
}

func TestFront_endsACallThatIsOverdue(t *testing.T) {
	t.Parallel()
	f := begin(t, "server", func(l *limits) { l.call = patience / 300 })
	if _, err := f.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	problem := f.ask(t, waitCall).final(t).Error
	if problem == nil || problem.Code != codeInternal || problem.Message != "the server did not answer in time" {
		t.Errorf("the call ends with %+v", problem)
	}
	if reasons := fmt.Sprint(f.reasons(t)); reasons != "[the server did not answer in time]" {
		t.Errorf("reasons %s", reasons)
	}
}

func TestFront_hasCallsWaitWhenTheChildHasEnough(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var held []chan answer
	for range maxUnderWay {
		held = append(held, f.wait(ctx, t, ""))
	}
	eventually(t, "the child has enough", func() bool { return f.underWay() == maxUnderWay })
	waiting, impatient := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := f.post(waiting, t, waitCall)
		over <- err
	}()
	if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != http.StatusOK || f.underWay() != maxUnderWay {
		t.Errorf("ping = %d, while the child works on %d calls", got.status, f.underWay())
	}
	impatient()
	if err := <-over; err == nil {
		t.Error("the call over the limit was answered")
	}
	leave()
	for _, each := range held {
		<-each
	}
	if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got.final(t).Error != nil {
		t.Errorf("afterwards tools/list = %s", got.messages)
	}
}

func TestFront_refusesMoreBytesThanItHolds(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	if !f.held.TryAcquire(maxHeld) {
		t.Fatal("there is no room at the start")
	}
	if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("ping = %d", got.status)
	}
	f.held.Release(maxHeld)
	if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != http.StatusOK {
		t.Errorf("afterwards ping = %d", got.status)
	}
}

func TestFront_doesNotWaitForAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f := begin(t, "server", func(l *limits) { l.write = 50 * time.Millisecond })
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood","_meta":{"progressToken":1}}}`
	const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if _, err := fmt.Fprintf(connection, head+"Content-Length: %d\r\n\r\n%s", len(call), call); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is told", func() bool { return fmt.Sprint(f.reasons(t)) == "[the client closed the connection]" })
}

func TestFront_setsNoDeadlineToTheNextRequestOfAConnection(t *testing.T) {
	t.Parallel()
	f := begin(t, "server", func(l *limits) { l.write = 20 * time.Millisecond })
	for range 5 {
		if got := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != http.StatusOK {
			t.Errorf("ping = %d", got.status)
		}
		<-time.After(2 * f.limits.write)
	}
}
