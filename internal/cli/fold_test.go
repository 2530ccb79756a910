package cli

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/task"
)

func TestFold_breaksAtWordsWithAHangingIndent(t *testing.T) {
	t.Parallel()
	narrow := painter{width: 40}
	for _, each := range []struct{ text, want string }{
		{"short\n", "short\n"},
		{"", ""},
		{"\n", "\n"},
		{
			"countersign: E_NOT_FOUND: there is no file absent.yaml\n  Check the path, or name another file with --config.\n",
			"countersign: E_NOT_FOUND: there is no\n    file absent.yaml\n  Check the path, or name another file\n  with --config.\n",
		},
		{"x " + strings.Repeat("y", 80), "x\n    " + strings.Repeat("y", 36) + "\n    " + strings.Repeat("y", 36) + "\n    " + strings.Repeat("y", 8)},
		{"  " + strings.Repeat("字", 20), "  " + strings.Repeat("字", 19) + "\n  字"},
		{strings.Repeat(" ", 38) + "a b c", strings.Repeat(" ", 38) + "a\n" + strings.Repeat(" ", 20) + "b c"},
	} {
		if diff := cmp.Diff(each.want, narrow.fold(each.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", each.text, diff)
		}
		if got := (painter{}).fold(each.text); got != each.text {
			t.Errorf("off a terminal %q becomes %q", each.text, got)
		}
	}
}

func TestFold_keepsToAColumn(t *testing.T) {
	t.Parallel()
	got := strings.Repeat(".", 20) + painter{width: 40}.foldFrom("does it work? writes to the database and reads it back", 20, 20)
	want := "....................does it work? writes\n                    to the database and\n                    reads it back"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fits reports every line that a terminal of 80 columns would break itself.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if wide := columns(strings.TrimSuffix(line, "\n")); wide > 80 {
			t.Errorf("%d columns: %s", wide, line)
		}
	}
}

// TestTaskList_goesOnAfterAnEmptyPage has a page that found nothing among the tasks
// that it looked at, and is not the last.
func TestTaskList_goesOnAfterAnEmptyPage(t *testing.T) {
	t.Parallel()
	want := `No task to list among those that were looked at.
For the next page give --cursor AQ_cursor
All tasks: 0 pending, 1000 or more claimed, 0 verified, 0 rejected
`
	got := pageOfTasks(painter{width: 80}, task.Page{CountsCappedAt: 1000, NextCursor: "AQ_cursor", Counts: task.Counts{Claimed: 1000}}, 20)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTaskList_saysThatAPageWasCutShort has pages that are not the last.
func TestTaskList_saysThatAPageWasCutShort(t *testing.T) {
	t.Parallel()
	const said = "No more to list among those that were looked at; the next page looks further.\n" +
		"For the next page give --cursor AQ_cursor\nAll tasks: "
	page := task.Page{CountsCappedAt: 1000, NextCursor: "AQ_cursor", Tasks: []task.Summary{{Title: "Add /healthz", Status: task.Claimed}}}
	if got := pageOfTasks(painter{width: 80}, page, 2); !strings.Contains(got, said) {
		t.Errorf("one task of two, and it says\n%s", got)
	}
	if got := pageOfTasks(painter{width: 80}, page, 1); strings.Contains(got, "looked at") {
		t.Errorf("one task of one, and it says\n%s", got)
	}
	page.NextCursor = ""
	if got := pageOfTasks(painter{width: 80}, page, 2); strings.Contains(got, "looked at") {
		t.Errorf("the last page says\n%s", got)
	}
}

func TestTaskList_fitsTheTerminal(t *testing.T) {
	t.Parallel()
	page := task.Page{CountsCappedAt: 1000, NextCursor: "AQ_cursor_of_this_list_", Tasks: []task.Summary{
		{TaskID: "00000000-0000-7000-8000-000000000002", Title: "All tasks: 0 pending " + strings.Repeat("字 ", 60), Status: task.Claimed, CreatedBy: "reviewer", ClaimedBy: "devops"},
		{TaskID: "00000000-0000-7000-8000-000000000001", Title: "Add /healthz", Status: task.Pending, CreatedBy: task.AgentID(strings.Repeat("a", 64))},
	}}
	got := pageOfTasks(painter{width: 80}, page, len(page.Tasks))
	fits(t, got)
	want := `STATUS    TASK                                  UPDATED
claimed   00000000-0000-7000-8000-000000000002  1970-01-01 00:00:00 UTC
          created by reviewer, claimed by devops
            All tasks: 0 pending 字 字 字 字 字 字 字 字 字 字 字 字 字 字 字 字
            字 字 字 字 字 字 字 字 字 字 字 字 字 …
pending   00000000-0000-7000-8000-000000000001  1970-01-01 00:00:00 UTC
          created by
          aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            Add /healthz
For the next page give --cursor AQ_cursor_of_this_list_
All tasks: 0 pending, 0 claimed, 0 verified, 0 rejected
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page.Tasks = page.Tasks[:1]
	for line := range strings.Lines(pageOfTasks(painter{width: 130}, page, len(page.Tasks))) {
		if columns(line) > 131 || strings.HasPrefix(line, "claimed") && !strings.HasSuffix(line, "字…\n") {
			t.Errorf("%d columns: %s", columns(line), line)
		}
	}
}

func TestTaskShow_keepsFoldedTextBelowItsHeading(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 15) + "All tasks: 0 pending"
	got := wholeTask(painter{width: 80}, task.Task{Title: long, Evidence: long, Notes: long, AcceptanceCriteria: []string{long}}, nil)
	fits(t, got)
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "tasks") || strings.HasPrefix(line, "All") {
			t.Errorf("text of an agent at the margin:\n%s", got)
		}
	}
	if len(strings.Fields(got)) < 4*len(strings.Fields(long)) {
		t.Errorf("something is cut:\n%s", got)
	}
}

func TestDemo_fitsTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	story := &demoStory{out: &out, paint: painter{width: 80}}
	story.heading("2. Do the tools really work?", "Two MCP servers with the same code; one was built around a truncated download.")
	story.scene("devops", "claim_done", "claimed", true)
	story.aside("evidence: %s", demoEvidence)
	fits(t, out.String())
	if !strings.Contains(out.String(), "\n"+strings.Repeat(" ", 27)+"localhost") {
		t.Errorf("told as\n%s", out.String())
	}
}

func TestServing_fitsTheTerminal(t *testing.T) {
	t.Parallel()
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484}
	fits(t, newServing(address, "postgres://db.internal/"+strings.Repeat("long/", 20), false).text(painter{width: 80}))
}
