package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/task"
)

const mcpMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func mcpCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,` + mcpMeta + `}}`
}

func TestMCP_servesAClientUntilItsInputEnds(t *testing.T) {
	s := newShell(t)
	s.in = "no json\n" + mcpCall("create_task", `{"title":"t","acceptance_criteria":["c"],"created_by":"devops"}`)
	code, out, log := s.run("mcp")
	if code != exitYes || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"status":"pending"`) || !strings.Contains(out, "-32700") {
		t.Errorf("exit %d, output %s", code, out)
	}
	if file := filepath.Join(s.env["XDG_DATA_HOME"], "countersign", "countersign.db"); !strings.Contains(log, file) {
		t.Errorf("the log does not name %s: %s", file, log)
	}
	if code, out, _ := s.run("task", "list"); code != exitYes || !strings.Contains(out, "devops") {
		t.Errorf("afterwards: exit %d, %s", code, out)
	}
}

func TestMCP_isLockedByFlagOrVariable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	for name, lock := range map[string]struct {
		variable string
		args     []string
	}{
		"flag":     {"", []string{"mcp", "--db", file, "--agent-id", "Devops"}},
		"variable": {"devops", []string{"mcp", "--db", file}},
		"both":     {" DEVOPS", []string{"mcp", "--db", file, "--agent-id", "devops"}},
	} {
		s := newShell(t)
		s.env[envAgentID] = lock.variable
		s.in = mcpCall("create_task", `{"title":"t","acceptance_criteria":["c"],"created_by":"reviewer"}`)
		if code, out, _ := s.run(lock.args...); code != exitYes || !strings.Contains(out, "E_IDENTITY_MISMATCH") {
			t.Errorf("%s: another agent: exit %d, %s", name, code, out)
		}
		s.in = mcpCall("create_task", `{"title":"t","acceptance_criteria":["c"]}`)
		if code, out, _ := s.run(lock.args...); code != exitYes || !strings.Contains(out, `"status":"pending"`) {
			t.Errorf("%s: no agent: exit %d, %s", name, code, out)
		}
	}
}

func TestMCP_refusesToStartWithTheReason(t *testing.T) {
	corrupt := filepath.Join(t.TempDir(), "corrupt.db")
	if err := os.WriteFile(corrupt, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		variable string
		args     []string
		reason   string
	}{
		"flag and variable disagree": {"a", []string{"mcp", "--agent-id", "b"}, "--agent-id says b"},
		"a bad agent id":             {"", []string{"mcp", "--agent-id", "b b"}, "E_INVALID_AGENT_ID"},
		"a corrupt file":             {"", []string{"mcp", "--db", corrupt}, "no SQLite database"},
		"a directory":                {"", []string{"mcp", "--db", t.TempDir()}, "not a file"},
		"an unknown flag":            {"", []string{"mcp", "--no-such-flag"}, "--no-such-flag"},
	} {
		s := newShell(t)
		s.env[envAgentID] = test.variable
		if code, out, log := s.run(test.args...); code != exitAsk || out != "" || !strings.Contains(log, test.reason) {
			t.Errorf("%s: exit %d, output %q, %s", name, code, out, log)
		}
	}
}

func TestNeed_isToldByACallOrByTime(t *testing.T) {
	for name, test := range map[string]struct {
		ends   bool
		calls  int
		most   time.Duration
		needed bool
	}{
		"a call":               {false, 2, time.Hour, true},
		"time":                 {false, 0, 0, true},
		"the end":              {true, 0, time.Hour, false},
		"a call and the end":   {true, 1, time.Hour, true},
		"a call with the time": {false, 1, 0, true},
	} {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		if test.ends {
			end()
		}
		n := newNeed()
		for range test.calls {
			n.now()
		}
		if got := n.await(ctx, test.most); got != test.needed {
			t.Errorf("%s: needed is %v", name, got)
		}
	}
}

func TestServeWhileOpening_endsWellBeforeAnythingIsNeeded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gate := &openingGate{opened: newOpening[*task.Gate]()}
	in, client := io.Pipe()
	defer client.Close()
	p := &process{Surroundings: Surroundings{In: in, Out: io.Discard}}
	err := serveWhileOpening(ctx, p, mcpserver.New(gate, mcpserver.Options{}), gate.opened.need, func(ctx context.Context) (io.Closer, error) {
		return nil, ctx.Err()
	})
	if err != nil {
		t.Errorf("a server that was ended at its start fails with %v", err)
	}
}

func TestOpeningGate_makesCallsWaitForTheDatabase(t *testing.T) {
	gate := &openingGate{opened: newOpening[*task.Gate]()}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	go func() {
		_, err := gate.List(ctx, task.Query{})
		refused <- err
	}()
	select {
	case err := <-refused:
		t.Fatalf("a call did not wait: %v", err)
	default:
	}
	cancel()
	if err := <-refused; !errors.Is(err, fault.Unavailable) {
		t.Errorf("a call that gave up: %v", err)
	}

	s := newShell(t)
	_, failed := gate.open(t.Context(), &process{Surroundings: Surroundings{Getenv: func(name string) string { return s.env[name] }}}, t.TempDir())
	if failed == nil {
		t.Fatal("a directory was opened as a database")
	}
	if _, err := gate.Create(t.Context(), task.Caller{}, task.CreateRequest{}); !errors.Is(err, failed) {
		t.Errorf("a call after the failure: %v, want %v", err, failed)
	}
}
