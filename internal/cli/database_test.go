package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTask_makesNothingOfAMistypedDatabase holds that only what is meant is made.
func TestTask_makesNothingOfAMistypedDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, args := range map[string][]string{
		"list":             {"task", "list", "--db", filepath.Join(folder, "nothing.db")},
		"show":             {"task", "show", "x", "--db", filepath.Join(folder, "nothing.db")},
		"create elsewhere": {"task", "create", "--title", "t", "--criterion", "c", "--agent-id", "a", "--db", filepath.Join(folder, "no", "such", "x.db")},
		"serve elsewhere":  {"serve", "--listen", "127.0.0.1:0", "--db", filepath.Join(folder, "no", "x.db")},
		"mcp elsewhere":    {"mcp", "--db", filepath.Join(folder, "no", "x.db")},
	} {
		code, _, complaint := newShell(t).run(args...)
		if code != exitAsk || !strings.Contains(complaint, "E_NOT_FOUND: there is no ") {
			t.Errorf("%s ended with %d: %s", name, code, complaint)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("%d files were made (%v)", len(left), err)
	}
}

func TestTask_showsPrincipalsAndWarnsOfOneBehindTwoNames(t *testing.T) {
	t.Parallel()
	for session, warned := range map[string]bool{"": false, "one-session": true} {
		s := newShell(t)
		s.env["CLAUDE_CODE_SESSION_ID"] = session
		_, out, _ := s.run("task", "create", "--title", "t", "--criterion", "c", "--agent-id", "a")
		id := strings.Fields(out)[1]
		s.run("task", "claim", id, "--evidence", "e", "--agent-id", "a")
		s.run("task", "verify", id, "--verdict", "verified", "--agent-id", "b")
		code, out, _ := s.run("task", "show", id)
		if strings.Contains(out, "the same principal") != warned || code != exitYes {
			t.Errorf("in session %q show ends with %d:\n%s", session, code, out)
		}
		if warned && strings.Count(out, "session one-session") != 3 {
			t.Errorf("the principals are not all shown:\n%s", out)
		}
	}
}
