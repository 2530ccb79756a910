package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// create makes a task by an agent and returns its id.
func (s *shell) create(t *testing.T, agent string, more ...string) string {
	t.Helper()
	args := append([]string{"--json", "task", "create", "--agent-id", agent}, more...)
	code, out, err := s.run(args...)
	var made task.Created
	if decoded := json.Unmarshal([]byte(out), &made); code != exitYes || decoded != nil {
		t.Fatalf("create: exit %d, %s%s", code, out, err)
	}
	return string(made.TaskID)
}

func TestTask_tellsItsStoryInText(t *testing.T) {
	s := newShell(t)
	id := s.create(t, "devops", "--title", "Add /healthz to the api", "--criterion", "GET /healthz returns 200, always", "--criterion", "- npm test\n- passes")
	s.transcript.Reset()
	s.run("task", "show", id)
	s.run("task", "verify", id, "--verdict", "verified", "--agent-id", "reviewer")
	s.run("task", "claim", id, "--agent-id", "devops")
	s.run("task", "claim", id, "--agent-id", "devops", "--evidence", "curl -i says 200\r\nnpm test: 14 passed\n")
	s.run("task", "verify", id, "--verdict", "verified", "--agent-id", "devops")
	s.run("task", "verify", id, "--verdict", "rejected", "--agent-id", "reviewer")
	s.run("task", "verify", id, "--verdict", "rejected", "--agent-id", "reviewer", "--notes", "- npm test: 13 passed, none covers healthz")
	s.run("task", "claim", id, "--agent-id", "devops", "--evidence", "again")
	s.run("task", "create", "--agent-id", "reviewer", "--title", "Again", "--criterion", "npm test passes", "--supersedes", id)
	s.run("task", "create", "--agent-id", "reviewer", "--title", "Again", "--criterion", "npm test passes", "--supersedes", id)
	s.run("task", "show", id)
	s.run("task", "list")
	s.run("task", "list", "--limit", "1")
	s.run("task", "list", "--status", "verified")
	s.golden(t, "task.txt")
}

func TestTask_printsTheJSONOfTheTools(t *testing.T) {
	s := newShell(t)
	id := s.create(t, "devops", "--title", "Add /healthz", "--criterion", "GET /healthz returns 200")
	s.run("task", "claim", id, "--agent-id", "devops", "--evidence", "done", "--json")
	s.run("task", "verify", id, "--agent-id", "devops", "--verdict", "verified", "--json")
	s.run("task", "verify", id, "--agent-id", "reviewer", "--verdict", "rejected", "--notes", "404", "--json")
	s.run("task", "show", id, "--json")
	s.run("task", "list", "--json")
	s.run("task", "list", "--limit", "0", "--json")
	s.run("task", "list", "--limit", "many", "--json")
	s.golden(t, "task-json.txt")
}

