//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestServe_readsItsConfigurationAgainOnSIGHUP asks a server that has no file, and
// one whose file is broken and mended. Neither ends by it.
func TestServe_readsItsConfigurationAgainOnSIGHUP(t *testing.T) {
	t.Parallel()
	env := environment(t)
	bare := start(t, t.TempDir(), env, binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	bare.await(t, servedAt.String())
	hangUp(t, bare)
	bare.await(t, "there is no configuration file that could be read again")
	if code := bare.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGHUP and SIGTERM, want 0", code)
	}

	folder := t.TempDir()
	const one = "components:\n  gone: {kind: mcp_server, url: 'http://127.0.0.1:1'}\n"
	configure(t, folder, one)
	serve := start(t, folder, env, binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	serve.await(t, "1 component of ")
	configure(t, folder, one+"  twin: {kind: mcp_sever, url: 'http://127.0.0.1:1'}\n")
	hangUp(t, serve)
	serve.await(t, `"the configuration was rejected; the one before goes on"`)
	serve.await(t, `mcp_sever`)
	configure(t, folder, one+"  twin: {kind: mcp_server, url: 'http://127.0.0.1:1'}\n")
	hangUp(t, serve)
	serve.await(t, `"the configuration was taken over".*"components":2,"added":1,"removed":0,"changed":0`)
	if code := serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

func hangUp(t *testing.T, p *process) {
	t.Helper()
	if err := p.signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// configure replaces the configuration of a folder at once.
func configure(t *testing.T, folder, content string) {
	t.Helper()
	draft := filepath.Join(t.TempDir(), "draft.yaml")
	if err := os.WriteFile(draft, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(draft, filepath.Join(folder, "countersign.yaml")); err != nil {
		t.Fatal(err)
	}
}
