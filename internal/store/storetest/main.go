package storetest

import (
	"fmt"
	"os"
	"testing"
)

// workerArgument makes a test binary a worker: see startWorkers.
const workerArgument = "storetest-worker"

// Main runs the tests of a package that uses Postgres or worker processes; call
// it from TestMain. The private server is stopped at the end.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerArgument {
		if err := work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			panic(err)
		}
		return
	}
	m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the private PostgreSQL server:", err)
	}
}
