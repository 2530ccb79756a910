package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/store"
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

// openingOf returns what opens by open.
func openingOf(open func() (opened[int], error)) *opening[int] {
	o := newOpening[int]()
	o.open = open
	return o
}

// passed is a failure that may pass, as the store makes it.
func passed(t *testing.T) error {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Open(ctx, filepath.Join(t.TempDir(), "tasks.db"), store.Options{})
	if !store.MayPass(err) {
		t.Fatalf("an opening whose context was over: %v", err)
	}
	return err
}

func TestOpening_isTriedAgainAfterWhatPasses(t *testing.T) {
	passing, lasting := passed(t), errors.New("no database")
	for name, test := range map[string]struct {
		failures []error
		tries    int
	}{
		"opened at once":       {nil, 1},
		"opened after a while": {[]error{passing, passing}, 3},
		"never":                {[]error{passing, lasting}, 2},
	} {
		tries := 0
		o := openingOf(func() (opened[int], error) {
			tries++
			if tries <= len(test.failures) {
				return opened[int]{}, test.failures[tries-1]
			}
			return opened[int]{use: 7}, nil
		})
		for i := range 5 {
			got, err := o.await(t.Context())
			switch {
			case len(test.failures) > 0 && i >= len(test.failures) && errors.Is(test.failures[len(test.failures)-1], lasting):
				if !errors.Is(err, lasting) {
					t.Errorf("%s: call %d after the last failure: %v", name, i, err)
				}
			case i < len(test.failures):
				if !errors.Is(err, test.failures[i]) {
					t.Errorf("%s: call %d: %v, want %v", name, i, err, test.failures[i])
				}
			case err != nil || got != 7:
				t.Errorf("%s: call %d: %d, %v", name, i, got, err)
			}
		}
		if tries != test.tries {
			t.Errorf("%s: opened %d times, want %d", name, tries, test.tries)
		}
	}
}

func TestOpening_isSharedByTheCallsThatWait(t *testing.T) {
	begun, open := make(chan struct{}, 9), make(chan struct{})
	o := openingOf(func() (opened[int], error) {
		begun <- struct{}{}
		<-open
		return opened[int]{use: 7}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	call := func(ctx context.Context) {
		_, err := o.await(ctx)
		answered <- err
	}
	go call(ctx)
	<-begun
	go call(t.Context())
	cancel()
	if err := <-answered; !errors.Is(err, fault.Unavailable) {
		t.Errorf("a call that gave up: %v", err)
	}
	close(open)
	if err := <-answered; err != nil || len(begun) != 0 {
		t.Errorf("a call that waited: %v; %d more attempts", err, len(begun))
	}
}

func TestOpening_endsWellBeforeAnythingIsNeeded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gate := &openingGate{opened: newOpening[*task.Gate]()}
	in, client := io.Pipe()
	defer client.Close()
	p := &process{Surroundings: Surroundings{In: in, Out: io.Discard}}
	err := gate.opened.serve(ctx, p, mcpserver.New(gate, mcpserver.Options{}), slog.New(slog.DiscardHandler), func(context.Context) (opened[*task.Gate], error) {
		return opened[*task.Gate]{}, errors.New("no database")
	})
	if err != nil {
		t.Errorf("a server that was ended at its start fails with %v", err)
	}
}
