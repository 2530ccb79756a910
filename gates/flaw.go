package gates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// The statuses with which env says that it did not find a program, the first of
// them when it may not look into a directory of PATH.
const (
	exitNotRun   = 126
	exitNotFound = 127
)

const truncated = "truncated: parts that its headers name lie past the end of the file"

// How the dynamic linkers of glibc, musl and macOS say that they have not found a
// library, or not one with what the program needs.
var (
	libraryMissing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:error while loading shared libraries|[Ee]rror loading shared library|Library not loaded):? ([^\s:]+)`)
	})
	libraryTooOld = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("version [`']([^'\\s]+)' not found \\(required by") })
)

// notFound words why no program was found under a name.
func notFound(name string, err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		if path := withoutRights(name); path != "" {
			return "not executable: " + path + " lacks the permission"
		}
		return "not on PATH"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "not executable: the file lacks the permission"
	}
	if about, err := os.Stat(name); err == nil && about.IsDir() {
		return "not executable: a directory"
	}
	return err.Error()
}

// withoutRights finds a file on PATH that would be the program if it were
// executable.
func withoutRights(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) { //nolint:forbidigo // It is where exec.LookPath has just looked.
		path := filepath.Join(dir, name)
		if about, err := os.Stat(path); err == nil && about.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// flaw says why a program that had its time did not run as it should, or may
// not be trusted although it did; it is empty when nothing is wrong.
func (o outcome) flaw(seen image, want int) string {
	switch {
	case o.err != nil:
		return seen.unstartable(o.err)
	case o.state.ExitCode() == want && !seen.cutInUse:
		return ""
	case o.state.ExitCode() == want:
		return truncated
	case !o.state.Exited():
		return because(seen.cut, truncated) + fmt.Sprintf("killed by a %s%s", o.state, after(o.firstLine()))
	}
	code, ended := o.state.ExitCode(), fmt.Sprintf("%s, want %d%s", o.state, want, after(o.firstLine()))
	if library := libraryMissing().FindStringSubmatch(o.output); library != nil {
		return "shared library " + library[1] + " cannot be loaded; " + ended
	}
	if version := libraryTooOld().FindStringSubmatch(o.output); version != nil {
		return "a shared library is too old: it lacks " + version[1] + "; " + ended
	}
	lost := (code == exitNotRun || code == exitNotFound) && seen.throughEnv != "" && !onPath(seen.throughEnv)
	return because(lost, "its interpreter "+seen.throughEnv+" is not on PATH") + because(seen.cut, truncated) + ended
}

func because(holds bool, reason string) string {
	if !holds {
		return ""
	}
	return reason + "; "
}

// unstartable says why the system does not start the program.
func (seen image) unstartable(err error) string {
	plain := err.Error()
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		plain = wrapped.Err.Error()
	}
	if reason := seen.reason(err); reason != "" {
		return reason + "; " + plain
	}
	return plain
}

func (seen image) reason(err error) string {
	switch interpreter := seen.interpreter; {
	case errors.Is(err, fs.ErrPermission):
		return "not executable: the system refuses it; look at its permissions, those of its interpreter, and how its file system is mounted"
	case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(interpreter, "\r"):
		return "its #! line ends in a carriage return, so that its interpreter " + strings.TrimSpace(interpreter) + " is not found"
	case errors.Is(err, fs.ErrNotExist) && interpreter != "" && !exists(interpreter):
		return "its interpreter " + interpreter + " does not exist"
	case seen.noProgram != "":
		return "not a program but " + seen.noProgram
	case seen.cut:
		return truncated
	case seen.system != "" && seen.system != runtime.GOOS:
		return "wrong system: made for " + seen.system + ", and this is " + runtime.GOOS
	case seen.arch != "" && seen.arch != runtime.GOARCH:
		return "wrong architecture: made for " + seen.arch + ", and this is " + runtime.GOARCH
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func onPath(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