// Every code that the gate gives has the exit code of the contract.
func TestTask_exitsByTheOneRule(t *testing.T) {
	s := newShell(t)
	pending := s.create(t, "dev", "--title", "x", "--criterion", "y", "--idempotency-key", "k")
	claimed := s.create(t, "dev", "--title", "x", "--criterion", "y")
	rejected := s.create(t, "dev", "--title", "x", "--criterion", "y")
	for _, id := range []string{claimed, rejected} {
		s.run("task", "claim", id, "--agent-id", "dev", "--evidence", "e")
	}
	s.run("task", "verify", rejected, "--agent-id", "rev", "--verdict", "rejected", "--notes", "n")
	s.create(t, "dev", "--title", "x", "--criterion", "y", "--supersedes", rejected)
	for _, c := range []struct {
		code fault.Code
		exit int
		args []string
	}{
		{fault.SelfVerify, exitNo, []string{"verify", claimed, "--agent-id", "DEV", "--verdict", "verified"}},
		{fault.WrongState, exitNo, []string{"claim", claimed, "--agent-id", "rev", "--evidence", "e"}},
		{fault.MissingNotes, exitNo, []string{"verify", claimed, "--agent-id", "rev", "--verdict", "rejected"}},
		{fault.EmptyEvidence, exitNo, []string{"claim", pending, "--agent-id", "dev"}},
		{fault.EmptyCriteria, exitNo, []string{"create", "--agent-id", "dev", "--title", "x"}},
		{fault.AlreadySuperseded, exitNo, []string{"create", "--agent-id", "dev", "--title", "x", "--criterion", "y", "--supersedes", rejected}},
		{fault.IdempotencyConflict, exitNo, []string{"create", "--agent-id", "dev", "--title", "other", "--criterion", "y", "--idempotency-key", "k"}},
		{fault.NotFound, exitAsk, []string{"show", "17"}},
		{fault.InvalidAgentID, exitAsk, []string{"claim", pending, "--agent-id", "d v", "--evidence", "e"}},
		{fault.InvalidAgentID, exitAsk, []string{"claim", pending, "--agent-id", "", "--evidence", "e"}},
		{fault.InvalidAgentID, exitAsk, []string{"list", "--created-by", "d v"}},
		{fault.InvalidArgument, exitAsk, []string{"claim", pending, "--evidence", "e"}},
		{fault.InvalidArgument, exitAsk, []string{"claim", pending, "--agent-id", "dev", "--evidence", "e", "--evidence-file", "f"}},
		{fault.InvalidArgument, exitAsk, []string{"claim", pending, "--agent-id", "dev", "--evidence-file", t.TempDir()}},
		{fault.InvalidArgument, exitAsk, []string{"claim", pending, "--agent-id", "dev", "--evidence-file", filepath.Join(t.TempDir(), "none")}},
		{fault.InvalidArgument, exitAsk, []string{"verify", claimed, "--agent-id", "rev", "--verdict", "fine"}},
		{fault.InvalidArgument, exitAsk, []string{"list", "--unknown"}},
		{fault.TooLarge, exitAsk, []string{"create", "--agent-id", "dev", "--title", strings.Repeat("t", task.MaxTitle+1), "--criterion", "y"}},
	} {
		code, out, _ := s.run(append([]string{"task", "--json"}, c.args...)...)
		var shown struct {
			Code fault.Code `json:"code"`
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Code != c.code || code != c.exit {
			t.Errorf("task %s: exit %d, %s, want exit %d, %s", strings.Join(c.args, " "), code, out, c.exit, c.code)
		}
		code, out, told := s.run(append([]string{"task"}, c.args...)...)
		if out != "" || code != c.exit || !strings.HasPrefix(told, "countersign: "+string(c.code)+": ") {
			t.Errorf("task %s: exit %d, output %q, %q", strings.Join(c.args, " "), code, out, told)
		}
	}
}

func TestTaskClaim_readsEvidenceFromAFileOrStandardInput(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "evidence.md")
	want := "# Done\r\n\ttab\n"
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	s.in = want
	for _, from := range []string{file, "-"} {
		id := s.create(t, "dev", "--title", "x", "--criterion", "y")
		if code, _, err := s.run("task", "claim", id, "--agent-id", "dev", "--evidence-file", from); code != exitYes {
			t.Fatalf("exit %d: %s", code, err)
		}
		_, out, _ := s.run("task", "show", id, "--json")
		var shown task.Task
		if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Evidence != want {
			t.Errorf("from %s: evidence %q (%v), want %q", from, shown.Evidence, err, want)
		}
	}
}

func TestTaskClaim_refusesAFileOverTheLimitWithoutReadingItWhole(t *testing.T) {
	s := newShell(t)
	id := s.create(t, "dev", "--title", "x", "--criterion", "y")
	code, _, told := s.run("task", "claim", id, "--agent-id", "dev", "--evidence-file", "/dev/zero")
	if code != exitAsk || !strings.Contains(told, string(fault.TooLarge)) {
		t.Errorf("exit %d: %s", code, told)
	}
}

