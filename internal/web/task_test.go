package web_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// wholeTask is a task that has come to a status, with its transitions.
func wholeTask(status task.Status) *gateDouble {
	whole := task.Task{
		TaskID: taskOf(1), Title: "Move the queue into the kernel", CreatedBy: "planner", CreatedAt: before(5 * time.Hour),
		AcceptanceCriteria: []string{"kill -9 frees the place", "the docs name both locks:\n\t- the queue\n\t- the turn"}, Status: status,
	}
	gate := &gateDouble{}
	step := func(kind task.Kind, from, to task.Status, agent task.AgentID, ago time.Duration, principal task.Principal) {
		transition := task.Transition{
			TaskID: whole.TaskID, Number: len(whole.History) + 1, Kind: kind, From: from, To: to, Agent: agent, Principal: principal,
			At: before(ago), Digest: strings.Repeat(string(kind[0])+"0a1b2c3", 8),
		}
		gate.transitions = append(gate.transitions, transition)
		whole.History = append(whole.History, transition.Change())
	}
	step(task.KindCreated, "", task.Pending, "planner", 5*time.Hour, task.Principal{Kind: "process", ID: "p-1"})
	if status != task.Pending {
		whole.ClaimedBy, whole.ClaimedAt, whole.Evidence = "codex-1", new(before(2*time.Hour)), "Both hold.\n\n$ go test ./...\nok"
		step(task.KindClaimed, task.Pending, task.Claimed, "codex-1", 2*time.Hour, task.Principal{Kind: "session", ID: "s-1"})
	}
	if status == task.Verified || status == task.Rejected {
		whole.VerifiedBy, whole.DecidedAt, whole.Verdict, whole.Notes = "claude-2", new(before(time.Minute)), status, "Looked at both."
		step(task.Kind(status), task.Claimed, status, "claude-2", time.Minute, task.Principal{Kind: "session", ID: "s-2"})
	}
	gate.whole = whole
	return gate
}

// someLineage is a lineage with the task of wholeTask in its middle.
func someLineage() []task.Summary {
	return []task.Summary{
		{TaskID: taskOf(2), Title: "Once more", Status: task.Pending, UpdatedAt: before(30 * time.Second)},
		{TaskID: taskOf(1), Title: "Move the queue into the kernel", Status: task.Rejected, UpdatedAt: before(time.Minute)},
		{TaskID: taskOf(0), Title: "Queue in Go", Status: task.Rejected, UpdatedAt: before(80 * time.Hour)},
	}
}

func TestTask_isTheGoldenPage(t *testing.T) {
	superseded := wholeTask(task.Rejected)
	superseded.whole.SupersededBy, superseded.whole.Supersedes = taskOf(2), taskOf(0)
	altered := wholeTask(task.Verified)
	altered.onRecord = task.Altered(taskOf(1), errors.New("the evidence is not the recorded one"))
	for name, gate := range map[string]*gateDouble{
		"task_pending.html":    wholeTask(task.Pending),
		"task_claimed.html":    wholeTask(task.Claimed),
		"task_verified.html":   wholeTask(task.Verified),
		"task_rejected.html":   wholeTask(task.Rejected),
		"task_superseded.html": superseded,
		"task_altered.html":    altered,
	} {
		t.Run(name, func(t *testing.T) {
			answer := visit(t, web.Options{Tasks: gate, Agents: &countDouble{lineage: someLineage()}}, "/tasks/"+string(taskOf(1)))
			if answer.Code != http.StatusOK {
				t.Errorf("GET = %d", answer.Code)
			}
			golden(t, name, mainOf(t, answer.Body.String()))
		})
	}
}

func TestTask_isAboutTheEventsOfItsLineage(t *testing.T) {
	alone := visit(t, web.Options{Tasks: wholeTask(task.Rejected), Agents: &countDouble{err: errors.New("nobody is to ask")}}, "/tasks/x")
	if want := `data-topics="task:` + string(taskOf(1)) + `"`; !strings.Contains(alone.Body.String(), want) {
		t.Errorf("the page of a task alone has no %s", want)
	}
	gate := wholeTask(task.Rejected)
	gate.whole.SupersededBy = taskOf(2)
	related := visit(t, web.Options{Tasks: gate, Agents: &countDouble{lineage: someLineage()}}, "/tasks/x").Body.String()
	if want := "task:" + string(taskOf(1)) + " task:" + string(taskOf(2)) + " task:" + string(taskOf(0)); !strings.Contains(related, want) {
		t.Errorf("the page of a task with a lineage has no %s", want)
	}
}

func TestTask_saysThatMoreOfALineageMayBeThere(t *testing.T) {
	gate := wholeTask(task.Rejected)
	gate.whole.Supersedes = taskOf(0)
	for length, want := range map[int]bool{task.MaxLineage - 1: false, task.MaxLineage: true} {
		counts := &countDouble{lineage: make([]task.Summary, length)}
		body := visit(t, web.Options{Tasks: gate, Agents: counts}, "/tasks/x").Body.String()
		if got := strings.Contains(body, "At most 20 are shown."); got != want {
			t.Errorf("of %d tasks it says that more may be there: %v", length, got)
		}
	}
}

