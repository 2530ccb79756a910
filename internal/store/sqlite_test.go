package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// newTask returns a sealed task.
func newTask(t *testing.T, title string) task.NewTask {
	t.Helper()
	id, at, err := task.NewID(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := task.NewTask{
		Record: task.Record{
			TaskID: id, Kind: task.KindCreated, Agent: "alice", At: at,
			Principal: task.Principal{Kind: "process", ID: "test"},
		},
		Title: title, Criteria: []string{"it holds"},
	}.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func open(t *testing.T, location string, options store.Options) *store.Database {
	t.Helper()
	db, err := store.Open(t.Context(), location, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// refused opens a location that must be refused with the code and a hint, and
// returns all that the fault says.
func refused(t *testing.T, location string, code fault.Code) string {
	t.Helper()
	db, err := store.Open(t.Context(), location, store.Options{WriteWait: time.Minute})
	if err == nil {
		db.Close()
	}
	coded, ok := fault.Of(err)
	if !ok || coded.Code != code || coded.Hint == "" {
		t.Fatalf("open %s: got %v, want %s with a hint", location, err, code)
	}
	return coded.Error() + "\n" + coded.Hint
}

func digest(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}

func foreign(t testing.TB, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestOpen_refusesWhatIsNoDatabaseFile(t *testing.T) {
	t.Chdir(t.TempDir()) // a location that is taken for a path makes its file here
	for _, location := range []string{
		"", ":memory:", "file:tasks.db?mode=memory", ".",
		"POSTGRES://localhost/tasks", "mysql://localhost/tasks", "http://localhost:8484", "sqlite:///tasks.db",
		"~/tasks.db", "~alice/tasks.db",
	} {
		refused(t, location, fault.InvalidArgument)
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Errorf("made %v (%v)", made, err)
	}
}

func TestOpen_leavesADamagedFileUntouched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := digest(t, file)
	refused(t, file, fault.Unavailable)
	if digest(t, file) != before {
		t.Error("the file was changed")
	}
}

func TestOpen_leavesADatabaseOfAnotherProgramUntouched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.db")
	other := foreign(t, file)
	run(t, other, "CREATE TABLE tasks (id TEXT)")
	other.Close()
	before := digest(t, file)
	refused(t, file, fault.Unavailable)
	if digest(t, file) != before {
		t.Error("the file was changed")
	}
}

func TestOpen_leavesANewerFileUntouched(t *testing.T) {
	file := storetest.SQLite(t)
	if err := open(t, file, store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	newer := foreign(t, file)
	run(t, newer, "PRAGMA user_version = 99")
	newer.Close()
	before := digest(t, file)
	if told := refused(t, file, fault.Unavailable); !strings.Contains(told, "99") {
		t.Errorf("the message does not tell the version: %s", told)
	}
	if digest(t, file) != before {
		t.Error("the file was changed")
	}
}

func TestOpen_refusesADirectoryItCannotWriteTo(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root may write anywhere but where there is no place for a directory.
		refused(t, "/proc/self/no/such/tasks.db", fault.Unavailable)
		return
	}
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o500); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(directory, "tasks.db"), fault.Unavailable)
}

func TestOpen_makesTheDirectoryForItsUserOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b", "tasks.db")
	db := open(t, file, store.Options{})
	if found, err := os.Stat(filepath.Dir(file)); err != nil || found.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want mode 0700", found, err)
	}
	if db.Location() != file || db.Kind() != "sqlite" {
		t.Errorf("got %s of kind %s", db.Location(), db.Kind())
	}
}

func TestOpen_takesAnyFileName(t *testing.T) {
	for _, name := range []string{"with space.db", "100%?#&=;é.db", "-", "a:b"} {
		file := filepath.Join(t.TempDir(), name)
		db := open(t, file, store.Options{})
		if _, err := db.Create(t.Context(), newTask(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s is not where the database is: %v", name, err)
		}
	}
}

// TestOpen_queuesAtTheSameLockThroughALink holds the writer lock of the real
// file and opens the database through a symbolic link.
func TestOpen_queuesAtTheSameLockThroughALink(t *testing.T) {
	file := storetest.SQLite(t)
	open(t, file, store.Options{})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if db := open(t, link, store.Options{}); db.Location() != file {
		t.Errorf("the link leads to %s, want %s", db.Location(), file)
	}
}

// TestOpen_queuesAtTheSameLockThroughALinkToNothing opens the database before its
// file exists, through two links: the first to open makes it.
func TestOpen_queuesAtTheSameLockThroughALinkToNothing(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first.db"), filepath.Join(folder, "second.db")
	if err := errors.Join(os.Symlink("second.db", first), os.Symlink(filepath.Join(t.TempDir(), "real.db"), second)); err != nil {
		t.Fatal(err)
	}
	made := open(t, first, store.Options{}).Location()
	if again := open(t, second, store.Options{}).Location(); made != again {
		t.Errorf("the links lead to %s and %s", made, again)
	}
}

func TestOpen_refusesALinkThatLeadsRoundInACircle(t *testing.T) {
	file := storetest.SQLite(t)
	if err := os.Symlink(file, file); err != nil {
		t.Fatal(err)
	}
	refused(t, file, fault.Unavailable)
}

// A file with two names would have two logs, each with a part of the tasks.
func TestOpen_refusesAFileWithASecondName(t *testing.T) {
	file := storetest.SQLite(t)
	if err := open(t, file, store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(t.TempDir(), "second.db")
	if err := os.Link(file, second); err != nil {
		t.Fatal(err)
	}
	refused(t, second, fault.InvalidArgument)
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	open(t, file, store.Options{})
}

func TestCreate_isUnavailableWhileAnotherProcessHoldsTheWriterLock(t *testing.T) {
	file := storetest.SQLite(t)
	db := open(t, file, store.Options{WriteWait: 50 * time.Millisecond})
	held := flock.New(file + ".wlock")
	if err := held.Lock(); err != nil {
		t.Fatal(err)
	}
	created := newTask(t, "blocked")
	if _, err := db.Create(t.Context(), created); !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want E_UNAVAILABLE", err)
	}
	if _, err := db.Task(t.Context(), created.TaskID); !errors.Is(err, fault.NotFound) {
		t.Errorf("a reader: got %v, want E_NOT_FOUND at once", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file, store.Options{}).Create(t.Context(), created); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// TestCreate_isUnavailableWhileAForeignToolHoldsTheFile uses a tool that knows
// nothing of the queue.
func TestCreate_isUnavailableWhileAForeignToolHoldsTheFile(t *testing.T) {
	file := storetest.SQLite(t)
	db := open(t, file, store.Options{WriteWait: 50 * time.Millisecond})
	tool := foreign(t, file)
	run(t, tool, "BEGIN IMMEDIATE")
	_, err := db.Create(t.Context(), newTask(t, "blocked"))
	coded, ok := fault.Of(err)
	if !ok || coded.Code != fault.Unavailable || coded.Hint == "" || strings.Contains(coded.Message, "locked") {
		t.Errorf("got %v, want E_UNAVAILABLE that does not speak of locks", err)
	}
	run(t, tool, "ROLLBACK")
	if _, err := open(t, file, store.Options{}).Create(t.Context(), newTask(t, "free")); err != nil {
		t.Errorf("after the tool: %v", err)
	}
}

func TestDatabase_isUnavailableWhenClosed(t *testing.T) {
	db := open(t, storetest.SQLite(t), store.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Create(context.WithoutCancel(t.Context()), newTask(t, "late")); !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want E_UNAVAILABLE", err)
	}
}
