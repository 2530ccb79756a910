//go:build unix

package gates_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

// script writes a shell script and returns its path.
func script(t *testing.T, body string) string {
	t.Helper()
	return program(t, "#!/bin/sh\n"+body+"\n")
}

// program writes an executable file and returns its path. No process is forked
// meanwhile: it would inherit the open file, which then cannot be executed.
func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExecutable_passesOnlyWhatRunsAsExpected(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(notExecutable, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name                string
		kind                gates.Executable
		present, executable bool
		version, detail     string
	}{
		{"works", gates.Executable{Path: script(t, `echo; echo "tool version v7.93 ($1)"`)}, true, true, "7.93", "tool version v7.93 (--version)"},
		{"arguments", gates.Executable{Path: script(t, `echo "$@"`), Args: []string{"version", "a b"}}, true, true, "", "version a b"},
		{"on standard error", gates.Executable{Path: script(t, `echo 2.0 >&2`)}, true, true, "2.0", "2.0"},
		{"silent", gates.Executable{Path: script(t, `:`)}, true, true, "", "exit status 0, no output"},
		{"other exit status wanted", gates.Executable{Path: script(t, `echo 1.2; exit 2`), ExitCode: 2}, true, true, "1.2", "1.2"},
		{"matches", gates.Executable{Path: script(t, `echo tool; echo build r77`), Match: regexp.MustCompile(`build (r\d+)`)}, true, true, "r77", "tool"},
		{"does not match", gates.Executable{Path: script(t, `echo other 1.0`), Match: regexp.MustCompile(`^tool`)}, true, false, "", "output does not match ^tool: other 1.0"},
		{
			"missing library",
			gates.Executable{Path: script(t, `echo "tool: error while loading shared libraries: libx.so.1" >&2; exit 127`)},
			true, false, "", "shared library libx.so.1 cannot be loaded; exit status 127, want 0: tool: error while loading shared libraries: libx.so.1",
		},
		{"false", gates.Executable{Path: "false"}, true, false, "", "exit status 1, want 0"},
		{"killed by a signal", gates.Executable{Path: script(t, `kill -SEGV $$`)}, true, false, "", "signal: segmentation fault"},
		{"bad format", gates.Executable{Path: program(t, "\x00\x01\x02\x03")}, true, false, "", "exec format error"},
		{"not on PATH", gates.Executable{Path: "no-such-tool-anywhere"}, false, false, "", "not on PATH"},
		{"no file", gates.Executable{Path: "/no/such/tool"}, false, false, "", "no such file"},
		{"not executable", gates.Executable{Path: notExecutable}, false, false, "", "not executable: the file lacks the permission"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, body := askTest(t, mounted(gates.Required("tool", c.kind)))
			told := body.Tools["tool"]
			if told.Present != c.present || told.Executable != c.executable || told.Version != c.version || !strings.Contains(told.Detail, c.detail) {
				t.Errorf("tool = %+v, want present %v, executable %v, version %q, detail %q", told, c.present, c.executable, c.version, c.detail)
			}
			if c.present != (told.Path != "") {
				t.Errorf("path = %q", told.Path)
			}
		})
	}
}

func TestExecutable_runsOnceForManyConcurrentRequests(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	mux := http.NewServeMux()
	gates.Mount(mux, gates.Options{
		CacheFor: patience,
		Dependencies: []gates.Dependency{
			gates.Required("tool", gates.Executable{Path: script(t, `echo run >>"$1"`), Args: []string{runs}}),
		},
	})
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			if status := get(mux, "/test").Code; status != http.StatusOK {
				t.Errorf("/test = %d", status)
			}
		})
	}
	group.Wait()
	if got, err := os.ReadFile(runs); string(got) != "run\n" || err != nil {
		t.Errorf("the tool ran as often as it wrote: %q (%v)", got, err)
	}
}

func TestExecutable_boundsWhatItKeepsOfTheOutput(t *testing.T) {
	path := script(t, `echo tool 1.0; head -c 10485760 /dev/zero | tr '\0' x; echo the end >&2`)
	for pattern, passes := range map[string]bool{`^tool`: true, `the end`: false} {
		_, body := askTest(t, mounted(gates.Required("tool", gates.Executable{Path: path, Match: regexp.MustCompile(pattern)})))
		if told := body.Tools["tool"]; told.Executable != passes || len(told.Detail) > 300 {
			t.Errorf("with pattern %s tool = %+v, want executable %v", pattern, told, passes)
		}
	}
}

// TestExecutable_leavesNoProcess holds a pipe that every process of the tool
// inherits: its end is read when the last of them is gone.
func TestExecutable_leavesNoProcess(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body       string
		executable bool
		detail     string
	}{
		"hangs":              {`exec 3>"$1"; (sleep 1000 & sleep 1000 & wait) & sleep 1000`, false, "did not end in time and was killed"},
		"ignores signals":    {`exec 3>"$1"; trap "" TERM INT HUP; while :; do sleep 1000; done`, false, "did not end in time and was killed"},
		"prints for ever":    {`exec 3>"$1"; yes`, false, "did not end in time and was killed: y"},
		"leaves a process":   {`exec 3>"$1"; sleep 1000 & echo 1.0`, true, "1.0"},
		"leaves a quiet one": {`exec 3>"$1"; sleep 1000 >/dev/null 2>&1 & echo 1.0`, true, "1.0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "held")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			gone := make(chan error, 1)
			go func() { gone <- readToEnd(fifo) }()
			mux := http.NewServeMux()
			gates.Mount(mux, gates.Options{
				Timeout: 2 * time.Second,
				Dependencies: []gates.Dependency{
					gates.Required("tool", gates.Executable{Path: script(t, c.body), Args: []string{fifo}}),
				},
			})
			_, body := askTest(t, mux)
			if told := body.Tools["tool"]; told.Executable != c.executable || told.Detail != c.detail {
				t.Errorf("tool = %+v, want executable %v, %q", told, c.executable, c.detail)
			}
			select {
			case err := <-gone:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("a process of the tool is still there")
			}
		})
	}
}

func readToEnd(path string) error {
	held, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, held)
	return errors.Join(err, held.Close())
}
