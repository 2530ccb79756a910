package cli

import (
	"strings"
	"testing"
)

func TestUsage_transcript(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	shell.run("help", "config", "check")
	shell.run("help", "frobnicate")
	shell.run("config")
	shell.run("--json", "config")
	shell.run("frobnicate")
	shell.run("task", "claim", "--frobnicate")
	shell.run("task", "frobnicate")
	for _, given := range []string{"2", "never", "-"} {
		shell.run("healthcheck", "--timeout", given)
		shell.run("probe", "http://127.0.0.1:9", "--timeout", given)
	}
	shell.golden(t, "usage.txt")
}

func TestUsage_isShownToWhoNamesNoCommand(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	code, usage, complaint := shell.run("--help")
	if code != exitYes || complaint != "" || !strings.Contains(usage, "task claim") {
		t.Fatalf("--help: exit %d: %s%s", code, usage, complaint)
	}
	if code, out, complaint := shell.run("help"); code != exitYes || out != usage || complaint != "" {
		t.Errorf("help: exit %d: %s%s", code, out, complaint)
	}
	if code, out, complaint := shell.run(); code != exitAsk || out != "" || complaint != usage {
		t.Errorf("nothing: exit %d: %s%s", code, out, complaint)
	}
}

func TestVersion_isAFlagToo(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	for _, more := range [][]string{nil, {"--json"}} {
		_, want, _ := shell.run(append([]string{"version"}, more...)...)
		code, got, complaint := shell.run(append([]string{"--version"}, more...)...)
		if code != exitYes || got != want || complaint != "" {
			t.Errorf("exit %d, %q; want %q: %s", code, got, want, complaint)
		}
	}
}
