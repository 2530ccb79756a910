//go:build unix

package probe_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// started is the test binary as a server that behaves in the given way.
func started(t *testing.T, way string) probe.MCPServer {
	t.Helper()
	if _, ok := children()[way]; !ok {
		t.Fatalf("there is no server %q", way)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := probe.StartedServer([]string{binary})
	server.Name, server.Env = way, environment(way)
	server.Canary = &registry.Canary{Tool: "noop"}
	return server
}

// environment makes the test binary such a server. The race detector would let
// it linger for a second at its end.
func environment(way string) map[string]registry.Secret {
	return map[string]registry.Secret{
		behaviour: registry.SecretText(way), "GORACE": registry.SecretText("atexit_sleep_ms=0"),
	}
}

// process is a way in which a server over standard streams behaves, and the
// causes of the gates.
type process struct {
	alive, test, list registry.Cause
	limit             time.Duration
	era               registry.Era // legacy when it is empty
}

func processes() map[string]process {
	all := func(cause registry.Cause) process { return process{alive: cause, test: cause, list: cause} }
	talks := func(cause registry.Cause) process { return process{test: cause, list: cause} }
	silent := process{test: registry.Timeout, list: registry.Timeout, limit: time.Second}
	return map[string]process{
		"good":                       {},
		"dies of discover":           {},
		"dies of initialize":         all(registry.ProcessExit),
		"dies of the list":           all(registry.ProcessExit),
		"dies of the call":           {alive: registry.ProcessExit, test: registry.ProcessExit},
		"answers notifications":      {},
		"complains of notifications": {},
		"junk between":               {},
		"junk first":                 {},
		"pings":                      {},
		"notifies":                   {},
		"refuses initialize":         talks(registry.Handshake),
		"does not know initialize":   talks(registry.Handshake),
		"cannot read":                {test: registry.Handshake, list: registry.Handshake, limit: 2 * time.Second},
		"gives no version":           talks(registry.Handshake),
		"unknown version":            {},
		"wants the future":           talks(registry.VersionMismatch),
		"fails the list":             talks(registry.ProtocolError),
		"no tools":                   {test: registry.CanaryFailed, list: registry.ZeroTools},
		"another id":                 {test: registry.Timeout, list: registry.Timeout, limit: 2 * time.Second},
		"silent at the list":         {test: registry.Timeout, list: registry.Timeout, limit: 2 * time.Second},
		"a cursor for ever":          talks(registry.ProtocolError),
		"modern only":                {era: registry.Modern},
		"modern, names no versions":  {era: registry.Modern},
		"modern, dies of discover":   {era: registry.Modern},
		"of one era":                 {era: registry.Modern},
		"silent":                     silent,
		"fails":                      all(registry.ProcessExit),
		"chatters":                   silent,
		"endless line":               talks(registry.TooLarge),
		"stubborn":                   {},
		"with a grandchild":          {},
	}
}

func TestProcesses_haveTheCauseOfTheContract(t *testing.T) {
	t.Parallel()
	for name, row := range processes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := started(t, name).Probe(t.Context(), settings(cmp.Or(row.limit, generous)))
			checkProtocol(t, got, row.alive, row.test, row.list)
			if got.Transport != registry.Stdio {
				t.Errorf("the transport is %q, want stdio", got.Transport)
			}
			if got.ProcessesStarted == 0 || got.ProcessesStarted != got.ProcessesEnded {
				t.Errorf("%d processes were started, %d have ended", got.ProcessesStarted, got.ProcessesEnded)
			}
			if era := cmp.Or(row.era, registry.Legacy); got.ListTools.OK && got.Era != era {
				t.Errorf("the era is %q, want %q", got.Era, era)
			}
		})
	}
}

