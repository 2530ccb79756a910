//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// written is a server over standard streams, for sh. Its tool echo is marked
// read-only, its tool drop is not.
const written = `#!/bin/sh
while read -r line; do
	case $line in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"shell","version":"1"}}}' ;;
	*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"drop"}]}}' ;;
	*'"tools/call"'*) echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"n\":3,\"key\":\"'"$KEY"'\"}"}]}}' ;;
	esac
done
`

// folder has the server, a configuration file and the file of a client.
func folder(t *testing.T) (dir, server string) {
	t.Helper()
	dir = t.TempDir()
	server = filepath.Join(dir, "server")
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, content := range map[string]string{
		"server": written,
		"countersign.yaml": `components:
  shell: {kind: mcp_server, command: ["` + server + `"], env: {KEY: env:TOKEN}, canary: {tool: echo, expect: {path: $.key, equals: open}}}
  bare: {kind: mcp_server, command: ["` + server + `"]}
`,
		"mcp.json": `{"mcpServers": {
  "shell": {"command": "` + server + `"}, // a comment
  "gone": {"type": "http", "url": "` + gone.URL + `/mcp?key=s3cret"},
  "odd": {"type": "carrier-pigeon", "url": "x"},
}}`,
		"good.json": `{"servers": {"shell": {"command": "` + server + `"}, "again": {"command": "` + server + `"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, server
}

func TestProbe_takesCommandsComponentsAndClientFiles(t *testing.T) {
	t.Parallel()
	dir, server := folder(t)
	file, good, broken := filepath.Join(dir, "countersign.yaml"), filepath.Join(dir, "good.json"), filepath.Join(dir, "mcp.json")
	for _, row := range []struct {
		args []string
		want int
	}{
		{[]string{"probe", "--call", "echo", "--", server}, exitYes},
		{[]string{"probe", "--call", "echo", "--", server, "--call", "nothing"}, exitYes},
		{[]string{"probe", "--", server}, exitNo},
		{[]string{"probe", "--only", "healthz,listTools", "--", server}, exitYes},
		{[]string{"probe", "--call", "drop", "--", server}, exitNo},
		{[]string{"probe", "--call", "drop", "--force", "--", server}, exitYes},
		{[]string{"probe", "--call", "echo", "--expect", "matches=n.*3", "--", server}, exitYes},
		{[]string{"probe", "--call", "echo", "--expect", "matches=^$", "--", server}, exitNo},
		{[]string{"probe", "--call", "echo", "--arguments", `{"a":1}`, "--expect", "path=$.n equals=3", "--", server}, exitYes},
		{[]string{"probe", "--call", "echo", "--expect", "path=$['n'] min_count=2", "--", server}, exitNo},
		{[]string{"probe", "--call", "echo", "--expect-server", "shell", "--require-tools", "drop", "--", server}, exitYes},
		{[]string{"probe", "--call", "echo", "--expect-server", "other", "--", server}, exitNo},
		{[]string{"probe", "--", filepath.Join(dir, "none")}, exitNo},
		{[]string{"probe", "shell", "--config", file}, exitYes},
		{[]string{"probe", "bare", "--config", file}, exitNo},
		{[]string{"probe", "bare", "--config", file, "--call", "echo"}, exitYes},
		{[]string{"probe", "--mcp-config", good, "--only", "listTools"}, exitYes},
		{[]string{"probe", "--mcp-config", good}, exitNo},
		{[]string{"probe", "--mcp-config", broken, "--only", "listTools"}, exitNo},
		{[]string{"probe", "nobody", "--config", file}, exitAsk},
		{[]string{"probe", "nobody"}, exitAsk},
		{[]string{"probe", "shell", "--config", filepath.Join(dir, "none.yaml")}, exitAsk},
		{[]string{"probe", "shell", "--config", broken}, exitAsk},
		{[]string{"probe", "shell", "--config", file, "--profile", "protocol"}, exitAsk},
		{[]string{"probe", "--profile", "protocol", "--", server}, exitAsk},
		{[]string{"probe", "--"}, exitAsk},
		{[]string{"probe", "shell", "--", server}, exitAsk},
		{[]string{"probe", "shell", "bare", "--config", file}, exitAsk},
		{[]string{"probe", "http://127.0.0.1:1", "--profile", "two-gates"}, exitAsk},
		{[]string{"probe", "http://127.0.0.1:1", "--profile", "protocol", "--mcp-url", "http://127.0.0.1:1/mcp"}, exitAsk},
		{[]string{"probe", "--mcp-config", filepath.Join(dir, "none.json")}, exitAsk},
		{[]string{"probe", "--mcp-config", file}, exitAsk},
		{[]string{"probe", "--mcp-config", good, "--call", "echo"}, exitAsk},
		{[]string{"probe", "--mcp-config", good, "shell"}, exitAsk},
		{[]string{"probe", "--expect", "not_empty", "--", server}, exitAsk},
		{[]string{"probe", "--call", "echo", "--arguments", "[]", "--", server}, exitAsk},
		{[]string{"probe", "--call", "echo", "--arguments", "{", "--", server}, exitAsk},
		{[]string{"probe", "--call", "echo", "--expect", "full", "--", server}, exitAsk},
	} {
		t.Run(strings.ReplaceAll(strings.Join(row.args, " "), dir, ""), func(t *testing.T) {
			t.Parallel()
			sh := newShell(t)
			sh.env["TOKEN"] = "open"
			code, out, err := sh.run(row.args...)
			if code != row.want {
				t.Errorf("exit %d, want %d\n%s%s", code, row.want, out, err)
			}
			if code == exitAsk && (out != "" || !strings.Contains(err, "E_")) {
				t.Errorf("got %q on standard output and %q on standard error, want a fault on the latter", out, err)
			}
		})
	}
}

func TestProbe_printsTheServersOfAClientsFileAsAnArray(t *testing.T) {
	t.Parallel()
	dir, _ := folder(t)
	_, out, _ := newShell(t).run("--json", "probe", "--mcp-config", filepath.Join(dir, "mcp.json"))
	var got []registry.ProbeResult
	if err := json.Unmarshal([]byte(out), &got); err != nil || strings.Count(out, "\n") != 1 {
		t.Fatalf("%v in %q, want one line with an array of probe results", err, out)
	}
	var seen []string
	for i := range got {
		seen = append(seen, fmt.Sprintf("%s %s %v %s", got[i].Target, got[i].Profile, got[i].ListTools.OK, got[i].Healthz.Cause))
	}
	want := []string{"shell protocol true ", "gone protocol false refused", "odd protocol false not_configured"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if strings.Contains(out, "s3cret") {
		t.Errorf("%s holds the key of an address", out)
	}
}
