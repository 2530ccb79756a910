//go:build unix

package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestServers_outliveTheReaderOfTheirLog starts each server with a log that
// nobody reads any more: a client may close it, and a pager may be left.
func TestServers_outliveTheReaderOfTheirLog(t *testing.T) {
	t.Parallel()
	database, env := sqlite(t), environment(t)

	mcp, in, out := withDeafLog(t, env, "mcp", "--db", database)
	_, err := io.WriteString(in, hello+toolCall(1, "list_tasks"))
	must(t, err)
	for _, want := range []string{`"id":0`, `"id":1`} {
		if answer, err := out.ReadString('\n'); err != nil || !strings.Contains(answer, want) {
			t.Fatalf("mcp answers %q (%v), want %s", answer, err, want)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := mcp.Wait(); err != nil {
		t.Errorf("mcp: %v", err)
	}

	outlives(t, env, "serve", "--db", database, "--listen", "127.0.0.1:0")
	outlives(t, env, "front", "--listen", "127.0.0.1:0", "--", binary(), "mcp", "--db", database)
}

// outlives starts an HTTP server with a deaf log, and probes it.
func outlives(t *testing.T, env []string, args ...string) {
	t.Helper()
	serve, _, out := withDeafLog(t, env, args...)
	var url string
	for url == "" {
		told, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if at := servedAt.FindStringSubmatch(told); at != nil {
			url = at[1]
		}
	}
	for range 2 {
		if probed := run(t, t.TempDir(), env, binary(), "probe", url); probed.code != 0 {
			t.Errorf("%s:\n%s%s", args[0], probed.stdout, probed.stderr)
		}
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("%s: %v", args[0], err)
	}
}

// withDeafLog starts the binary with a standard error whose other end is closed.
func withDeafLog(t *testing.T, env []string, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	reader, log, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _ = log.Close() })
	must(t, reader.Close())
	return withPipes(t, env, log, args...)
}
