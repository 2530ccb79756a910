package mcpwire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of a process.
const (
	MaxLineBytes   = 4 << 20  // bytes of one message of the process
	MaxSkipped     = 64 << 20 // bytes of a longer line that are read to find its end
	MaxStderrLines = 10       // last lines of standard error that are kept
	MaxStderrLine  = 500      // bytes of each of them

	stdinPatience = 3 * time.Second        // from the end of its input to SIGTERM
	termPatience  = 2 * time.Second        // from SIGTERM to SIGKILL
	killPatience  = 5 * time.Second        // until a killed process must be gone
	leftoverLimit = 500 * time.Millisecond // for what an ended process left in its pipes
	closedLimit   = time.Second            // from the end of its output to its exit
)

// Command says which server to start.
type Command struct {
	Path string   // a name to look up on PATH, or the path of the program
	Args []string // without the name of the program
	Env  []string // NAME=value, added to the environment of this process
	Dir  string   // the working directory; empty for that of this process

	// Redact cleans what the process wrote before any of it is quoted in a
	// failure or a warning; nil when there is nothing to hide.
	Redact func(string) string
	// Log is called with each line of standard error, cleaned and shortened to
	// MaxStderrLine bytes, from one goroutine; nil for nobody.
	Log func(line string)
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // -1 when it was ended by a signal
	Signal string // the signal that ended it, such as "killed"; empty for none
	text   string
}

// String is such as "exit status 1" or "signal: killed".
func (e Exit) String() string { return e.text }

// Process is a server that speaks JSON-RPC over its standard streams, a message
// a line. It leads a process group of its own, and the group ends with it. Send
// may be called by many, Receive by one at a time; Close must be called.
type Process struct {
	command  *exec.Cmd
	redact   func(string) string
	stdin    *os.File
	stdout   *os.File
	outbox   chan []byte
	messages chan received

	closing chan struct{} // Close was called
	deaf    chan struct{} // nothing more can be written
	exited  chan struct{} // reaped, its group swept, its last words read
	exit    Exit          // after exited

	ending  sync.Once
	working sync.WaitGroup
	within  atomic.Bool // the reader is within a line that is too long
	flooded atomic.Bool // a line was so long that nothing more is read
	heard   *lastLines
	odd     oddities
}

// StartProcess starts the command, which lives until Close, whatever becomes of
// ctx. An error is a *Failure with the cause process_start; it names the program
// and not its arguments, which may hold secrets.
func StartProcess(ctx context.Context, command Command) (*Process, error) {
	redact := command.Redact
	if redact == nil {
		redact = func(text string) string { return text }
	}
	p := &Process{
		redact:   redact,
		outbox:   make(chan []byte),
		messages: make(chan received),
		closing:  make(chan struct{}),
		deaf:     make(chan struct{}),
		exited:   make(chan struct{}),
		heard:    &lastLines{log: command.Log, redact: redact},
	}
	p.command = exec.CommandContext(context.WithoutCancel(ctx), command.Path, command.Args...)
	p.command.Dir = command.Dir
	p.command.Env = append(p.command.Environ(), command.Env...)
	ownGroup(p.command)
	stderr, err := p.start()
	if err != nil {
		return nil, &Failure{
			Cause:  registry.ProcessStart,
			Detail: registry.Shorten(redact(startProblem(command.Path, err)), registry.MaxDetail),
			err:    err,
		}
	}
	p.working.Go(p.write)
	p.working.Go(p.read)
	p.working.Go(func() { p.await(stderr) })
	return p, nil
}

func startProblem(path string, err error) string {
	if inner, ok := errors.AsType[*exec.Error](err); ok {
		err = inner.Err
	}
	if inner, ok := errors.AsType[*os.PathError](err); ok {
		err = inner.Err
	}
	return fmt.Sprintf("%s: %v", filepath.Base(path), err)
}

