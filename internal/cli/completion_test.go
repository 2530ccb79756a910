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

// shellsThatAsk are what a shell is told, so that it completes LINE by the script as
// it does when a person presses the tabulator.
func shellsThatAsk() map[string][]string {
	return map[string][]string{
		"bash": {"bash", "--norc", "-c", `eval "$SCRIPT"
			command=$(complete -p countersign); command=${command#*-C }; command=${command% countersign}
			eval "COMP_LINE=\$LINE COMP_POINT=${#LINE} COMP_TYPE=9 $command countersign \"${LINE##* }\" x"`},
		"zsh": {"zsh", "-f", "-c", `eval "$SCRIPT"
			[[ ${_comps[countersign]} == *_bash_complete*' -C '* ]] || { echo "zsh has nothing for it: ${_comps[countersign]}"; exit 1 }
			command=${_comps[countersign]#* -C }
			eval "COMP_LINE=\$LINE COMP_POINT=${#LINE} $command countersign \"${LINE##* }\" x"`},
		"fish": {"fish", "--no-config", "-c", `eval "$SCRIPT"; complete -C "$LINE"`},
	}
}

func TestCompletion_worksInTheShellsThemselves(t *testing.T) {
	program := filepath.Join(t.TempDir(), "countersign")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/countersign").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	home := t.TempDir()
	for shell, command := range shellsThatAsk() {
		t.Run(shell, func(t *testing.T) {
			environment := append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
			script, err := exec.CommandContext(t.Context(), program, "completion", shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string][]string{
				"countersign comp":                        {"completion", "component"},
				"countersign component list --status un":  {"unavailable", "unknown"},
				"countersign component list --status una": {"unavailable"},
			} {
				asked := exec.CommandContext(t.Context(), command[0], command[1:]...)
				asked.Env = append(environment, "SCRIPT="+string(script), "LINE="+line)
				out, err := asked.CombinedOutput()
				got := strings.Fields(string(out))
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%q: %v, offers %q, want %q", line, err, got, want)
				}
			}
		})
	}
}
