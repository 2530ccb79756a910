//go:build unix

package mcpwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// receive returns the next message of a process, which must come.
func receive(t *testing.T, process *mcpwire.Process) mcpwire.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := process.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// failed is the failure of the next message.
func failed(t *testing.T, process *mcpwire.Process, within time.Duration) *mcpwire.Failure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	got, err := process.Receive(ctx)
	failure, ok := errors.AsType[*mcpwire.Failure](err)
	if !ok {
		t.Fatalf("Receive = %+v, %v; want a failure", got, err)
	}
	return failure
}

func TestProcess_carriesMessagesOfManyBothWays(t *testing.T) {
	t.Parallel()
	process := startChild(t, "echo")
	const callers, calls = 4, 50
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for call := range calls {
				message := fmt.Sprintf("{\"jsonrpc\":\"2.0\",\n\"id\":%d,\"method\":\"echo\",\"params\":{\"a\": \"b\\n\"}}", caller*calls+call)
				if err := process.Send(t.Context(), []byte(message)); err != nil {
					t.Errorf("Send = %v", err)
				}
			}
		})
	}
	seen := map[string]bool{}
	for range callers * calls {
		got := receive(t, process)
		if string(got.Result) != `{"a":"b\n"}` || seen[string(got.ID)] {
			t.Errorf("answer %s holds %s", got.ID, got.Result)
		}
		seen[string(got.ID)] = true
	}
	all.Wait()
	if exit := process.Close(t.Context()); exit.Code != 0 || exit.String() != "exit status 0" {
		t.Errorf("after the end of its input: %v (%+v)", exit, exit)
	}
	if warnings := process.Warnings(); warnings != nil {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestProcess_leavesJunkAsideAndCountsIt(t *testing.T) {
	t.Parallel()
	process := startChild(t, "junk")
	if err := process.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, process); string(got.ID) != "1" {
		t.Errorf("the first message is %+v", got)
	}
	want := "[lines on standard output that are no JSON-RPC message: 3, the first: Server starting... answers without an id: 1]"
	if got := fmt.Sprint(process.Warnings()); got != want {
		t.Errorf("warnings = %s\nwant %s", got, want)
	}
}

func TestProcess_saysWhyItIsOver(t *testing.T) {
	t.Parallel()
	cases := []struct {
		behaviour string
		within    time.Duration
		cause     registry.Cause
		detail    string
	}{
		{"fails", patience, registry.ProcessExit, "exit status 7; standard error: no API key: [secret]"},
		{"killed", patience, registry.ProcessExit, "signal: killed"},
		{"mute", patience, registry.ProtocolError, "the process closed its standard output and runs on"},
		{"silent", 2 * time.Second, registry.Timeout, "the time ran out while waiting for an answer; standard error: waiting for the database"},
		{"endless", patience, registry.TooLarge, "a message is larger than 4194304 bytes"},
	}
	for _, c := range cases {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			failure := failed(t, startChild(t, c.behaviour), c.within)
			if failure.Cause != c.cause || failure.Detail != c.detail {
				t.Errorf("failure = %v\nwant %s: %s", failure, c.cause, c.detail)
			}
		})
	}
}

func TestProcess_saysThatALineIsTooLongBeforeItsEnd(t *testing.T) {
	t.Parallel()
	process := startChild(t, "begins a long line")
	failure := failed(t, process, 100*time.Millisecond)
	for end := time.Now().Add(patience); failure.Cause == registry.Timeout && time.Now().Before(end); {
		failure = failed(t, process, 100*time.Millisecond)
	}
	if failure.Cause != registry.TooLarge {
		t.Errorf("failure = %v", failure)
	}
}

func TestProcess_givesItsLastMessageBeforeItsEnd(t *testing.T) {
	t.Parallel()
	for child, code := range map[string]int{"answers and is gone": 3, "ends without newline": 0} {
		process := startChild(t, child)
		if got := receive(t, process); string(got.Result) != "{}" {
			t.Errorf("%s: %+v", child, got)
		}
		if failure := failed(t, process, patience); failure.Cause != registry.ProcessExit {
			t.Errorf("%s: %v", child, failure)
		}
		if exit := process.Exit(); exit.Code != code || exit.Signal != "" {
			t.Errorf("%s: %+v", child, exit)
		}
	}
}

func TestProcess_skipsALineThatIsTooLongAndNamesItsRequest(t *testing.T) {
	t.Parallel()
	process := startChild(t, "long")
	got, err := process.Receive(t.Context())
	if failure, ok := errors.AsType[*mcpwire.Failure](err); !ok || failure.Cause != registry.TooLarge || string(got.ID) != "42" {
		t.Errorf("the long line = %+v, %v", got, err)
	}
	if next := receive(t, process); string(next.ID) != "43" {
		t.Errorf("after it comes %+v", next)
	}
}

func TestProcess_keepsTheEndOfStandardErrorBounded(t *testing.T) {
	t.Parallel()
	process := startChild(t, "chatters")
	<-process.Exited()
	lines := strings.Split(process.Stderr(), "\n")
	if len(lines) != mcpwire.MaxStderrLines || !strings.HasPrefix(lines[len(lines)-1], "line 49 ") || len(lines[0]) != mcpwire.MaxStderrLine {
		t.Errorf("%d lines, the first of %d bytes: %.40s ... %.40s", len(lines), len(lines[0]), lines[0], lines[len(lines)-1])
	}
}

