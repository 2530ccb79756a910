package store_test

import (
	"os"
	"strconv"
	"testing"

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

// size returns the size of a torture: usual, a quarter of it under the race
// detector, or soaked when COUNTERSIGN_SOAK is true.
func size(t *testing.T, usual, soaked int) int {
	t.Helper()
	soak, err := strconv.ParseBool(os.Getenv("COUNTERSIGN_SOAK"))
	switch {
	case err == nil && soak:
		return soaked
	case raceDetector:
		return max(usual/4, 1)
	}
	return usual
}

func TestDatabase_isTheStoreOfTheContract(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.Run(t, fresh) })
}

func TestTransitions_haveOneWinnerAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		storetest.Race(t, fresh, size(t, 64, 64), size(t, 1000, 1000))
	})
}

func TestOpen_succeedsForProcessesThatStartAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.FirstStarts(t, fresh, 40) })
}

func TestTransitions_areLinearizableAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.Histories(t, fresh, 6, size(t, 4, 40)) })
}

func TestDatabase_isWholeAfterProcessesAreKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.Crash(t, fresh, size(t, 40, 200)) })
}
