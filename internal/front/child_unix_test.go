//go:build unix

package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const listCall = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestFront_answersForTheChildWhatItAsks(t *testing.T) {
	t.Parallel()
	final := begin(t, "server").ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`).final(t)
	want := `{"content":[],"structuredContent":{"ping":{},"sampling":{"code":-32601,"message":"sampling/createMessage has nobody to answer it: ` +
		`many clients share this server, and no capability was declared"}}}`
	if string(final.Result) != want {
		t.Errorf("the child was answered\n%s\nwant\n%s", final.Result, want)
	}
}

func TestFront_restartsAChildThatWasKilled(t *testing.T) {
	t.Parallel()
	f := begin(t, "server", func(l *limits) { l.firstDelay = 200 * time.Millisecond })
	f.ask(t, listCall)
	for range 3 {
		c, _, _ := f.state()
		if err := f.Alive(); err != nil || c == nil {
			t.Fatalf("Alive = %v", err)
		}
		if err := syscall.Kill(c.process.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-c.gone
		eventually(t, "it is seen to be down", func() bool { return f.Alive() != nil })
		if err := f.Alive(); err != nil && err.Error() != "the server behind the front is down: process_exit: signal: killed" {
			t.Errorf("Alive = %v", err)
		}
		eventually(t, "it is up again", func() bool { return f.Alive() == nil })
		if got := f.ask(t, listCall); got.final(t).Error != nil {
			t.Errorf("tools/list = %s", got.messages)
		}
	}
}

func TestFront_failsTheCallsOfAChildThatDies(t *testing.T) {
	t.Parallel()
	f := begin(t, "server", func(l *limits) { l.firstDelay, l.longestDelay = patience, patience })
	f.ask(t, listCall)
	over := f.hold(t.Context(), t, "")
	f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"die"}}`)
	got := <-over
	const died = "the server ended during the call: process_exit: exit status 4; standard error: I am dying"
	if problem := got.final(t).Error; problem == nil || problem.Message != died {
		t.Errorf("the call under way ends with %s", got.messages)
	}
	eventually(t, "it is seen to be down", func() bool { return f.Alive() != nil })
	for _, call := range []string{listCall, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`} {
		got := f.ask(t, call)
		if problem := got.final(t).Error; got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
			!strings.Contains(problem.Message, "is not ready: process_exit: exit status 4") {
			t.Errorf("while it is down: %d %s", got.status, got.messages)
		}
	}
}

func TestFront_boundsTheRestartsOfAChildThatCannotStart(t *testing.T) {
	t.Parallel()
	rows := map[string]string{
		"dies at once": "process_exit: exit status 3; standard error: no API key",
		"refuses":      "the server refused the handshake with error -32603: the database is down",
		"future only":  "the server refused the handshake with error -32022: unsupported",
	}
	for how, why := range rows {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := begin(t, how, func(l *limits) { l.firstDelay, l.longestDelay = 40*time.Millisecond, 80*time.Millisecond })
			eventually(t, "it is started three times", func() bool { return strings.Count(f.log.String(), "the child is down") >= 3 })
			if err := f.Alive(); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("Alive = %v, want %q", err, why)
			}
			for _, delay := range []string{"restart_in=40ms", "restart_in=80ms"} {
				if !strings.Contains(f.log.String(), delay) {
					t.Errorf("the log does not say %s:\n%s", delay, f.log)
				}
			}
		})
	}
}

func TestFront_saysThatACommandCannotBeStarted(t *testing.T) {
	t.Parallel()
	f := New(Options{Log: slog.New(slog.DiscardHandler)})
	f.options.Command.Path = "countersign-no-such-program"
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "executable file not found") || f.Started() {
		t.Errorf("Run = %v", err)
	}
}

func TestFront_givesASilentChildALimitedTime(t *testing.T) {
	t.Parallel()
	f := begin(t, "silent", func(l *limits) { l.start = 50 * time.Millisecond })
	got := f.ask(t, listCall)
	if problem := got.final(t).Error; got.status != http.StatusServiceUnavailable || !strings.Contains(problem.Message, "the handshake failed") {
		t.Errorf("tools/list = %d %s", got.status, got.messages)
	}
	if err := f.Alive(); err == nil {
		t.Error("a child that said nothing is alive")
	}
}

