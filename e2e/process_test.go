//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of waiting; they are generous, since nothing here measures speed.
const (
	startTimeout = 2 * time.Minute // until a process says what it is waited for
	runTimeout   = 3 * time.Minute // until a command has ended
	stopTimeout  = 20 * time.Second
)

// maxShown is how much of what a process said is shown of a failed test.
const maxShown = 4000

// process is a program that runs beside a test, in a process group of its own.
type process struct {
	command *exec.Cmd
	output  *transcript
	ended   chan struct{}
}

// transcript collects what a process prints and wakes whoever waits for it.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	close(t.changed)
	t.changed = make(chan struct{})
	return len(p), nil
}

func (t *transcript) read() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String(), t.changed
}

// start starts a program in the folder. The test ends it, and whatever it has
// started, when it ends itself.
func start(t *testing.T, folder string, env []string, argv ...string) *process {
	t.Helper()
	p, err := launch(folder, env, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			said, _ := p.output.read()
			t.Logf("%v said at last:\n%s", argv, said[max(0, len(said)-maxShown):])
		}
	})
	return p
}

// launch starts a program; kill it in the end.
func launch(folder string, env []string, argv ...string) (*process, error) {
	p := &process{command: exec.Command(argv[0], argv[1:]...), output: newTranscript(), ended: make(chan struct{})}
	p.command.Dir, p.command.Env = folder, env
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.WaitDelay = stopTimeout
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %v: %w", argv, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // whoever stops the process looks at its state
	}()
	return p, nil
}

// kill kills the process group and reaps the process.
func (p *process) kill() {
	_ = p.signal(syscall.SIGKILL) // it may have ended by itself
	<-p.ended
}

// signal sends a signal to the process group.
func (p *process) signal(s syscall.Signal) error { return syscall.Kill(-p.command.Process.Pid, s) }

// await waits until the output matches, and returns the match and its groups.
func (p *process) await(t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	text, appeared := p.awaitText(expression.MatchString)
	if !appeared {
		t.Fatalf("%v did not say %q but:\n%s", p.command.Args, pattern, text)
	}
	return expression.FindStringSubmatch(text)
}

// awaitText waits until the output is as wanted, and returns the output. It is
// never so when the process has ended or the time is up.
func (p *process) awaitText(wanted func(text string) bool) (string, bool) {
	deadline := time.After(startTimeout)
	for {
		text, changed := p.output.read()
		if wanted(text) {
			return text, true
		}
		select {
		case <-changed:
		case <-p.ended:
			text, _ := p.output.read()
			return text, wanted(text)
		case <-deadline:
			return text, false
		}
	}
}

// stop asks the process to end and returns its exit code.
func (p *process) stop(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := p.signal(s); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("signal %v: %v", p.command.Args, err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		t.Fatalf("%v did not end in %v after %v", p.command.Args, stopTimeout, s)
	}
	return p.command.ProcessState.ExitCode()
}

// outcome is what a command that has ended said.
type outcome struct {
	code   int
	stdout string
	stderr string
}

// run runs a command to its end. It is killed with its process group when it
// takes too long, and so is whatever it leaves behind.
func run(t *testing.T, folder string, env []string, argv ...string) outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	command.Dir, command.Env, command.Stdout, command.Stderr = folder, env, &stdout, &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = stopTimeout
	if err := command.Start(); err != nil {
		t.Fatalf("start %v: %v", argv, err)
	}
	overdue := time.AfterFunc(runTimeout, func() { _ = command.Cancel() })
	err := command.Wait()
	_ = command.Cancel() // what it started and left behind
	if !overdue.Stop() {
		t.Fatalf("%v did not end in %v; it said:\n%s%s", argv, runTimeout, &stdout, &stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %v: %v", argv, err)
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// environment is that of a user with nothing set up: a home of his own, and the
// binary in the path.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	env := []string{
		"HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "NO_COLOR=1",
		fmt.Sprintf("PATH=%s:%s", binaryFolder(), os.Getenv("PATH")),
	}
	return append(env, more...)
}
