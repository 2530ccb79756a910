package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// job is what a worker process does, as JSON on its standard input. A second
// value, true, is its signal to begin.
type job struct {
	Location string       `json:"location"`
	Do       string       `json:"do"`
	Agent    task.AgentID `json:"agent"`
	Seed     uint64       `json:"seed"`
	Tasks    []task.ID    `json:"tasks"`
	Steps    int          `json:"steps"`
	MaxBytes int64        `json:"max_bytes"` // of the history that is recorded
}

// What a worker can do.
const (
	doStart   = "start"   // open a database that perhaps does not exist yet
	doRace    = "race"    // claim every task, then give a verdict on every task
	doHistory = "history" // random operations, each with the times of call and return
	doLoad    = "load"    // create, claim and decide until killed
	doRecord  = "record"  // record results and trim, so many times
	doFeed    = "feed"    // create, claim, decide and roll up, so many times
	doHold    = "hold"    // take the lease, and record once more after a signal
)

// The operations that an event tells of, beside the kinds of transition.
const (
	opReady = "ready" // the worker waits for its signal
	opRead  = "read"
	opLost  = "lost" // Count calls were refused as they must be

	opTrying   = "trying"   // IDs are about to be recorded
	opRecorded = "recorded" // IDs were recorded, or refused
	opTrimmed  = "trimmed"  // Count rows were trimmed
	opRolledUp = "rolled up"
	opHeld     = "held" // Count is the fence of the lease that was taken
)

// event is one line of a worker's standard output.
type event struct {
	Op     string       `json:"op"`
	Task   task.ID      `json:"task,omitempty"`
	Agent  task.AgentID `json:"agent,omitempty"`
	Code   fault.Code   `json:"code,omitempty"`   // of the refusal, empty for a success
	Status task.Status  `json:"status,omitempty"` // told by the answer or the refusal
	Prover task.AgentID `json:"prover,omitempty"` // told by a read
	Error  string       `json:"error,omitempty"`
	Count  int          `json:"count,omitempty"`
	Call   int64        `json:"call,omitempty"`
	Return int64        `json:"return,omitempty"`
	IDs    []string     `json:"ids,omitempty"`
}

// work is the life of a worker process.
func work(in io.Reader, out io.Writer) error {
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var given job
	if err := from.Decode(&given); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	ctx := context.Background()
	w := &workerRun{job: given, in: from, out: to, draw: rand.New(rand.NewPCG(given.Seed, 1))} //nolint:gosec // G404: a seeded test
	signal := func() error {
		if err := to.Encode(event{Op: opReady}); err != nil {
			return err
		}
		var begin bool
		return from.Decode(&begin)
	}
	if given.Do == doStart {
		if err := signal(); err != nil {
			return err
		}
	}
	db, err := store.Open(ctx, given.Location, store.Options{WriteWait: openWait, ReadWait: openWait})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if given.Do != doStart {
		if err := signal(); err != nil {
			return err
		}
	}
	w.db = db
	return errors.Join(w.run(ctx), db.Close())
}

// workerRun is a worker at work.
type workerRun struct {
	job
	db   *store.Database
	in   *json.Decoder
	out  *json.Encoder
	draw *rand.Rand
}

func (w *workerRun) run(ctx context.Context) error {
	switch w.Do {
	case doStart:
		return w.load(ctx, 1)
	case doRace:
		return w.race(ctx)
	case doHistory:
		return w.history(ctx)
	case doLoad:
		return w.load(ctx, 1<<30)
	case doFeed:
		return w.fed(ctx)
	case doRecord:
		return w.record(ctx)
	case doHold:
		return w.hold(ctx)
	}
	return fmt.Errorf("no work is called %q", w.Do)
}

// answer returns the event of a call's outcome.
func answer(op string, id task.ID, agent task.AgentID, err error) event {
	told := event{Op: op, Task: id, Agent: agent}
	if coded, ok := fault.Of(err); ok {
		told.Code = coded.Code
		told.Status, _ = coded.Details[fault.CurrentStatus].(task.Status)
	}
	if err != nil {
		told.Error = err.Error()
	}
	return told
}

// race tells each win and each wrong refusal, and counts the right ones.
func (w *workerRun) race(ctx context.Context) error {
	lost := 0
	for _, kind := range []task.Kind{task.KindClaimed, task.KindVerified} {
		w.draw.Shuffle(len(w.Tasks), func(i, j int) { w.Tasks[i], w.Tasks[j] = w.Tasks[j], w.Tasks[i] })
		for _, id := range w.Tasks {
			_, err := apply(ctx, w.db, newRecord(kind, id, w.Agent, "a text"))
			told := answer(string(kind), id, w.Agent, err)
			if told.Code == fault.WrongState && told.Status != "" || told.Code == fault.SelfVerify && kind != task.KindClaimed {
				lost++
				continue
			}
			if err := w.out.Encode(told); err != nil {
				return err
			}
		}
	}
	return w.out.Encode(event{Op: opLost, Count: lost})
}

