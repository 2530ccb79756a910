package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestProbe_isUndecidedWhereItCouldNotAsk has an address that may not be dialled.
func TestProbe_isUndecidedWhereItCouldNotAsk(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	denied := threeGates(t, 200, `{"ok":true}`)
	folder := t.TempDir()
	file, client, both := filepath.Join(folder, "countersign.yaml"), filepath.Join(folder, "one.json"), filepath.Join(folder, "two.json")
	for name, content := range map[string]string{
		file: fmt.Sprintf("network: {deny: [%q]}\ncomponents:\n  shut: {kind: mcp_server, url: %q, timeout: 5s}\n",
			strings.TrimPrefix(denied, "http://"), denied),
		client: fmt.Sprintf(`{"mcpServers": {"shut": {"url": %q}}}`, denied+"/mcp"),
		both:   fmt.Sprintf(`{"mcpServers": {"shut": {"url": %q}, "gone": {"url": %q}}}`, denied+"/mcp", gone.URL+"/mcp"),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"probe", denied, "--config", file}, exitAsk, "  undecided at healthz, test, listTools\n"},
		{[]string{"probe", denied, "--config", file, "--only", "test"}, exitAsk, "asked for test: undecided\n"},
		{[]string{"probe", "shut", "--config", file}, exitAsk, "shut  undecided at healthz, test, listTools\n"},
		{[]string{"probe", "shut", "--config", file, "--timeout", "4s"}, exitAsk, "shut  undecided at healthz, test, listTools\n"},
		{[]string{"--json", "probe", "shut", "--config", file}, exitAsk, `"cause":"denied"`},
		{[]string{"probe", "--mcp-config", client, "--config", file, "--only", "listTools"}, exitAsk, "  0 of 1 servers pass at listTools: undecided\n"},
		{[]string{"probe", "--mcp-config", both, "--config", file, "--only", "listTools"}, exitNo, "  0 of 2 servers pass at listTools: FAILED\n"},
	} {
		code, out, err := newShell(t).run(row.args...)
		if code != row.want || !strings.Contains(out, row.says) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", row.args, code, row.want, row.says, out, err)
		}
		if strings.Contains(out, "FAIL") && row.want == exitAsk {
			t.Errorf("%v calls it failed\n%s", row.args, out)
		}
	}
}

// TestOutcomeAt_isFailedWhereTheServerFailed mixes gates that failed for the server with
// gates of which nothing is known.
func TestOutcomeAt_isFailedWhereTheServerFailed(t *testing.T) {
	t.Parallel()
	all := registry.Gates()
	for name, row := range map[string]struct {
		healthz, test registry.Cause // none for a gate that holds
		only          []registry.Gate
		want          registry.Outcome
	}{
		"all hold":                          {"", "", nil, registry.OutcomePassed},
		"named, all hold":                   {"", "", all, registry.OutcomePassed},
		"one unknown":                       {"", registry.Overloaded, nil, registry.OutcomeUndecided},
		"one unknown, and named":            {"", registry.Overloaded, all, registry.OutcomeUndecided},
		"one unknown, and another named":    {"", registry.Overloaded, all[:1], registry.OutcomePassed},
		"one failed, one unknown":           {registry.Timeout, registry.Denied, nil, registry.OutcomeFailed},
		"one unknown, one failed, named":    {registry.Denied, registry.Timeout, all, registry.OutcomeFailed},
		"one failed, and the unknown named": {registry.Timeout, registry.Denied, all[1:], registry.OutcomeUndecided},
	} {
		result := sound()
		for gate, cause := range map[*registry.GateResult]registry.Cause{&result.Healthz: row.healthz, &result.Test: row.test} {
			if cause != "" {
				*gate = registry.Fail(0, cause, "")
			}
		}
		if got := outcomeAt(&result, row.only); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
		document, err := json.Marshal(result)
		if err != nil || strings.Contains(string(document), `"passed":true`) != (row.healthz == "" && row.test == "") {
			t.Errorf("%s: %s, %v", name, document, err)
		}
	}
}
