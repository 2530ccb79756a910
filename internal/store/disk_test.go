package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	lib "modernc.org/sqlite/lib"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// TestCreate_isUnavailableOnAFullDisk lets the file grow no further, as a full
// disk does, and then lets it grow again.
func TestCreate_isUnavailableOnAFullDisk(t *testing.T) {
	unavailableUnder(t, "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 100000", "full")
}

func TestCreate_isUnavailableOnAFileThatMayNotBeWritten(t *testing.T) {
	unavailableUnder(t, "PRAGMA query_only = ON", "PRAGMA query_only = OFF", "written")
}

// unavailableUnder creates a task under a setting of the writer that makes it
// fail, and again without it.
func unavailableUnder(t *testing.T, failing, well, told string) {
	t.Helper()
	db, engine := openEngine(t)
	set := func(pragma string) {
		if _, err := engine.conn.ExecContext(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
	}
	set(failing)
	created := longTask()
	_, err := db.Create(t.Context(), created)
	if coded, ok := fault.Of(err); !ok || coded.Code != fault.Unavailable || !strings.Contains(coded.Message, told) {
		t.Errorf("got %v, want E_UNAVAILABLE that says %q", err, told)
	}
	if _, err := db.Task(t.Context(), created.TaskID); !errors.Is(err, fault.NotFound) {
		t.Errorf("after the refusal: got %v, want E_NOT_FOUND", err)
	}
	set(well)
	if _, err := db.Create(t.Context(), created); err != nil {
		t.Errorf("without the setting: %v", err)
	}
}

func openEngine(t *testing.T) (*Database, *sqliteEngine) {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	engine, ok := db.engine.(*sqliteEngine)
	if !ok {
		t.Fatalf("the engine is a %T", db.engine)
	}
	return db, engine
}

// longTask returns a task that needs new pages.
func longTask() task.NewTask {
	return task.NewTask{
		Record: task.Record{
			TaskID: "01890000-0000-7000-8000-000000000000", Kind: task.KindCreated, Agent: "alice",
			Principal: task.Principal{Kind: "process", ID: "test"}, Body: "b", Digest: strings.Repeat("0a", 32),
		},
		Title: "a task", Criteria: []string{strings.Repeat("long ", 10_000)},
	}
}

// lossyEngine loses the answer of the first write after it has committed, as a
// connection that breaks does.
type lossyEngine struct {
	engine
	lost bool
}

func (e *lossyEngine) atomic(ctx context.Context, do func(context.Context, session) error) error {
	return e.write(ctx, do)
}

var errLost = errors.New("the answer was lost")

func (e *lossyEngine) write(ctx context.Context, do func(context.Context, session) error) error {
	err := e.engine.write(ctx, do)
	if err == nil && !e.lost {
		e.lost = true
		return errLost
	}
	return err
}

// TestTransition_isRecognisedWhenItsAnswerWasLost retries a write that was
// stored: it is neither stored twice nor refused.
func TestTransition_isRecognisedWhenItsAnswerWasLost(t *testing.T) {
	db, engine := openEngine(t)
	db.dialect.transient = func(err error) bool { return errors.Is(err, errLost) }
	created := longTask()
	claimed := task.Record{
		TaskID: created.TaskID, Kind: task.KindClaimed, Agent: "alice", Principal: created.Principal,
		Text: "evidence", Body: "c", Digest: strings.Repeat("0b", 32),
	}
	other := claimed
	other.Agent, other.Digest = "mallory", strings.Repeat("0c", 32)
	db.engine = &lossyEngine{engine: engine}
	if made, err := db.Create(t.Context(), created); err != nil || made != created.Transition() {
		t.Errorf("create: got %+v, %v", made, err)
	}
	db.engine = &lossyEngine{engine: engine}
	if made, err := db.Claim(t.Context(), claimed); err != nil || made != claimed.Transition() {
		t.Errorf("claim: got %+v, %v", made, err)
	}
	if _, err := db.Claim(t.Context(), other); !errors.Is(err, fault.WrongState) {
		t.Errorf("claim of another: got %v, want E_WRONG_STATE", err)
	}
}

// A failed sync leaves the transaction in the log, where a crash before the next
// write would let it be found; tried with a system whose fsync fails.
func TestUnavailable_leavesTheOutcomeOpenWhenASyncFails(t *testing.T) {
	for code, settled := range map[int]bool{lib.SQLITE_IOERR_FSYNC: false, lib.SQLITE_IOERR_WRITE: true, lib.SQLITE_FULL: true} {
		got := unavailableBy(code, errors.New("cause"))
		if got == nil || got.Code != fault.Unavailable || strings.Contains(got.Message, "nothing changed") != settled {
			t.Errorf("result code %d: %v, want one that is settled: %v", code, got, settled)
		}
	}
}
