//go:build unix

package probe_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soak multiplies the size of a torture; COUNTERSIGN_SOAK sets it.
func soak(t *testing.T) int {
	t.Helper()
	factor, err := strconv.Atoi(os.Getenv("COUNTERSIGN_SOAK"))
	if err != nil || factor < 1 {
		return 1
	}
	return factor
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// livingChildren counts the servers of this test that run, whoever is their
// parent by now: they all have the binary of this process.
func livingChildren(t *testing.T) int {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, link := range links {
		pid := strings.Split(link, "/")[2]
		if target, err := os.Readlink(link); err == nil && target == own && pid != strconv.Itoa(os.Getpid()) {
			count++
		}
	}
	return count
}

// eventually waits for a condition that others bring about.
func eventually(t *testing.T, complaint string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatal(complaint)
		case <-ticks.C:
		}
	}
}