func TestTask_warnsOfOnePrincipalBehindTwoNames(t *testing.T) {
	const warning = "different names and the same principal"
	gate := wholeTask(task.Verified)
	if strings.Contains(visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String(), warning) {
		t.Error("two principals are warned of")
	}
	gate.transitions[2].Principal = gate.transitions[1].Principal
	if !strings.Contains(visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String(), warning) {
		t.Error("one principal behind two names is not warned of")
	}
	gate.transitions[1].Principal = task.Anonymous().Principal
	gate.transitions[2].Principal = task.Anonymous().Principal
	page := visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String()
	if strings.Contains(page, warning) || strings.Contains(page, `<b class="bad">`) || !strings.Contains(page, "<small>Nobody was authenticated over HTTP, so ") {
		t.Error("that nobody was authenticated is warned of as if it were known to be one principal, or is not told")
	}
}

func TestTask_neverLooksVerifiedWhenItsRecordWasAltered(t *testing.T) {
	gate := wholeTask(task.Verified)
	gate.onRecord = task.Altered(taskOf(1), errors.New("the notes are not the recorded ones"))
	page := mainOf(t, visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String())
	for _, unwanted := range []string{`stamp good`, "agrees with the digests", "countersigned"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
}

func TestTask_tellsOfFaultsOnTheirPage(t *testing.T) {
	altered := task.Altered(taskOf(1), errors.New("gone"))
	for _, of := range []struct {
		gate   *gateDouble
		counts *countDouble
		want   int
	}{
		{&gateDouble{onRecord: task.NotFound("nowhere")}, nil, http.StatusNotFound},
		{&gateDouble{onRecord: task.Unavailable(nil)}, nil, http.StatusServiceUnavailable},
		{&gateDouble{onRecord: altered, read: task.NotFound("nowhere")}, nil, http.StatusNotFound},
		{&gateDouble{whole: task.Task{Supersedes: taskOf(0)}}, &countDouble{err: task.Unavailable(nil)}, http.StatusServiceUnavailable},
	} {
		options := web.Options{Tasks: of.gate}
		if of.counts != nil {
			options.Agents = of.counts
		}
		if answer := visit(t, options, "/tasks/nowhere"); answer.Code != of.want {
			t.Errorf("GET = %d, want %d", answer.Code, of.want)
		}
	}
}

func TestTask_showsHostileTextAsText(t *testing.T) {
	gate := wholeTask(task.Rejected)
	whole := &gate.whole
	whole.Title, whole.Evidence, whole.Notes, whole.AcceptanceCriteria = hostile, hostile, hostile, []string{hostile}
	whole.Supersedes = taskOf(0)
	gate.transitions[0].Principal = task.Principal{Kind: hostile, ID: hostile}
	gate.transitions[1].Digest = hostile
	lineage := someLineage()
	lineage[0].Title, lineage[1].Title = hostile, hostile
	inert(t, visit(t, web.Options{Tasks: gate, Agents: &countDouble{lineage: lineage}}, "/tasks/x").Body.String())

	gate.onRecord = task.Altered(taskOf(1), errors.New(hostile))
	inert(t, visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String())
}

func TestTask_showsTheBeginningOfLongTextsAndAllOfItBelow(t *testing.T) {
	gate := wholeTask(task.Claimed)
	gate.whole.Evidence = strings.Repeat("a line of a log\n", 4000) + "the very end"
	page := visit(t, web.Options{Tasks: gate}, "/tasks/x").Body.String()
	before, after, hides := strings.Cut(page, "<summary>All of it, 63 KiB</summary>")
	if !hides || strings.Contains(before, "the very end") || !strings.Contains(after, "the very end") {
		t.Error("a long text is not shown whole when asked for")
	}
	if lines := strings.Count(before, "a line of a log"); lines == 0 || lines > 30 {
		t.Errorf("%d lines are shown at first", lines)
	}
}

func TestTask_offersWhatCanComeNext(t *testing.T) {
	superseded := wholeTask(task.Rejected)
	superseded.whole.SupersededBy = taskOf(2)
	for name, scene := range map[string]struct {
		gate   *gateDouble
		wanted []string
	}{
		"claimed": {wholeTask(task.Claimed), []string{"countersign task verify " + string(taskOf(1)) + " --agent-id &lt;your-agent-id&gt; --notes "}},
		"rejected": {wholeTask(task.Rejected), []string{
			"Nothing: rejected is final. Go on with a new task that supersedes it:", "countersign task create --agent-id &lt;your-agent-id&gt; --supersedes " + string(taskOf(1)),
		}},
		"superseded": {superseded, []string{"Nothing: rejected is final. The work goes on in", "countersign task show " + string(taskOf(2))}},
	} {
		page := visit(t, web.Options{Tasks: scene.gate, Agents: &countDouble{lineage: someLineage()}}, "/tasks/x").Body.String()
		for _, wanted := range scene.wanted {
			if !strings.Contains(page, wanted) {
				t.Errorf("%s: the page does not say %s", name, wanted)
			}
		}
	}
}
