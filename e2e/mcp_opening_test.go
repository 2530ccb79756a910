//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// session is a server over stdio, and the other ends of what it reads and writes.
type session struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	log     *bytes.Buffer // to be read after the end
}

// converse starts a server over stdio and says hello to it. The test kills it.
func converse(t *testing.T, argv ...string) *session {
	t.Helper()
	s := &session{log: new(bytes.Buffer)}
	s.command, s.in, s.out = withPipes(t, environment(t), s.log, argv...)
	s.say(t, hello)
	s.hear(t, `"id":0`)
	return s
}

// withPipes starts the binary with a log, and returns the other ends of what it reads
// and writes. The test kills it.
func withPipes(t *testing.T, env []string, log io.Writer, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	command := exec.Command(binary(), args...)
	command.Dir, command.Env, command.Stderr = t.TempDir(), env, log
	in, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended by itself
		_ = command.Wait()
	})
	return command, in, bufio.NewReader(out)
}

// hello is the line with which a client begins.
const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}` + "\n"

// toolCall is a line that calls a tool without arguments.
func toolCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", id, tool)
}

func (s *session) say(t *testing.T, lines string) {
	t.Helper()
	_, err := io.WriteString(s.in, lines)
	must(t, err)
}

// hear reads a line, which holds each of the texts.
func (s *session) hear(t *testing.T, texts ...string) {
	t.Helper()
	answer, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read an answer: %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(answer, text) {
			t.Fatalf("the answer is %s, want %s", answer, text)
		}
	}
}

// ends closes the input and returns the exit code.
func (s *session) ends(t *testing.T) int {
	t.Helper()
	_ = s.in.Close() // it may have ended by itself
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.command.Wait() // its code is what counts
	return s.command.ProcessState.ExitCode()
}

// lock keeps everybody else from a SQLite database of ours until it is called.
func lock(t *testing.T, file string) (unlock func()) {
	t.Helper()
	database, err := sql.Open("sqlite", file)
	must(t, err)
	t.Cleanup(func() { _ = database.Close() })
	database.SetMaxOpenConns(1)
	_, err = database.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		if _, err := database.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}

// absent are databases that cannot be opened until come is called.
func absent() map[string]func(t *testing.T) (location string, come func()) {
	return map[string]func(t *testing.T) (string, func()){
		"sqlite": func(t *testing.T) (string, func()) {
			file := sqlite(t)
			if made := run(t, t.TempDir(), environment(t), binary(), "mcp", "--db", file); made.code != 0 {
				t.Fatalf("make the database: %s", made.stderr)
			}
			return file, lock(t, file)
		},
		"postgres": func(t *testing.T) (string, func()) {
			location, err := url.Parse(storetest.Postgres(t))
			must(t, err)
			folder, err := os.MkdirTemp("", "cs") //nolint:usetesting // the path of a socket has at most 107 bytes, and t.TempDir holds the name of the test
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			query := location.Query()
			sockets := query.Get("host")
			query.Set("host", folder)
			location.RawQuery = query.Encode()
			const socket = ".s.PGSQL.5432"
			return location.String(), func() {
				if err := os.Symlink(filepath.Join(sockets, socket), filepath.Join(folder, socket)); err != nil {
					t.Error(err)
				}
			}
		},
	}
}

// mcpKinds are the servers over stdio: flags, and a tool that reads the database.
func mcpKinds(t *testing.T) map[string]struct {
	flags []string
	tool  string
} {
	t.Helper()
	folder := t.TempDir()
	configure(t, folder, "components:\n  gone: {kind: mcp_server, url: 'http://127.0.0.1:1'}\n")
	return map[string]struct {
		flags []string
		tool  string
	}{
		"gate":     {nil, "list_tasks"},
		"registry": {[]string{"--registry", "--config", filepath.Join(folder, "countersign.yaml")}, "list_components"},
	}
}

func TestMCP_staysWhileItsDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for database, leave := range absent() {
		for kind, of := range mcpKinds(t) {
			t.Run(kind+" on "+database, func(t *testing.T) {
				t.Parallel()
				location, come := leave(t)
				s := converse(t, append([]string{"mcp", "--db", location}, of.flags...)...)
				s.say(t, toolCall(1, of.tool))
				s.hear(t, `"id":1`, "E_UNAVAILABLE", "the same call again")
				come()
				s.say(t, toolCall(2, of.tool))
				s.hear(t, `"id":2`, `"structuredContent"`)
				if code := s.ends(t); code != 0 {
					t.Errorf("exit code %d: %s", code, s.log)
				}
			})
		}
	}
}

func TestMCP_answersWhatWasSentToADatabaseThatWillNotOpen(t *testing.T) {
	t.Parallel()
	file := sqlite(t)
	must(t, os.WriteFile(file, bytes.Repeat([]byte("no database "), 1000), 0o600))
	for kind, of := range mcpKinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const calls = 1000
			s := converse(t, append([]string{"mcp", "--db", file}, of.flags...)...)
			go func() {
				for id := range calls {
					if _, err := io.WriteString(s.in, toolCall(id+1, of.tool)); err != nil {
						return // told by the answer that lacks
					}
				}
			}()
			for range calls {
				s.hear(t, "no SQLite database")
			}
			// It ends by itself: its input is still open.
			if _, err := s.out.ReadString('\n'); err == nil {
				t.Error("more answers than calls")
			}
			if code := s.ends(t); code != 2 || !strings.Contains(s.log.String(), "no SQLite database") {
				t.Errorf("exit code %d: %s", code, s.log)
			}
		})
	}
}

func TestMCP_endsWellWhileItWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	for kind, of := range mcpKinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			location, _ := absent()["sqlite"](t)
			s := converse(t, append([]string{"mcp", "--db", location}, of.flags...)...)
			s.say(t, toolCall(1, of.tool)+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
			s.hear(t, `"id":2`)
			must(t, s.command.Process.Signal(syscall.SIGTERM))
			s.hear(t, `"id":1`, "E_UNAVAILABLE")
			if _, err := s.out.ReadString('\n'); err == nil {
				t.Error("more answers than calls")
			}
			if code := s.ends(t); code != 0 || strings.Contains(s.log.String(), "countersign: E_") {
				t.Errorf("exit code %d: %s", code, s.log)
			}
		})
	}
}
