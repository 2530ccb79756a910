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
	"github.com/countersign-dev/countersign/internal/store/storetest"
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
	if role := os.Getenv(envDriver); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(envBinary) == "" {
		outer(m)
		return
	}
	if os.Getenv(envIsolation) == isolated {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: raise the loopback interface of the namespace:", err)
			os.Exit(1)
		}
	}
	storetest.Main(m)
}

// play is what the test binary does when a test starts it.
func play(role string) error {
	if role == driveStdio {
		return serveStdio()
	}
	return drive(os.Args[len(os.Args)-1])
}

// outer builds the binary and runs this test again in a namespace of its own, or
// here if there is none. It exits with the inner test's code if that failed.
func outer(m *testing.M) {
	folder, err := os.MkdirTemp("", "countersign-e2e-")
	if err != nil {
		panic(err)
	}
	code := 0
	defer func() {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
		if code != 0 {
			os.Exit(code)
		}
	}()
	binary, err := buildBinary(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
		return
	}
	os.Setenv(envBinary, binary)
	if os.Getenv(envScene) != "" { // somebody wants to reach it
		os.Setenv(envIsolation, loopback)
		storetest.Main(m)
		return
	}
	os.Setenv(envIsolation, isolated)
	// A child dies with the thread that started it, not with the process.
	runtime.LockOSThread()
	err = runIsolated()
	var ended *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &ended):
		code = max(ended.ExitCode(), 1)
	default:
		fmt.Fprintln(os.Stderr, "e2e: no network namespace, so the tests share this machine's loopback:", err)
		os.Setenv(envIsolation, loopback)
		storetest.Main(m)
	}
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
