package gates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	// maxOutput is how much of a program's output is kept; the rest is read and dropped.
	maxOutput = 64 << 10
	// leftoverLimit is how long a process that a program left behind may hold the
	// program's output open.
	leftoverLimit = 500 * time.Millisecond
)

var versionNumber = regexp.MustCompile(`\d+(?:\.\d+)+`)

// Executable checks a program by running it, since one that is truncated, built
// for another machine or short of a library is found on PATH and fails on every
// real call. It runs without a shell and without input, in the environment and
// the working directory of the server.
type Executable struct {
	// Path is a name to look up on PATH, or the path of the program.
	Path string
	// Args make it print its version and end; --version when there are none.
	Args []string
	// ExitCode is the exit status that it must end with.
	ExitCode int
	// Match must match its output (standard output and standard error, the first
	// 64 KiB). The first group, if there is one, is the version that is shown.
	Match *regexp.Regexp
}

func (e Executable) check(ctx context.Context) finding {
	if e.Path == "" {
		return finding{detail: detailNotConfigured}
	}
	path, err := exec.LookPath(e.Path)
	if err != nil {
		return finding{detail: notFound(err)}
	}
	found := finding{present: true, path: path}
	output, state, err := run(ctx, path, e.args())
	first := firstLine(output)
	switch {
	case ctx.Err() != nil:
		found.detail = "did not end in time and was killed" + after(first)
	case err != nil:
		found.detail = err.Error()
	case state.ExitCode() != e.ExitCode:
		found.detail = fmt.Sprintf("%s, want %d%s", state, e.ExitCode, after(first))
	case e.Match != nil && !e.Match.MatchString(output):
		found.detail = fmt.Sprintf("output does not match %s%s", e.Match, after(first))
	default:
		found.works = true
		found.version = e.version(output)
		found.detail = first
		if first == "" {
			found.detail = fmt.Sprintf("%s, no output", state)
		}
	}
	return found
}

func (e Executable) args() []string {
	if len(e.Args) == 0 {
		return []string{"--version"}
	}
	return e.Args
}

func (e Executable) version(output string) string {
	if e.Match != nil {
		if groups := e.Match.FindStringSubmatch(output); len(groups) > 1 {
			return groups[1]
		}
	}
	return versionNumber.FindString(output)
}

func notFound(err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "not on PATH"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "not an executable file"
	default:
		return err.Error()
	}
}

// run runs a program to its end, or kills it when ctx is done, and in either
// case ends and reaps whatever it left behind. The error says why the program
// could not be run or waited for; how it ended stands in its state.
func run(ctx context.Context, path string, args []string) (string, *os.ProcessState, error) {
	var output capped
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = &output, &output
	command.WaitDelay = leftoverLimit
	ownGroup(command)
	command.Cancel = func() error { return killGroup(command.Process) }
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	err := command.Wait()
	sweepGroup(command.Process)
	if _, ended := errors.AsType[*exec.ExitError](err); ended || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return output.String(), command.ProcessState, err
}

// capped keeps the first maxOutput bytes of what is written to it.
type capped struct{ kept []byte }

// Write never fails: a program that prints too much is read to its end.
func (c *capped) Write(p []byte) (int, error) {
	c.kept = append(c.kept, p[:min(len(p), maxOutput-len(c.kept))]...)
	return len(p), nil
}

func (c *capped) String() string { return string(c.kept) }

// firstLine returns the first line that is not blank.
func firstLine(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func after(line string) string {
	if line == "" {
		return ""
	}
	return ": " + line
}
