package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProbe_showsNoSecretOfAClientsFile starts a process that is given a secret
// and tells it wherever it can; it also looks at what others can see of it.
func TestProbe_showsNoSecretOfAClientsFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	script := filepath.Join(folder, "server.sh")
	visibleToAll := filepath.Join(folder, "arguments")
	if err := os.WriteFile(script, []byte(`
tr '\0' ' ' < /proc/$$/cmdline > `+visibleToAll+`
echo "starting with $CHILD_SECRET" >&2
echo "junk: $CHILD_SECRET"
read -r line
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"'"$CHILD_SECRET"'"}}'
echo "leaving with $CHILD_SECRET" >&2
exit 3
`), 0o600); err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"child":  map[string]any{"command": "sh", "args": []string{script}, "env": map[string]string{"CHILD_SECRET": childSecret}},
		"remote": map[string]any{"url": listening(t, echoing(func(sent string) string { return sent })) + "/mcp?key=" + clientSecret, "headers": map[string]string{"Authorization": "Bearer " + bearerSecret}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "mcp.json")
	if err := os.WriteFile(file, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	said := everyOutput(newShell(t), "--mcp-config", file, "--timeout", "20s")
	if found := leaks(said); len(found) > 0 {
		t.Errorf("%q leaks in\n%s", found, said)
	}
	if !strings.Contains(said, "[secret]") {
		t.Errorf("the servers' answers are not shown:\n%s", said)
	}
	seen, err := os.ReadFile(visibleToAll)
	if err != nil || !strings.Contains(string(seen), script) || len(leaks(string(seen))) > 0 {
		t.Errorf("the arguments of the process are %q, %v", seen, err)
	}
}