// start makes the pipes and starts the process; it returns our end of stderr.
func (p *Process) start() (stderr *os.File, err error) {
	var ours, theirs [3]*os.File
	defer func() {
		closeAll(theirs[:])
		if err != nil {
			closeAll(ours[:])
		}
	}()
	if theirs[0], ours[0], err = os.Pipe(); err != nil {
		return nil, err
	}
	if ours[1], theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if ours[2], theirs[2], err = os.Pipe(); err != nil {
		return nil, err
	}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = theirs[0], theirs[1], theirs[2]
	if err = p.command.Start(); err != nil {
		return nil, err
	}
	p.stdin, p.stdout = ours[0], ours[1]
	return ours[2], nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// PID is the number of the process and of its group.
func (p *Process) PID() int { return p.command.Process.Pid }

// Exited is closed when the process has ended and was reaped.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit is how the process ended. It is to be called after Exited.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Stderr is what the process wrote to standard error last: at most
// MaxStderrLines lines, cleaned. It is untrusted text.
func (p *Process) Stderr() string { return p.heard.String() }

// Send hands over one JSON-RPC message. It returns once the process has taken
// all that was sent before, since a process that does not read must not hold up
// more than ctx allows. An error is a *Failure.
func (p *Process) Send(ctx context.Context, message []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		return fmt.Errorf("send a message to the process: %w", err)
	}
	line.WriteByte('\n')
	select {
	case p.outbox <- line.Bytes():
		return nil
	case <-p.deaf:
		return p.over(ctx, "standard input")
	case <-ctx.Done():
		return p.late(ctx, "the process to read its input")
	}
}

// write is the only writer of standard input.
func (p *Process) write() {
	defer func() { _ = p.stdin.Close() }()
	defer close(p.deaf)
	for {
		select {
		case line := <-p.outbox:
			if _, err := p.stdin.Write(line); err != nil {
				return
			}
		case <-p.closing:
			return
		case <-p.exited:
			return
		}
	}
}

// await reaps the process and ends what it left behind.
func (p *Process) await(stderr *os.File) {
	var words sync.WaitGroup
	words.Go(func() { p.heard.read(stderr) })
	_ = p.command.Wait() // how it ended is in its state
	sweepGroup(p.command.Process)
	end := time.Now().Add(leftoverLimit)
	for _, pipe := range []*os.File{p.stdin, p.stdout, stderr} {
		if errors.Is(pipe.SetDeadline(end), os.ErrNoDeadline) {
			time.AfterFunc(leftoverLimit, func() { _ = pipe.Close() })
		}
	}
	words.Wait()
	_ = stderr.Close()
	p.exit = exitOf(p.command.ProcessState)
	close(p.exited)
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1, text: "its state is not known"}
	}
	return Exit{Code: state.ExitCode(), Signal: signalOf(state), text: state.String()}
}

// Close ends the process and returns how it ended: it closes standard input,
// waits three seconds, asks its group to end (SIGTERM), waits two seconds and
// kills the group. When ctx is done the group is killed at once. After Close
// neither a process of the group nor a goroutine, file or pipe is left; only
// what has left the group (setsid) is out of reach.
func (p *Process) Close(ctx context.Context) Exit {
	p.ending.Do(func() { p.end(ctx) })
	select {
	case <-p.exited:
		return p.exit
	default:
		return Exit{Code: -1, text: "it could not be killed"}
	}
}

func (p *Process) end(ctx context.Context) {
	close(p.closing)
	_ = p.stdin.SetWriteDeadline(time.Now()) // a line that nobody reads
	if !p.gone(ctx, stdinPatience) {
		terminateGroup(p.command.Process)
		if !p.gone(ctx, termPatience) {
			_ = killGroup(p.command.Process)
			if !p.gone(context.WithoutCancel(ctx), killPatience) {
				return
			}
		}
	}
	p.working.Wait()
}

// gone waits for the exit.
func (p *Process) gone(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
		return false
	}
}