func TestProcess_doesNotWaitForAReader(t *testing.T) {
	t.Parallel()
	for child, cause := range map[string]registry.Cause{"asleep": registry.Timeout, "deaf": registry.ProtocolError, "fails": registry.ProcessExit} {
		process := startChild(t, child)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		large := []byte(`{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 1<<20) + `"}`)
		var err error
		for err == nil {
			err = process.Send(ctx, large)
		}
		cancel()
		if failure, ok := errors.AsType[*mcpwire.Failure](err); !ok || failure.Cause != cause {
			t.Errorf("%s: Send = %v, want %s", child, err, cause)
		}
	}
}

func TestProcess_refusesToSendWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	if err := startChild(t, "echo").Send(t.Context(), []byte("{\n")); err == nil {
		t.Error("half a message was sent")
	}
}

func TestStartProcess_saysWhyNothingWasStarted(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	plain := directory + "/plain"
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, detail := range map[string]string{
		"countersign-no-such-program": "executable file not found",
		directory + "/missing":        "missing: no such file",
		plain:                         "plain: permission denied",
	} {
		process, err := mcpwire.StartProcess(t.Context(), mcpwire.Command{Path: path, Args: []string{"--key=hidden"}})
		failure, ok := errors.AsType[*mcpwire.Failure](err)
		if process != nil || !ok || failure.Cause != registry.ProcessStart || !strings.Contains(failure.Detail, detail) {
			t.Errorf("StartProcess(%s) = %v", path, err)
		}
		if strings.Contains(fmt.Sprint(err), "hidden") || strings.Contains(fmt.Sprint(err), directory) {
			t.Errorf("the failure tells too much: %v", err)
		}
	}
}

func TestClose_endsWhoeverIsInTheGroup(t *testing.T) {
	t.Parallel()
	cases := []struct {
		behaviour, exit string
	}{
		{"leaves a grandchild", "exit status 0"},
		{"waits for its own", "signal: terminated"},
	}
	for _, c := range cases {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			process := startChild(t, c.behaviour)
			var pid int
			if err := json.Unmarshal(receive(t, process).Params, &pid); err != nil {
				t.Fatal(err)
			}
			if exit := process.Close(t.Context()); exit.String() != c.exit {
				t.Errorf("the child ended with %v, want %s", exit, c.exit)
			}
			awaitNoProcess(t, pid)
		})
	}
}

// awaitNoProcess waits until a killed process was reaped by whoever adopted it.
func awaitNoProcess(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("process %d still runs", pid)
}

// isZombie tells a process that has ended from one that runs. Where nobody reaps
// orphans, as in some containers, ended ones stay.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	return err == nil && strings.HasPrefix(after, "Z")
}

func TestClose_killsWhoIgnoresEverything(t *testing.T) {
	t.Parallel()
	process := startChild(t, "stubborn")
	receive(t, process)
	if exit := process.Close(t.Context()); exit.Signal != "killed" || exit.Code != -1 {
		t.Errorf("the child ended with %+v", exit)
	}
	if exit := process.Close(t.Context()); exit.Signal != "killed" {
		t.Errorf("the second Close = %+v", exit)
	}
	if failure := failed(t, process, patience); failure.Cause != registry.ProcessExit {
		t.Errorf("Receive after Close: %v", failure)
	}
}

func TestClose_killsAtOnceWhenTheContextIsDone(t *testing.T) {
	t.Parallel()
	for _, child := range []string{"asleep", "endless", "deaf"} {
		process := startChild(t, child)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if exit := process.Close(ctx); exit.Signal != "killed" && exit.Signal != "terminated" {
			t.Errorf("%s ended with %+v", child, exit)
		}
	}
}

// TestProcess_leavesNothingBehind does not run in parallel, since it counts.
func TestProcess_leavesNothingBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	startChild(t, "asleep").Close(ctx) // the runtime opens files of its own at the first wait
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 10 {
		for _, child := range []string{"echo", "fails", "mute", "deaf", "endless", "leaves a grandchild", "asleep"} {
			startChild(t, child).Close(ctx)
		}
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		runtime.Gosched()
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("goroutines: %d before, %d after", goroutines, now)
	}
	if now := openFiles(t); now > files {
		t.Errorf("open files: %d before, %d after", files, now)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func TestReceive_blamesALineWithoutEndAlsoForTheEndOfItsProcess(t *testing.T) {
	t.Parallel()
	process := startChild(t, "endless")
	for range 2 { // the second time the process has died of not being read
		if _, err := process.Receive(t.Context()); !isCause(err, registry.TooLarge) {
			t.Errorf("received %v, want too_large", err)
		}
		<-process.Exited()
	}
}

func TestClient_doesNotCallAProcessEndedThatDiedOfNotBeingRead(t *testing.T) {
	t.Parallel()
	client := mcpwire.New(mcpwire.Target{Command: mcpwire.Command{Path: os.Args[0], Env: []string{behaviour + "=endless"}}}, mcpwire.Settings{})
	defer client.Close(t.Context())
	if err := client.Handshake(t.Context()); !isCause(err, registry.TooLarge) {
		t.Fatalf("the handshake ends with %v, want too_large", err)
	}
	<-client.Exited()
	if ended := client.Ended(); ended != nil {
		t.Errorf("it has ended by itself: %v", ended)
	}
}

func isCause(err error, cause registry.Cause) bool {
	failure, ok := errors.AsType[*mcpwire.Failure](err)
	return ok && failure.Cause == cause
}
