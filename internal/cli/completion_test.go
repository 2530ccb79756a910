package cli

import (
	"context"
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
		"countersign comp":                                             {"completion", "component"},
		"countersign component ":                                       {"accept", "list", "show"},
		"countersign component list --sta":                             {"--status"},
		"countersign component list --status un":                       {"unavailable", "unknown"},
		"countersign task verify 0 --verdict v":                        {"verified"},
		"countersign component show sc":                                {"scanner", "scanner-eu"},
		"countersign probe --config " + file + " scanner-":             {"scanner-eu"},
		"countersign preflight --config " + file + " ":                 {"nightly"},
		"countersign preflight --config " + file + ".missing ":         nil,
		"countersign component show --config " + file + " sc":          {"scanner", "scanner-eu"},
		"countersign component --config=" + file + " show scanner-":    {"scanner-eu"},
		"countersign component list --config " + file + " --status un": {"unavailable", "unknown"},
		"countersign probe --only ":                                    {"healthz", "listTools", "test"},
		"countersign serve --log-level ":                               {"debug", "error", "info", "warn"},
		"countersign demo-s":                                           nil, // hidden
		"countersign completion ":                                      {"bash", "fish", "zsh"},
		"countersign component list --status unavailable --kind know":  {"knowledge_base"},
		"countersign serve --log-format ":                              {"auto", "json", "text"},
		"countersign task list --status rej":                           {"rejected"},
		"countersign task list --order ":                               {"newest", "oldest"},
		"countersign component accept scanner-e":                       {"scanner-eu"},
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

// pressTab has a shell on a terminal of its own take the script, then type LINE, the
// tabulator and END, and prints the words of the line that this came to behind the first.
const pressTab = `zmodload zsh/zpty
zpty terminal "$@"
zpty -w terminal "source ${(qq)SCRIPT}; echo RE''ADY"
zpty -r terminal seen "*READY*"
zpty -n -w terminal "$LINE"$'\t'"END"$'\001'"printf '<%s>' "$'\n'
zpty -r terminal seen "*END>*"
print -r -- "${${seen##*<countersign>}%END>*}END>"`

func TestCompletion_worksInTheShellsThemselves(t *testing.T) {
	folder := t.TempDir()
	// A shell reads the path of the program more than once.
	program := filepath.Join(folder, `it's a \ $HOME`, "countersign")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/countersign").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	environment := append(os.Environ(), "HOME="+folder, "ZDOTDIR="+folder, "XDG_CONFIG_HOME="+folder, "TERM=xterm", "PS1=> ", "EDITOR=", "VISUAL=", "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	for name, shell := range map[string][]string{"bash": {"bash", "--norc", "-i"}, "zsh": {"zsh", "-f", "-i"}, "fish": {"fish", "--no-config", "-i"}} {
		t.Run(name, func(t *testing.T) {
			written, err := exec.CommandContext(t.Context(), program, "completion", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, written, 0o600); err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string]string{
				"countersign comple":                      "<completion><END>",
				"countersign component list --status una": "<component><list><--status><unavailable><END>",
				"countersign component list --status un":  "<component><list><--status><unEND>", // There are two.
				"countersign component list --k":          "<component><list><--kind><END>",
			} {
				ctx, stop := context.WithTimeout(t.Context(), servePatience)
				asked := exec.CommandContext(ctx, "zsh", append([]string{"-f", "-c", pressTab, "zsh"}, shell...)...)
				asked.Env = append(environment, "SCRIPT="+script, "LINE="+line)
				out, err := asked.CombinedOutput()
				stop()
				if got := strings.TrimSpace(string(out)); err != nil || got != want {
					t.Errorf("%q: %v, becomes %q, want %q", line, err, got, want)
				}
			}
		})
	}
}
