//go:build unix

package mcpwire_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// behaviour is the variable that makes the test binary a child of a test.
const behaviour = "COUNTERSIGN_TEST_CHILD"

func TestMain(m *testing.M) {
	if child, ok := children()[os.Getenv(behaviour)]; ok {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are the behaviours of a child, by name.
func children() map[string]func() {
	return map[string]func(){
		"echo": echo,
		"junk": func() {
			fmt.Fprint(os.Stdout, "Server starting...\n\n\ufeff\n[1,2]\n{\"jsonrpc\":\"2.0\",\"result\":null}\n{\"jsonrpc\":\"1.0\"}\n")
			echo()
		},
		"fails": func() { fmt.Fprintln(os.Stderr, "no API key: s3cret"); os.Exit(7) },
		"silent": func() {
			fmt.Fprintln(os.Stderr, "waiting for the database")
			_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		},
		"endless": func() {
			piece := strings.Repeat("x", 64<<10)
			for {
				if _, err := fmt.Fprint(os.Stdout, piece); err != nil {
					return
				}
			}
		},
		"long": func() {
			fmt.Fprintf(os.Stdout, "{\"result\":{\"id\":1,\"text\":\"%s\"},\"jsonrpc\":\"2.0\",\"id\": 42 }\n", strings.Repeat(`\"}`, mcpwire.MaxLineBytes/3))
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":43,"result":{}}`)
			stay()
		},
		"begins a long line": func() { fmt.Fprint(os.Stdout, strings.Repeat("x", mcpwire.MaxLineBytes+256<<10)); stay() },
		"mute":               func() { _ = os.Stdout.Close(); stay() },
		"deaf":               func() { _ = os.Stdin.Close(); stay() },
		"asleep":             stay,
		"stubborn": func() {
			signal.Ignore(syscall.SIGTERM)
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","method":"ready"}`)
			stay()
		},
		"leaves a grandchild":  func() { grandchild("asleep") },
		"waits for its own":    func() { grandchild("stubborn"); stay() },
		"answers and is gone":  func() { fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":1,"result":{}}`); os.Exit(3) },
		"ends without newline": func() { fmt.Fprint(os.Stdout, `{"jsonrpc":"2.0","id":1,"result":{}}`) },
		"chatters": func() {
			for i := range 50 {
				fmt.Fprintf(os.Stderr, "line %d %s\n", i, strings.Repeat("y", 100*mcpwire.MaxStderrLine))
			}
			os.Exit(1)
		},
		"killed": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); stay() },
	}
}

// stay outlives the end of its input.
func stay() {
	for range time.Tick(time.Hour) {
		continue
	}
}

// echo answers each request with its params.
func echo() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text := lines.Text()
		id, params, _ := strings.Cut(strings.TrimPrefix(text, `{"jsonrpc":"2.0","id":`), `,"method":"echo","params":`)
		fmt.Fprintf(os.Stdout, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s\n", id, params)
	}
}

// grandchild starts another child that shares the pipes, and tells its number.
func grandchild(how string) {
	command := exec.CommandContext(context.Background(), os.Args[0])
	command.Env = append(os.Environ(), behaviour+"="+how)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stdout, "{\"jsonrpc\":\"2.0\",\"method\":\"grandchild\",\"params\":%d}\n", command.Process.Pid)
}

// startChild starts the behaviour and ends it with the test.
func startChild(t *testing.T, how string) *mcpwire.Process {
	t.Helper()
	process, err := mcpwire.StartProcess(t.Context(), mcpwire.Command{
		Path: os.Args[0], Env: []string{behaviour + "=" + how},
		Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[secret]") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		process.Close(ctx)
	})
	return process
}
