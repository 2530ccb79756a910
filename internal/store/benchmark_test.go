package store_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// openForBenchmark opens a new SQLite file.
func openForBenchmark(b *testing.B) *store.Database {
	b.Helper()
	return openAt(b, storetest.SQLite(b))
}

func openAt(b *testing.B, location string) *store.Database {
	b.Helper()
	database, err := store.Open(b.Context(), location, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := database.Close(); err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	return database
}

// unstored makes a task that no database holds yet.
func unstored(b *testing.B) task.NewTask {
	b.Helper()
	id, at, err := task.NewID(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	made, err := task.NewTask{
		Record: task.Record{
			TaskID: id, Kind: task.KindCreated, Agent: "reviewer", At: at,
			Principal: task.Principal{Kind: "process", ID: "benchmark"},
		},
		Title: "Add a /healthz endpoint", Criteria: []string{"GET /healthz returns 200", "npm test passes"},
	}.Sealed()
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// next makes the record that follows on a task.
func next(b *testing.B, after task.NewTask, kind task.Kind, agent task.AgentID) task.Record {
	b.Helper()
	made, err := task.Record{
		TaskID: after.TaskID, Kind: kind, Agent: agent, Principal: after.Principal, At: after.At, Text: "curl -i returns 200",
	}.Sealed()
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// seed stores n tasks and returns them.
func seed(b *testing.B, database *store.Database, n int) []task.NewTask {
	b.Helper()
	tasks := make([]task.NewTask, n)
	for i := range tasks {
		tasks[i] = unstored(b)
		if _, err := database.Create(b.Context(), tasks[i]); err != nil {
			b.Fatal(err)
		}
	}
	return tasks
}

// frame is the length of a page in the write-ahead log, with its header.
const frame = 4096 + 24

// written reports the pages that each operation from now on writes to the log, and
// the time that the processor works for it. A reader keeps the log from beginning
// anew.
func written(b *testing.B, location string) {
	b.Helper()
	keeper := foreign(b, location)
	keeper.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "BEGIN", "SELECT count(*) FROM heartbeat"} {
		if _, err := keeper.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	size := func() int64 {
		log, err := os.Stat(location + "-wal")
		if err != nil {
			b.Fatal(err)
		}
		return log.Size()
	}
	before, worked := size(), cpuTime()
	b.ResetTimer()
	b.Cleanup(func() {
		b.ReportMetric(float64((cpuTime()-worked).Microseconds())/float64(b.N), "cpu-µs/op")
		b.ReportMetric(float64(size()-before)/frame/float64(b.N), "pages/op")
	})
}

func BenchmarkCreate(b *testing.B) {
	location := storetest.SQLite(b)
	database := openAt(b, location)
	written(b, location)
	for range b.N {
		if _, err := database.Create(b.Context(), unstored(b)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	location := storetest.SQLite(b)
	database := openAt(b, location)
	tasks := seed(b, database, b.N)
	written(b, location)
	for _, created := range tasks {
		if _, err := database.Claim(b.Context(), next(b, created, task.KindClaimed, "prover")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	location := storetest.SQLite(b)
	database := openAt(b, location)
	tasks := seed(b, database, b.N)
	for _, created := range tasks {
		if _, err := database.Claim(b.Context(), next(b, created, task.KindClaimed, "prover")); err != nil {
			b.Fatal(err)
		}
	}
	written(b, location)
	for _, created := range tasks {
		if _, err := database.Decide(b.Context(), next(b, created, task.KindVerified, "verifier")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefusedClaim(b *testing.B) {
	database := openForBenchmark(b)
	created := seed(b, database, 1)[0]
	claimed := next(b, created, task.KindClaimed, "prover")
	if _, err := database.Claim(b.Context(), claimed); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := database.Claim(b.Context(), claimed); err == nil {
			b.Fatal("a second claim was stored")
		}
	}
}

func BenchmarkTask(b *testing.B) {
	database := openForBenchmark(b)
	tasks := seed(b, database, 100)
	for i := 0; b.Loop(); i++ {
		if _, err := database.Task(b.Context(), tasks[i%len(tasks)].TaskID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, size := range []int{task.DefaultPage, task.MaxPage} {
		b.Run(fmt.Sprintf("page=%d", size), func(b *testing.B) {
			database := openForBenchmark(b)
			seed(b, database, 2*task.MaxPage)
			for b.Loop() {
				if _, _, err := database.List(b.Context(), task.Filter{Limit: size}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCounts(b *testing.B) {
	for _, rolledUp := range []bool{false, true} {
		b.Run(fmt.Sprintf("rolled up=%v", rolledUp), func(b *testing.B) {
			database := openForBenchmark(b)
			seed(b, database, task.MaxCount)
			for more := rolledUp; more; {
				var err error
				if more, err = database.RollUp(b.Context(), time.Now()); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := database.Counts(b.Context(), task.MaxCount); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