// history does random operations on the tasks and tells when each began and
// ended. The clock is that of the machine, which all workers share.
func (w *workerRun) history(ctx context.Context) error {
	kinds := []task.Kind{task.KindClaimed, task.KindVerified, task.KindRejected, opRead}
	for range w.Steps {
		id, kind := w.Tasks[w.draw.IntN(len(w.Tasks))], kinds[w.draw.IntN(len(kinds))]
		called := time.Now().UnixNano()
		var told event
		if kind == opRead {
			read, err := w.db.Task(ctx, id)
			told = answer(opRead, id, w.Agent, err)
			told.Status, told.Prover = read.Status, read.ClaimedBy
		} else {
			_, err := apply(ctx, w.db, newRecord(kind, id, w.Agent, "a text"))
			told = answer(string(kind), id, w.Agent, err)
		}
		told.Call, told.Return = called, time.Now().UnixNano()
		if err := w.out.Encode(told); err != nil {
			return err
		}
	}
	return nil
}

// load takes tasks through their whole life and acknowledges every call that has
// returned, until it is killed.
func (w *workerRun) load(ctx context.Context, tasks int) error {
	for range tasks {
		created := newTask(w.Agent, "under load", "it holds", "it holds still")
		_, err := w.db.Create(ctx, created)
		if err := w.out.Encode(answer(string(task.KindCreated), created.TaskID, w.Agent, err)); err != nil {
			return err
		}
		for _, record := range []task.Record{
			newRecord(task.KindClaimed, created.TaskID, w.Agent, "it was done"),
			newRecord(task.KindRejected, created.TaskID, w.Agent+"-v", "it was not"),
		} {
			_, err := apply(ctx, w.db, record)
			if err := w.out.Encode(answer(string(record.Kind), created.TaskID, record.Agent, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// worker is a worker process, seen from the test.
type worker struct {
	job    job
	cmd    *exec.Cmd
	in     *json.Encoder
	out    *json.Decoder
	stderr *said
}

// startWorkers starts a process for each job; each is killed at the test's end
// at the latest.
func startWorkers(t testing.TB, jobs []job) []*worker {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := make([]*worker, len(jobs))
	for i, given := range jobs {
		w := &worker{job: given, cmd: exec.Command(program, workerArgument), stderr: &said{}}
		w.cmd.Stderr = w.stderr
		w.cmd.SysProcAttr = ordinary(0, 0)
		in, inErr := w.cmd.StdinPipe()
		out, outErr := w.cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr, w.cmd.Start()); err != nil {
			t.Fatalf("start a worker: %v", err)
		}
		t.Cleanup(func() { _ = w.cmd.Process.Kill() })
		w.in, w.out = json.NewEncoder(in), json.NewDecoder(out)
		if err := w.in.Encode(given); err != nil {
			t.Fatalf("give a worker its job: %v", err)
		}
		started[i] = w
	}
	return started
}

// begin waits until every worker is ready, then gives all the signal.
func begin(t testing.TB, workers []*worker) {
	t.Helper()
	for _, w := range workers {
		var told event
		if err := w.out.Decode(&told); err != nil || told.Op != opReady {
			t.Fatalf("a worker did not get ready: %v, %v\n%s", told, err, w.stderr)
		}
	}
	for _, w := range workers {
		if err := w.in.Encode(true); err != nil {
			t.Fatalf("signal a worker: %v", err)
		}
	}
}

// collect reads what each worker tells, until it ends. A worker that was not
// killed must end well.
func collect(t testing.TB, workers []*worker, killed bool) []event {
	t.Helper()
	told := make(chan []event, len(workers))
	for _, w := range workers {
		go func() {
			var heard []event
			var next event
			for w.out.Decode(&next) == nil {
				heard = append(heard, next)
				next = event{}
			}
			told <- heard
		}()
	}
	var all []event
	for range workers {
		all = append(all, <-told...)
	}
	for _, w := range workers {
		if err := w.cmd.Wait(); err != nil && !killed {
			t.Errorf("a worker failed: %v\n%s", err, w.stderr)
		}
	}
	return all
}

// said keeps the beginning of what a process says, within a bound.
type said struct {
	mu   sync.Mutex
	kept []byte
}

// maxSaid bounds what is kept of a process's words.
const maxSaid = 16 << 10

// Write keeps what fits.
func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, text[:min(len(text), maxSaid-len(s.kept))]...)
	return len(text), nil
}

// String returns what was kept.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}