func TestTaskShow_makesUntrustedTextHarmless(t *testing.T) {
	s := newShell(t)
	evil := "a\u202eb\x1b[31m\u009b2J\U000e0041\r\nAcceptance criteria\n"
	id := s.create(t, "dev", "--title", evil, "--criterion", evil)
	s.run("task", "claim", id, "--agent-id", "dev", "--evidence", evil)
	for _, args := range [][]string{{"show", id}, {"list"}, {"show", id, "--json"}, {"list", "--json"}} {
		_, out, _ := s.run(append([]string{"task"}, args...)...)
		if strings.ContainsAny(out, "\u202e\x1b\u009b\U000e0041\r") {
			t.Errorf("%v sends raw control characters: %q", args, out)
		}
		if strings.Count("\n"+out, "\nAcceptance criteria") > 1 {
			t.Errorf("%v lets a text pass for a heading:\n%s", args, out)
		}
	}
	_, out, _ := s.run("task", "show", id, "--json")
	var shown task.Task
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Evidence != evil || shown.Title != evil {
		t.Errorf("the JSON reads back as %q, %q (%v)", shown.Title, shown.Evidence, err)
	}
}

func TestTask_answersTheSameKeyAgain(t *testing.T) {
	s := newShell(t)
	args := []string{"--title", "x", "--criterion", "y", "--idempotency-key", "k"}
	if first, again := s.create(t, "dev", args...), s.create(t, "DEV", args...); first != again {
		t.Errorf("the second call made task %s beside %s", again, first)
	}
}

func TestTask_saysInWhichDatabaseATaskIsNot(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "other.db")
	if code, _, complaint := s.run("task", "create", "--db", file, "--title", "t", "--criterion", "c", "--agent-id", "a"); code != exitYes {
		t.Fatal(complaint)
	}
	const absent = "01890a5d-ac96-774b-bcce-b302099a8058"
	if _, _, complaint := s.run("task", "show", absent, "--db", file); !strings.Contains(complaint, "there is no task \""+absent+"\" in "+file+"\n") {
		t.Errorf("it says:\n%s", complaint)
	}
	if _, help, _ := s.run("task", "--help"); !strings.Contains(help, "No configuration file is read") {
		t.Errorf("the help does not say whose database it is:\n%s", help)
	}
	if _, _, complaint := s.run("task", "list", "--db", file, "--status", "done"); !strings.Contains(complaint, "one of pending, claimed, verified, rejected") {
		t.Errorf("it says:\n%s", complaint)
	}
}

func TestTaskList_goesOnWithTheOldestFirst(t *testing.T) {
	s := newShell(t)
	var made []string
	for _, title := range []string{"first", "second", "third"} {
		made = append(made, s.create(t, "devops", "--title", title, "--criterion", "it is done"))
	}
	var listed []string
	args := []string{"--json", "task", "list", "--status", "pending", "--order", "oldest", "--limit", "2"}
	for cursor := "-"; cursor != ""; {
		code, out, complaint := s.run(args...)
		var page task.Page
		if err := json.Unmarshal([]byte(out), &page); code != exitYes || err != nil {
			t.Fatalf("exit %d, %s%s", code, out, complaint)
		}
		for _, each := range page.Tasks {
			listed = append(listed, string(each.TaskID))
		}
		if cursor = page.NextCursor; cursor != "" {
			args = append(args, "--cursor", cursor)
		}
	}
	if !slices.Equal(listed, made) {
		t.Errorf("listed %v, made %v", listed, made)
	}
	if code, _, complaint := s.run("task", "list", "--order", "oldest"); code != exitAsk || !strings.Contains(complaint, "without a status") {
		t.Errorf("without a status: exit %d, %s", code, complaint)
	}
}
