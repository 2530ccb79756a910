//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// node is the Node 22 that the npm packages bring along, since the conformance
// suite and the Inspector need at least that.
func node(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("node/node_modules/node-linux-*/bin/node")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d programs named node in e2e/node/node_modules, want 1; make needs installs it (%v)", len(found), err)
	}
	return absolute(t, found[0])
}

// nodePackage is a file of an installed npm package.
func nodePackage(t *testing.T, file string) string {
	t.Helper()
	return absolute(t, filepath.Join("node", "node_modules", filepath.FromSlash(file)))
}

// driver is a program of ours in e2e/node.
func driver(t *testing.T, file string) string {
	t.Helper()
	return absolute(t, filepath.Join("node", file))
}

// absolute looks at the file, which also tells the go command that the result
// of the test depends on it.
func absolute(t *testing.T, file string) string {
	t.Helper()
	full, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(full); err != nil {
		t.Fatalf("%v; make needs installs what the tests need", err)
	}
	return full
}

// nodeCommand is the command of a program written for Node. Where the tests share
// the machine's loopback, it is held to it.
func nodeCommand(t *testing.T, argv ...string) []string {
	t.Helper()
	command := []string{node(t)}
	if os.Getenv(envIsolation) == loopback {
		command = append(command, "--require", driver(t, "loopback.cjs"))
	}
	return append(command, argv...)
}

// startNode starts a server written for Node.
func startNode(t *testing.T, env []string, argv ...string) {
	t.Helper()
	start(t, t.TempDir(), environment(t, env...), nodeCommand(t, argv...)...)
}