func TestProcesses_detailTellsWhatTheProcessSaidLast(t *testing.T) {
	t.Parallel()
	got := started(t, "fails").Probe(t.Context(), settings(generous))
	if want := "exit status 1; standard error: no API key"; got.ListTools.Detail != want || got.Healthz.Detail != want {
		t.Errorf("listTools %q, healthz %q, want %q", got.ListTools.Detail, got.Healthz.Detail, want)
	}
	got = started(t, "silent").Probe(t.Context(), settings(time.Second))
	if !strings.Contains(got.ListTools.Detail, "waiting for the database") {
		t.Errorf("listTools %q does not tell what the process waits for", got.ListTools.Detail)
	}
}

func TestProcesses_junkIsCountedAsAWarning(t *testing.T) {
	t.Parallel()
	got := started(t, "junk first").Probe(t.Context(), settings(generous))
	if text := strings.Join(got.Warnings, "\n"); !strings.Contains(text, "no JSON-RPC message: 2, the first: Server starting...") {
		t.Errorf("the warnings %q do not count the junk", got.Warnings)
	}
}

func TestProcesses_thatCannotBeStartedFailAllGates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"no-such-program-anywhere", filepath.Dir(file), file} {
		server := probe.StartedServer([]string{path, "--token", "s3cret"})
		server.Canary = &registry.Canary{Tool: "noop"}
		got := server.Probe(t.Context(), settings(generous))
		checkProtocol(t, got, registry.ProcessStart, registry.ProcessStart, registry.ProcessStart)
		if strings.Contains(got.Error()+got.Target, "s3cret") {
			t.Errorf("%s: %q or %q holds an argument", path, got.Target, got.Error())
		}
	}
}

func TestProcesses_getNoVariableThatCannotBeHad(t *testing.T) {
	t.Parallel()
	server := started(t, "good")
	server.Env["KEY"] = registry.SecretAt("env:NO_SUCH")
	with := settings(generous)
	with.Resolve = func(string) (string, error) { return "", os.ErrNotExist }
	got := server.Probe(t.Context(), with)
	checkProtocol(t, got, registry.NotConfigured, registry.NotConfigured, registry.NotConfigured)
	if !strings.Contains(got.Healthz.Detail, "KEY") {
		t.Errorf("healthz %q does not name the variable", got.Healthz.Detail)
	}
}

// TestProcesses_leaveNothingBehind is not parallel, because it counts what the
// whole process holds.
func TestProcesses_leaveNothingBehind(t *testing.T) {
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for i := range 3 * soak(t) {
		for _, way := range []string{"good", "modern only", "dies of the list", "silent", "with a grandchild", "junk first"} {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 2 {
				time.AfterFunc(time.Duration(i)*7*time.Millisecond, cancel)
			}
			limit := generous
			if way == "silent" {
				limit = short
			}
			started(t, way).Probe(ctx, settings(limit))
			cancel()
		}
	}
	eventually(t, "processes are left", func() bool { return livingChildren(t) == 0 })
	eventually(t, "files are left open", func() bool { return openFiles(t) <= files })
	eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
}

// TestProcesses_beginWithTheEraThatWorkedLast shows by the count of processes
// that a remembered era saves the detour.
func TestProcesses_beginWithTheEraThatWorkedLast(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "starts")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := probe.StartedServer([]string{"/bin/sh", "-c", `echo x >> "$0"; exec "$1"`, log, binary})
	server.Env = environment("of one era")
	with := settings(generous)
	with.Eras = mcpwire.NewEras()
	for probed, want := range []int{2, 3} {
		if got := server.Probe(t.Context(), with); got.Era != registry.Modern {
			t.Fatalf("the era is %q, want modern: %s", got.Era, got.Error())
		}
		starts, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(starts), "x"); got != want {
			t.Errorf("after probe %d: %d processes were started, want %d", probed+1, got, want)
		}
	}
}

func TestProbe_tellsAnEchoAtOnce(t *testing.T) {
	t.Parallel()
	got := probe.StartedServer([]string{"cat"}).Probe(t.Context(), settings(generous))
	if got.ListTools.Cause != registry.Handshake || got.ListTools.Detail != "it echoes what it is sent; is this an MCP server?" {
		t.Errorf("%s: %s", got.ListTools.Cause, got.ListTools.Detail)
	}
}
