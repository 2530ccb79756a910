package gates

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Executable checks a program by running it, since one that is truncated, built
// for another machine or short of a library is found on PATH and fails on every
// real call. It runs without a shell and without input, in the environment and
// the working directory of the server. What went wrong is told apart in the
// detail; see the package documentation.
type Executable struct {
	// Path is a name to look up on PATH, or the path of the program.
	Path string
	// Args make it print its version and end; --version when there are none.
	Args []string
	// ExitCode is the exit status that it must end with.
	ExitCode int
	// Match must match its output (standard output and standard error, the first
	// 64 KiB). Its first group, if it has one, is the version; else the version
	// is the first number with a dot in the output.
	Match *regexp.Regexp
	// MinVersion is the oldest version that will do: numbers and dots, such as
	// 2.30. Versions are compared number by number, and missing numbers are 0. A
	// pre-release (-rc.1, beta2, .dev3 and the like) is older than its release,
	// so 2.30.0-rc.1 is too old for 2.30; what else follows is not looked at.
	MinVersion string
}

func (e Executable) check(ctx context.Context) finding {
	if e.Path == "" {
		return finding{detail: detailNotConfigured}
	}
	path, err := exec.LookPath(e.Path)
	if err != nil {
		return finding{detail: notFound(e.Path, err)}
	}
	seen := look(path)
	ran := run(ctx, path, e.args())
	found := finding{present: true, path: path}
	if ran.overdue {
		found.detail = "did not end in time and was killed" + after(ran.firstLine())
	} else if wrong := ran.flaw(seen, e.ExitCode); wrong != "" {
		found.detail = wrong
	} else {
		e.judge(&found, ran)
	}
	return found
}

// judge decides on what the program printed.
func (e Executable) judge(found *finding, ran outcome) {
	first := ran.firstLine()
	if e.Match != nil && !e.Match.MatchString(ran.output) {
		found.detail = fmt.Sprintf("output does not match %s%s", e.Match, after(first))
		return
	}
	found.version = e.version(ran.output)
	if e.MinVersion != "" {
		if wrong := tooOld(found.version, e.MinVersion); wrong != "" {
			found.detail = wrong + after(first)
			return
		}
	}
	found.works = true
	found.detail = first
	if first == "" {
		found.detail = fmt.Sprintf("%s, no output", ran.state)
	}
}

func (e Executable) args() []string {
	if len(e.Args) == 0 {
		return []string{"--version"}
	}
	return e.Args
}

func (e Executable) version(output string) string {
	if e.Match != nil && e.Match.NumSubexp() > 0 {
		return e.Match.FindStringSubmatch(output)[1]
	}
	return versionNumber().FindString(output)
}

// firstLine returns the first line that is not blank.
func (o outcome) firstLine() string {
	for line := range strings.Lines(o.output) {
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
