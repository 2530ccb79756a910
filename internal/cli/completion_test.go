package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests share the environment of the process, which is where the library
// looks, and so do not run beside others.

func TestCompletion_offersCommandsFlagsAndNames(t *testing.T) {
	shell := newShell(t)
	shell.env["XDG_CONFIG_HOME"] = t.TempDir()
	file := filepath.Join(shell.env["XDG_CONFIG_HOME"], "countersign", "countersign.yaml")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	const registered = "components:\n  scanner: {kind: mcp_server, url: \"http://127.0.0.1:9\"}\n  scanner-eu: {kind: mcp_server, url: \"http://127.0.0.1:9\"}\n" +
		"slots:\n  scan: {primary: scanner}\nruns:\n  nightly: {slots: {scan: required}}\n"
	if err := os.WriteFile(file, []byte(registered), 0o600); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string][]string{
		"countersign comp":                                            {"completion", "component"},
		"countersign component ":                                      {"accept", "list", "show"},
		"countersign component list --sta":                            {"--status"},
		"countersign component list --status un":                      {"unavailable", "unknown"},
		"countersign task verify 0 --verdict v":                       {"verified"},
		"countersign component show sc":                               {"scanner", "scanner-eu"},
		"countersign probe --config " + file + " scanner-":            {"scanner-eu"},
		"countersign preflight --config " + file + " ":                {"nightly"},
		"countersign preflight --config " + file + ".missing ":        nil,
		"countersign demo-s":                                          nil, // hidden
		"countersign completion ":                                     {"bash", "fish", "zsh"},
		"countersign component list --status unavailable --kind know": {"knowledge_base"},
		"countersign serve --log-format ":                             {"auto", "json", "text"},
		"countersign task list --status rej":                          {"rejected"},
		"countersign component accept scanner-e":                      {"scanner-eu"},
	} {
		t.Setenv(completionLine, typed)
		shell.env[completionLine] = typed
		code, out, complaint := shell.run()
		got := strings.Fields(out)
		slices.Sort(got)
		if code != exitYes || complaint != "" || !slices.Equal(got, want) {
			t.Errorf("%q: exit %d, offers %q, want %q: %s", typed, code, got, want, complaint)
		}
	}
}

func TestCompletion_doesNotTakeOverACommandThatInheritsTheVariable(t *testing.T) {
	shell := newShell(t)
	t.Setenv(completionLine, "countersign comp")
	shell.env[completionLine] = "countersign comp"
	if code, out, complaint := shell.run("version"); code != exitYes || !strings.HasPrefix(out, "countersign ") || complaint != "" {
		t.Errorf("exit %d: %s%s", code, out, complaint)
	}
}

func TestCompletion_scriptIsOneThatBashTakes(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	code, script, complaint := shell.run("completion", "bash")
	if code != exitYes || complaint != "" {
		t.Fatalf("exit %d: %s", code, complaint)
	}
	told, err := exec.CommandContext(t.Context(), "bash", "-c", script+"complete -p countersign").Output()
	program, _ := os.Executable()
	if err != nil || !strings.Contains(string(told), program) || !strings.HasSuffix(strings.TrimSpace(string(told)), "countersign") {
		t.Errorf("bash has %q (%v), want the program %s", told, err, program)
	}
}
