//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestTask_manyFirstStarts starts many processes at the same moment on a database
// that does not exist yet. None fails, and every task is there.
func TestTask_manyFirstStarts(t *testing.T) {
	t.Parallel()
	const processes = 40
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, folder, env := open(t), t.TempDir(), environment(t)
			ended := make([]outcome, processes)
			var all sync.WaitGroup
			for i := range ended {
				all.Go(func() {
					ended[i] = run(t, folder, env, binary(), "task", "create", "--db", database, "--agent-id", "a", "--title", "t", "--criterion", "c")
				})
			}
			all.Wait()
			for _, one := range ended {
				if one.code != 0 {
					t.Errorf("a first start failed with exit code %d: %s", one.code, one.stderr)
				}
			}
			listed := run(t, folder, env, binary(), "task", "list", "--db", database, "--json")
			var page struct {
				Counts map[string]int `json:"counts"`
			}
			if err := json.Unmarshal([]byte(listed.stdout), &page); err != nil || page.Counts["pending"] != processes {
				t.Errorf("got %v tasks (%v), want %d", page.Counts, err, processes)
			}
		})
	}
}

// TestServe_endsOnASignalAndStartsAgain ends a server by each signal that asks it
// to, and starts the next on the same database.
func TestServe_endsOnASignalAndStartsAgain(t *testing.T) {
	t.Parallel()
	database, env := sqlite(t), environment(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		serve := start(t, t.TempDir(), env, binary(), "serve", "--db", database, "--listen", "127.0.0.1:0")
		url := serve.await(t, servedAt.String())[1]
		if probed := run(t, t.TempDir(), env, binary(), "probe", url); probed.code != 0 {
			t.Fatalf("the server does not pass its own gates:\n%s%s", probed.stdout, probed.stderr)
		}
		want := 0
		if signal == syscall.SIGKILL {
			want = -1 // ended by the signal, not by itself
		}
		if code := serve.stop(t, signal); code != want {
			t.Errorf("exit code %d after %v, want %d", code, signal, want)
		}
		if down := run(t, t.TempDir(), env, binary(), "healthcheck", url); down.code != 1 {
			t.Errorf("healthcheck of a server that has ended: exit code %d, want 1", down.code)
		}
	}
}

// TestDemo_tellsTheStoryAndLeavesNothing runs the demo from a copy of the binary,
// so that a process it left behind would be found by its program.
func TestDemo_tellsTheStoryAndLeavesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(t.TempDir(), "countersign")
	copyFile(t, binary(), program)
	told := run(t, folder, environment(t, "TMPDIR="+folder, "XDG_DATA_HOME="+folder), program, "demo")
	if told.code != 0 {
		t.Fatalf("exit code %d\n%s%s", told.code, told.stdout, told.stderr)
	}
	for _, expected := range []string{"E_SELF_VERIFY", "rejected", "verified", "healthz", "test", "listTools", "nightly: refused", "nightly: may start on a fallback"} {
		if !strings.Contains(told.stdout, expected) {
			t.Errorf("the story does not tell of %s:\n%s", expected, told.stdout)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("the demo left %v behind (%v)", left, err)
	}
	if processes := processesOf(t, program); len(processes) != 0 {
		t.Errorf("the demo left the processes %v behind", processes)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// processesOf gives the processes that run the program, where the system tells.
func processesOf(t *testing.T, program string) []string {
	t.Helper()
	executables, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, executable := range executables {
		if target, err := os.Readlink(executable); err == nil && strings.HasPrefix(target, program) {
			found = append(found, executable)
		}
	}
	return found
}
