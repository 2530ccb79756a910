//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	// The test drives the binary that this package makes: importing it tells the
	// go command that a changed program is a changed test.
	_ "github.com/countersign-dev/countersign/internal/cli"
)

// The environment by which the outer process tells the inner one what it made.
const (
	envBinary    = "COUNTERSIGN_E2E_BINARY"
	envIsolation = "COUNTERSIGN_E2E_ISOLATION"
)

// Kinds of isolation.
const (
	isolated = "namespace" // in a network namespace of our own
	loopback = "loopback"  // on the machine's loopback; servers are held to it by node/loopback.cjs
)

func TestMain(m *testing.M) {
	if os.Getenv(envBinary) == "" {
		os.Exit(outer(m))
	}
	if os.Getenv(envIsolation) == isolated {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: raise the loopback interface of the namespace:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// outer builds the binary and runs this test again in a namespace of its own.
func outer(m *testing.M) int {
	folder, err := os.MkdirTemp("", "countersign-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	binary, err := buildBinary(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	os.Setenv(envBinary, binary)
	os.Setenv(envIsolation, isolated)
	// A child dies with the thread that started it, not with the process.
	runtime.LockOSThread()
	err = runIsolated()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return max(ended.ExitCode(), 1)
	}
	fmt.Fprintln(os.Stderr, "e2e: no network namespace, so the tests share this machine's loopback:", err)
	os.Setenv(envIsolation, loopback)
	return m.Run()
}

// buildBinary builds the program as it is shipped, in a folder that other users
// may read, since PostgreSQL and its clients may run as another one.
func buildBinary(folder string) (string, error) {
	if err := os.Chmod(folder, 0o755); err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "countersign")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", binary, "../cmd/countersign")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}

// binary is the program under test.
func binary() string { return os.Getenv(envBinary) }

// binaryFolder holds the program and nothing else.
func binaryFolder() string { return filepath.Dir(binary()) }