func TestFront_offersTheVersionThatAnOldChildNames(t *testing.T) {
	t.Parallel()
	f := begin(t, "old")
	f.ask(t, listCall)
	if c, _, _ := f.state(); c.hello.version != "2024-11-05" {
		t.Errorf("the child speaks %s", c.hello.version)
	}
}

func TestFront_isNotDeceivedByALiar(t *testing.T) {
	t.Parallel()
	f := begin(t, "liar")
	for call := range 20 {
		f.checkCall(t, "client", call)
	}
	if got := f.ask(t, listCall); !strings.Contains(string(got.final(t).Result), `"echo"`) {
		t.Errorf("tools/list = %s", got.messages)
	}
}

func TestFront_containsResultsThatAreNone(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	odd := func(result string) answer {
		return f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"odd","arguments":{"result":`+result+`}}}`)
	}
	for result, want := range map[string]string{
		`5`:               "the server's result is no JSON object",
		`[{}]`:            "the server's result is no JSON object",
		`"!{\"code\":1}"`: "the server's result is no JSON object",
	} {
		if problem := odd(result).final(t).Error; problem == nil || problem.Message != want {
			t.Errorf("%s: %+v", result, problem)
		}
	}
	large := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large"}}`).final(t)
	if large.Error == nil || !strings.Contains(large.Error.Message, "too large") {
		t.Errorf("a large result: %+v", large.Error)
	}
	if got := f.ask(t, listCall); got.final(t).Error != nil {
		t.Errorf("afterwards tools/list = %s", got.messages)
	}
}

func TestReply_replacesErrorsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`5`, `"no"`, `[]`, `{}`, `{"code":1}`, `{"message":"x"}`, `{"code":"1","message":"x"}`, `{"code":1.5,"message":"x"}`, `{"code":1,"message":null}`} {
		if problem := passed(t, raw); problem.Code != codeInternal {
			t.Errorf("%s is passed on as %+v", raw, problem)
		}
	}
	if problem := passed(t, `{"code":-1,"message":"x","data":[1]}`); problem.Code != -1 || string(problem.Data) != "[1]" {
		t.Errorf("an error is passed on as %+v", problem)
	}
}

func TestProofs_sayWhetherTheChildWorks(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	if listed, err := f.ProveTools(t.Context()); err != nil || listed != "listed 4 tools" {
		t.Errorf("ProveTools = %q, %v", listed, err)
	}
	rows := []struct {
		canary registry.Canary
		want   string
	}{
		{registry.Canary{Tool: "echo"}, ""},
		{registry.Canary{Tool: "echo", Arguments: json.RawMessage(`{"a":1}`), Expect: registry.Expectation{Path: "$.a", Equals: json.RawMessage("1")}}, ""},
		{registry.Canary{Tool: "echo", Expect: registry.Expectation{Matches: regexp.MustCompile("no")}}, "the call of echo: the text does not match no: ok"},
		{registry.Canary{Tool: "plain"}, "the tool plain is not marked read-only; it is called only with force: true"},
		{registry.Canary{Tool: "erase"}, "the tool erase is not marked read-only; it is called only with force: true"},
		{registry.Canary{Tool: "none"}, "there is no tool none"},
		{registry.Canary{Tool: "none", Force: true}, `the call of none failed: the server answered with the error {"code":-32602,"message":"unknown tool","data":{"name":"none"}}`},
	}
	for _, row := range rows {
		got := ""
		if err := f.ProveCanary(row.canary)(t.Context()); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("the canary %s: %q, want %q", row.canary.Tool, got, row.want)
		}
	}
	down := begin(t, "dies at once", func(l *limits) { l.firstDelay = patience })
	if _, err := down.ProveTools(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("ProveTools of a child that died = %v", err)
	}
}

func TestFront_endsTheChildWithItself(t *testing.T) {
	t.Parallel()
	f := New(begin(t, "server").options)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	c, err := f.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-over; err != nil {
		t.Errorf("Run = %v", err)
	}
	if exit := c.process.Exit(); exit.Code != 0 {
		t.Errorf("the child ended with %v", exit)
	}
	if err := syscall.Kill(c.process.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v", c.process.PID(), err)
	}
	if err := f.Alive(); fmt.Sprint(err) != "the server behind the front is down: the front is being ended" {
		t.Errorf("Alive = %v", err)
	}
}
