package gates_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/gates"
)

// TestExecutable_reapsTheOrphansItAdopts plays process 1 of a container, which
// becomes the parent of every process whose own parent has ended.
func TestExecutable_reapsTheOrphansItAdopts(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	path := script(t, `(sleep 1000 & sleep 1000) >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 & echo 1.0`)
	if _, body := askTest(t, mounted(gates.Required("tool", gates.Executable{Path: path}))); !body.OK {
		t.Errorf("/test = %+v", body)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("a child is left, alive (0) or as a zombie (its id): %d, %v", pid, err)
	}
}
