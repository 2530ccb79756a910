package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// Where no server ever runs, nobody but these commands can hold the history to its
// bounds.
func TestRetention_isKeptByWhateverAddsToTheHistory(t *testing.T) {
	for name, args := range map[string][]string{
		"probe": {"probe", "asm"}, "preflight": {"preflight", "nightly"}, "check": {"preflight", "--check", "nightly.ticket"},
		"mcp": {"mcp", "--registry"}, // which is asked for a preflight
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			if code, _, complaint := f.run("preflight", "nightly", "--ticket", "nightly.ticket"); code != exitYes {
				t.Fatalf("preflight: exit %d, %s", code, complaint)
			}
			database, err := store.Open(t.Context(), filepath.Join(f.env["XDG_DATA_HOME"], "countersign", "countersign.db"), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Close() })
			old, newest := failureOf(t, time.Now().Add(-3*registry.DefaultRaw)), failureOf(t, time.Now().Add(-2*registry.DefaultRaw))
			if err := database.Record(t.Context(), nil, []registry.Record{old, newest}); err != nil {
				t.Fatal(err)
			}
			if code, _, complaint := f.run("component", "list"); code != exitYes {
				t.Fatalf("component list: exit %d, %s", code, complaint)
			}
			if _, err := database.Result(t.Context(), old.ID); err != nil {
				t.Errorf("a command that only reads has trimmed: %v", err)
			}
			f.in = mcpCall("preflight", `{"run":"nightly"}`)
			if code, _, complaint := f.run(args...); code != exitYes {
				t.Errorf("exit %d, %s", code, complaint)
			}
			if _, err := database.Result(t.Context(), old.ID); !errors.Is(err, fault.NotFound) {
				t.Errorf("a result of three weeks ago is still there: %v", err)
			}
			if _, err := database.Result(t.Context(), newest.ID); err != nil {
				t.Errorf("the newest result of a component is gone: %v", err)
			}
		})
	}
}

// failureOf is the result of a component, which failed at a moment.
func failureOf(t *testing.T, at time.Time) registry.Record {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i) & 0xff)
	}
	return registry.Record{
		ID: id.String(), Registration: registry.Registration{Name: "gone", Kind: registry.KindMCPServer, Definition: "sha256:0"},
		Policy: (&registry.Component{}).Policy(),
		Summary: registry.Summary{
			ProbedAt: at, Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.Refused}, Reason: "refused",
			Proof: []byte(`{"healthz":false,"test":false,"listTools":false,"tools":0}`),
		},
	}
}

func TestMCP_announcesThatARunStartsOnAFallback(t *testing.T) {
	f := newFleet(t)
	f.first.broken.Store(true)
	f.in = mcpCall("preflight", `{"run":"nightly"}`)
	code, out, log := f.run("mcp", "--registry")
	if code != exitYes || !strings.Contains(out, `"allowed":true`) {
		t.Errorf("exit %d, %s", code, out)
	}
	if !strings.Contains(log, "level=WARN") || !strings.Contains(log, "a slot is filled by a fallback") {
		t.Errorf("the fallback is not announced:\n%s", log)
	}
}
