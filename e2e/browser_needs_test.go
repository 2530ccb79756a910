//go:build unix

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// needed is a program that make needs provides: on PATH, or unpacked into
// build/needs.
func needed(t *testing.T, program string) string {
	t.Helper()
	if found, err := exec.LookPath(program); err == nil {
		return found
	}
	return absolute(t, filepath.Join("..", "build", "needs", program))
}
