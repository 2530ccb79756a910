package gates

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

const (
	// maxOutput is how much of an output or a body is kept; of an output, the rest
	// is read and dropped.
	maxOutput = 64 << 10
	// leftoverLimit is how long a process that a program left behind may hold the
	// program's output open.
	leftoverLimit = 500 * time.Millisecond
)

// outcome is what became of a program that was to be run.
type outcome struct {
	output  string
	state   *os.ProcessState // nil when it could not be started
	err     error            // why it could not be started or waited for
	overdue bool             // it was killed because its time was over
}

// run runs a program to its end, or kills it when ctx is done, and in either
// case ends and reaps whatever it left behind.
func run(ctx context.Context, path string, args []string) outcome {
	var output capped
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = &output, &output
	command.WaitDelay = leftoverLimit
	ownGroup(command)
	command.Cancel = func() error { return killGroup(command.Process) }
	if err := command.Start(); err != nil {
		return outcome{err: err, overdue: ctx.Err() != nil}
	}
	err := command.Wait()
	sweepGroup(command.Process)
	if _, ended := errors.AsType[*exec.ExitError](err); ended || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return outcome{output: output.String(), state: command.ProcessState, err: err, overdue: ctx.Err() != nil}
}

// capped keeps the first maxOutput bytes of what is written to it.
type capped struct{ kept []byte }

// Write never fails: a program that prints too much is read to its end.
func (c *capped) Write(p []byte) (int, error) {
	c.kept = append(c.kept, p[:min(len(p), maxOutput-len(c.kept))]...)
	return len(p), nil
}

func (c *capped) String() string { return string(c.kept) }
