package store_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// databases are the two that everything here runs on.
var databases = map[string]storetest.Fresh{"sqlite": storetest.SQLite, "postgres": storetest.Postgres}

// onBoth runs a test on each database.
func onBoth(t *testing.T, test func(*testing.T, storetest.Fresh)) {
	t.Helper()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) { test(t, fresh) })
	}
}

// size returns the size of a torture: usual, an eighth of it under the race
// detector, and COUNTERSIGN_SOAK times that where it is set.
func size(t *testing.T, usual int) int {
	t.Helper()
	if raceDetector {
		usual = max(usual/8, 1)
	}
	times := os.Getenv("COUNTERSIGN_SOAK")
	if times == "" {
		return usual
	}
	factor, err := strconv.Atoi(times)
	if err != nil || factor < 1 {
		t.Fatalf("COUNTERSIGN_SOAK is %q, want a whole number from 1", times)
	}
	return usual * factor
}

func TestDatabase_isTheStoreOfTheContract(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.Run(t, fresh) })
}

// racers is how many processes race for every task.
const racers = 64

func TestTransitions_haveOneWinnerAmongProcessesOnSQLite(t *testing.T) {
	storetest.Race(t, storetest.SQLite, racers, size(t, 1000))
}

func TestTransitions_haveOneWinnerAmongProcessesOnPostgres(t *testing.T) {
	storetest.Race(t, storetest.Postgres, racers, size(t, 1000))
}

func TestOpen_succeedsForProcessesThatStartAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.FirstStarts(t, fresh, 40) })
}

func TestTransitions_areLinearizableAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.Histories(t, fresh, 6, size(t, 4)) })
}

func TestSQLite_isWholeAfterProcessesAreKilled(t *testing.T) {
	storetest.Crash(t, storetest.SQLite, size(t, 200))
}

func TestPostgres_isWholeAfterProcessesAreKilled(t *testing.T) {
	storetest.Crash(t, storetest.Postgres, size(t, 60))
}

func TestRecord_losesNothingAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		storetest.RecordAtOnce(t, fresh, 6, size(t, 40), registry.DefaultMaxBytes)
	})
}

func TestTrim_keepsTheAccountAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		storetest.RecordAtOnce(t, fresh, 6, size(t, 40), 32<<10)
	})
}

func TestRecord_refusesTheLateHolderOfALease(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.LateHolder(t, fresh) })
}

func TestSQLite_holdsWholeBatchesAfterProcessesAreKilled(t *testing.T) {
	storetest.CrashRecording(t, storetest.SQLite, size(t, 40))
}

func TestPostgres_holdsWholeBatchesAfterProcessesAreKilled(t *testing.T) {
	storetest.CrashRecording(t, storetest.Postgres, size(t, 20))
}
