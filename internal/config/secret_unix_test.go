//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestResolve_doesNotWaitForAPipe would not end if it did.
func TestResolve_doesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Resolver{}).Resolve("file:" + pipe); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("got %v", err)
	}
}
