package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// TestRecord_showsWhatWasAlteredWithItsGuardsRemoved edits a task behind the
// triggers' backs: the record no longer agrees, and the gate says so.
func TestRecord_showsWhatWasAlteredWithItsGuardsRemoved(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"a title":       `UPDATE tasks SET title = 'easier'`,
		"a criterion":   `UPDATE criteria SET text = 'easier' WHERE number = 1`,
		"the evidence":  `UPDATE transitions SET text = 'better' WHERE number = 2`,
		"the prover":    `UPDATE transitions SET agent_id = 'carol' WHERE number = 2`,
		"the principal": `UPDATE transitions SET principal_id = 'other' WHERE number = 3`,
		"the time":      `UPDATE transitions SET at = at + 1 WHERE number = 3`,
		"the verdict":   `UPDATE transitions SET kind = 'verified', to_status = 'verified' WHERE number = 3`,
		"the body":      `UPDATE transitions SET body = body || ' ' WHERE number = 1`,
		"the end":       `DELETE FROM transitions WHERE number = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tasks.db")
			db, err := store.Open(t.Context(), file, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			gate := task.NewGate(db, time.Now)
			id := rejectedTask(t, gate)
			if _, _, err := gate.TaskOnRecord(t.Context(), id); err != nil {
				t.Fatalf("before the edit: %v", err)
			}
			editUnguarded(t, file, edit)
			if _, _, err := gate.TaskOnRecord(t.Context(), id); !errors.Is(err, fault.Internal) {
				t.Errorf("after %s the gate says %v", edit, err)
			}
		})
	}
}

// rejectedTask takes a task through all its transitions.
func rejectedTask(t *testing.T, gate *task.Gate) string {
	t.Helper()
	caller := task.Caller{Principal: task.Principal{Kind: "process", ID: "p"}}
	created, err := gate.Create(t.Context(), caller, task.CreateRequest{Title: "work", AcceptanceCriteria: []string{"a", "b"}, CreatedBy: new("alice")})
	if err != nil {
		t.Fatal(err)
	}
	id := string(created.TaskID)
	if _, err := gate.Claim(t.Context(), caller, task.ClaimRequest{TaskID: id, AgentID: new("alice"), Evidence: "done"}); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Verify(t.Context(), caller, task.VerifyRequest{TaskID: id, VerifierAgentID: new("bob"), Verdict: "rejected", Notes: "b fails"}); err != nil {
		t.Fatal(err)
	}
	return id
}

// editUnguarded drops every trigger and changes the file without any check.
func editUnguarded(t *testing.T, file, edit string) {
	t.Helper()
	foreign, err := sql.Open("sqlite", "file:"+file+"?_pragma=ignore_check_constraints(ON)")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	foreign.SetMaxOpenConns(1)
	var drop string
	err = foreign.QueryRowContext(t.Context(),
		`SELECT group_concat('DROP TRIGGER ' || name, '; ') FROM sqlite_schema WHERE type = 'trigger'`).Scan(&drop)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.ExecContext(t.Context(), drop+"; "+edit); err != nil {
		t.Fatal(err)
	}
}
