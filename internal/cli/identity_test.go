package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

func processWith(env map[string]string) *process {
	return &process{Surroundings: Surroundings{Getenv: func(name string) string { return env[name] }}}
}

func TestCallerOf_locksByFlagOrVariable(t *testing.T) {
	for name, c := range map[string]struct {
		flag     *string
		variable string
		want     task.AgentID
		code     fault.Code
	}{
		"neither":              {nil, "", "", ""},
		"flag":                 {new(" Dev "), "", "dev", ""},
		"variable":             {nil, "DEV", "dev", ""},
		"both alike":           {new("dev"), "Dev", "dev", ""},
		"both different":       {new("dev"), "rev", "", fault.InvalidArgument},
		"empty flag":           {new(""), "", "", fault.InvalidAgentID},
		"empty flag, variable": {new(""), "dev", "", fault.InvalidAgentID},
		"bad flag":             {new("d v"), "", "", fault.InvalidAgentID},
		"bad variable":         {nil, "d v", "", fault.InvalidAgentID},
		"blank variable":       {nil, " ", "", fault.InvalidAgentID},
	} {
		got, err := callerOf(processWith(map[string]string{"VG_AGENT_ID": c.variable}), agentFlag{AgentID: c.flag})
		if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) || got.Lock != c.want {
			t.Errorf("%s: lock %q, %v", name, got.Lock, err)
		}
	}
}

func TestCallerOf_recordsTheSessionOrThisProcess(t *testing.T) {
	got, err := callerOf(processWith(map[string]string{"CLAUDE_CODE_SESSION_ID": "s-1"}), agentFlag{})
	if want := (task.Principal{Kind: "session", ID: "s-1"}); err != nil || got.Principal != want {
		t.Errorf("got %+v, %v, want %+v", got.Principal, err, want)
	}
	got, err = callerOf(processWith(nil), agentFlag{})
	id, parsed := uuid.Parse(got.Principal.ID)
	if err != nil || parsed != nil || got.Principal.Kind != "process" || id.Version() != 7 {
		t.Errorf("got %+v, %v", got.Principal, err)
	}
	for _, session := range []string{"\xff", strings.Repeat("s", maxSession+1)} {
		if _, err := callerOf(processWith(map[string]string{"CLAUDE_CODE_SESSION_ID": session}), agentFlag{}); !errors.Is(err, fault.InvalidArgument) {
			t.Errorf("session %.10q: %v", session, err)
		}
	}
}

func TestTask_refusesToStartWhenFlagAndVariableDisagree(t *testing.T) {
	s := newShell(t)
	s.env["VG_AGENT_ID"] = "rev"
	for _, args := range [][]string{
		{"create", "--title", "x", "--criterion", "y"},
		{"claim", "17", "--evidence", "e"},
		{"verify", "17", "--verdict", "verified"},
		{"show", "17"},
		{"list"},
	} {
		code, out, told := s.run(append([]string{"task", "--agent-id", "dev"}, args...)...)
		if code != exitAsk || out != "" || !strings.Contains(told, "--agent-id says dev and VG_AGENT_ID says rev") {
			t.Errorf("%v: exit %d, %s%s", args, code, out, told)
		}
	}
	if _, err := os.Stat(filepath.Join(s.env["XDG_DATA_HOME"], "countersign")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused start made the database: %v", err)
	}
	if code, _, told := s.run("task", "create", "--title", "x", "--criterion", "y"); code != exitYes {
		t.Errorf("the variable alone: exit %d, %s", code, told)
	}
}

func TestDefaultDatabase_isOneFileForAUser(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"XDG":          {map[string]string{"XDG_DATA_HOME": "/data", "HOME": "/home/a"}, "/data/countersign/countersign.db"},
		"home":         {map[string]string{"HOME": "/home/a"}, "/home/a/.local/share/countersign/countersign.db"},
		"relative XDG": {map[string]string{"XDG_DATA_HOME": "data", "HOME": "/home/a"}, "/home/a/.local/share/countersign/countersign.db"},
		"neither":      {nil, ""},
	} {
		got, err := defaultDatabase(processWith(c.env).Getenv)
		if got != c.want || (c.want == "") != errors.Is(err, fault.InvalidArgument) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestTask_makesTheDefaultDatabasePrivate(t *testing.T) {
	s := newShell(t)
	s.create(t, "dev", "--title", "x", "--criterion", "y")
	folder, err := os.Stat(filepath.Join(s.env["XDG_DATA_HOME"], "countersign"))
	if err != nil {
		t.Fatal(err)
	}
	if folder.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, want 0700", folder.Mode().Perm())
	}
}

func TestTask_neverPrintsThePasswordOfAURL(t *testing.T) {
	s := newShell(t)
	for _, location := range []string{
		"postgres://dev:hunter2@127.0.0.1:1/db?connect_timeout=1",
		"postgres://127.0.0.1:1/db?user=dev&password=hunter2&connect_timeout=1",
		"postgres://dev:hunter2@[::1/db",
		"postgres://dev:hunter2%zz@127.0.0.1:1/db",
		"postgres://dev:hunter2@127.0.0.1:1/db?sslmode=hunter2",
	} {
		for _, args := range [][]string{{"task", "list", "--db", location}, {"task", "list", "--json", "--db", location}} {
			code, out, told := s.run(args...)
			refused := strings.Contains(out+told, string(fault.Unavailable)) || strings.Contains(out+told, string(fault.InvalidArgument))
			if code != exitAsk || !refused || strings.Contains(out+told, "hunter2") {
				t.Errorf("%s: exit %d\n%s%s", location, code, out, told)
			}
		}
	}
}

func TestTask_usesTheDatabaseThatItIsGiven(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "tasks.db")
	id := s.create(t, "dev", "--title", "x", "--criterion", "y", "--db", file)
	_, out, _ := s.run("task", "list", "--json", "--db", file)
	var page task.Page
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Tasks) != 1 || string(page.Tasks[0].TaskID) != id {
		t.Errorf("%s lists %s (%v)", file, out, err)
	}
	if code, _, _ := s.run("task", "show", id); code != exitAsk {
		t.Errorf("the default database has the task of %s too", file)
	}
}
