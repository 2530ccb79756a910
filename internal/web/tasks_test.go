package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// taskOf is the id of the nth task of the tests.
func taskOf(n int) task.ID { return task.ID(fmt.Sprintf("0199aaaa-0000-7000-8000-%012d", n)) }

// someTasks is a page of claims.
func someTasks() task.Page {
	return task.Page{
		CountsCappedAt: task.MaxCount, NextCursor: "next", Counts: task.Counts{Pending: 2, Claimed: 3, Verified: 1000, Rejected: 1},
		Tasks: []task.Summary{
			{TaskID: taskOf(1), Title: "Move the queue into the kernel", Status: task.Claimed, CreatedBy: "planner", ClaimedBy: "codex-1", UpdatedAt: before(50 * time.Hour), CriteriaCount: 3, Supersedes: taskOf(9)},
			{TaskID: taskOf(2), Title: "Rotate the key", Status: task.Claimed, CreatedBy: "planner", ClaimedBy: "claude-2", UpdatedAt: before(40 * time.Minute), CriteriaCount: 1},
		},
	}
}

func TestTasks_areTheGoldenPages(t *testing.T) {
	none := task.Page{CountsCappedAt: task.MaxCount}
	others := task.Page{CountsCappedAt: task.MaxCount, Counts: task.Counts{Pending: 1}}
	further := task.Page{CountsCappedAt: task.MaxCount, Counts: task.Counts{Claimed: 1000}, NextCursor: "next"}
	for name, of := range map[string]struct {
		gate    *gateDouble
		address string
	}{
		"tasks_claimed.html":  {&gateDouble{page: someTasks()}, "/tasks"},
		"tasks_filtered.html": {&gateDouble{page: someTasks()}, "/tasks?status=all&created_by=planner&claimed_by=&cursor=here"},
		"tasks_none.html":     {&gateDouble{page: none}, "/tasks"},
		"tasks_idle.html":     {&gateDouble{page: others}, "/tasks"},
		"tasks_further.html":  {&gateDouble{page: further}, "/tasks?verifiable_by=codex-1"},
		"tasks_over.html":     {&gateDouble{page: others}, "/tasks?verifiable_by=codex-1&cursor=here"},
		"tasks_refused.html":  {&gateDouble{listed: task.InvalidAgentID("created_by", "no agent")}, "/tasks?created_by=no+agent&status=pending"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, mainOf(t, visit(t, web.Options{Tasks: of.gate}, of.address).Body.String()))
		})
	}
}

func TestTasks_asksForWhatTheAddressSays(t *testing.T) {
	for address, want := range map[string]task.Query{
		"/tasks":                                    {Status: new("claimed"), Order: new("oldest")},
		"/tasks?status=&order=":                     {Status: new("claimed"), Order: new("oldest")},
		"/tasks?status=pending":                     {Status: new("pending"), Order: new("newest")},
		"/tasks?status=claimed&order=newest":        {Status: new("claimed"), Order: new("newest")},
		"/tasks?status=verified&order=oldest":       {Status: new("verified"), Order: new("oldest")},
		"/tasks?status=all":                         {Order: new("newest")},
		"/tasks?status=lost":                        {Status: new("lost"), Order: new("newest")},
		"/tasks?verifiable_by=a&cursor=c":           {Status: new("claimed"), Order: new("oldest"), VerifiableBy: new("a"), Cursor: new("c")},
		"/tasks?created_by=a&claimed_by=b&limit=1":  {Status: new("claimed"), Order: new("oldest"), CreatedBy: new("a"), ClaimedBy: new("b")},
		"/tasks?status=all&supersedes=x&created_by": {Order: new("newest"), Supersedes: new("x")},
	} {
		gate := &gateDouble{page: someTasks()}
		if answer := visit(t, web.Options{Tasks: gate}, address); answer.Code != http.StatusOK {
			t.Errorf("GET %s = %d", address, answer.Code)
		}
		want.Limit = new(50)
		if diff := cmp.Diff(want, gate.asked); diff != "" {
			t.Errorf("GET %s asks (-want +got):\n%s", address, diff)
		}
	}
}

func TestTasks_showsEachCountUpToItsBound(t *testing.T) {
	for count, want := range map[int]string{0: "0", 1: "1", 999: "999", 1000: "1000&#43;"} {
		page := task.Page{CountsCappedAt: task.MaxCount, Counts: task.Counts{Rejected: count}}
		body := visit(t, web.Options{Tasks: &gateDouble{page: page}}, "/tasks").Body.String()
		if !strings.Contains(body, `rejected <span class="count">`+want+`</span>`) {
			t.Errorf("%d rejected tasks are not shown as %s", count, want)
		}
	}
}

func TestTasks_marksOnlyClaimsThatWaitLong(t *testing.T) {
	for _, of := range []struct {
		status task.Status
		waited time.Duration
		want   bool
	}{
		{task.Claimed, web.LongWait - time.Millisecond, false},
		{task.Claimed, web.LongWait, true},
		{task.Claimed, 1000 * time.Hour, true},
		{task.Claimed, -time.Hour, false},
		{task.Pending, 1000 * time.Hour, false},
		{task.Verified, 1000 * time.Hour, false},
	} {
		page := task.Page{CountsCappedAt: task.MaxCount, Tasks: []task.Summary{{TaskID: taskOf(1), Title: "a", Status: of.status, UpdatedAt: before(of.waited)}}}
		body := visit(t, web.Options{Tasks: &gateDouble{page: page}}, "/tasks?status=all").Body.String()
		if got := strings.Contains(body, "waits long"); got != of.want {
			t.Errorf("%s for %s: marked is %v", of.status, of.waited, got)
		}
	}
}

func TestTasks_marksClaimsAfterTheTimeThatIsAlerted(t *testing.T) {
	var alerted time.Duration
	page := task.Page{CountsCappedAt: task.MaxCount, Tasks: []task.Summary{{TaskID: taskOf(1), Title: "a", Status: task.Claimed, UpdatedAt: before(8 * time.Hour)}}}
	options := web.Options{Tasks: &gateDouble{page: page}, LongWait: func() time.Duration { return alerted }}
	for _, of := range []struct {
		alerted time.Duration
		marked  bool
		said    string
	}{
		{0, true, "waited for 1 h is marked"},
		{8 * time.Hour, true, "waited for 8 h is marked"},
		{9 * time.Hour, false, "waited for 9 h is marked"},
	} {
		alerted = of.alerted
		for _, address := range []string{"/", "/tasks"} {
			body := visit(t, options, address).Body.String()
			if got := strings.Contains(body, "waits long"); got != of.marked || address == "/tasks" && !strings.Contains(body, of.said) {
				t.Errorf("%s, alerted after %s: marked is %v:\n%s", address, of.alerted, got, mainOf(t, body))
			}
		}
	}
}

func TestTasks_saysToPeopleWhatPeopleCanDoAboutATaskThatIsNotThere(t *testing.T) {
	gone := task.NotFound("0199")
	answer := visit(t, web.Options{Tasks: &gateDouble{onRecord: gone, read: gone}}, "/tasks/0199")
	page := mainOf(t, answer.Body.String())
	if answer.Code != http.StatusNotFound || !strings.Contains(page, `<a href="/tasks?status=all">See all tasks</a>`) || strings.Contains(page, "list_tasks") {
		t.Errorf("the answer is %d:\n%s", answer.Code, page)
	}
	if page := visit(t, web.Options{Tasks: &gateDouble{listed: gone}}, "/tasks?supersedes=0199").Body.String(); strings.Contains(page, "list_tasks") || !strings.Contains(page, "Copy the whole id") {
		t.Errorf("the form tells agents what to do:\n%s", mainOf(t, page))
	}
}

func TestTasks_tellsAgesInTheirLargestUnit(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Hour: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59 * time.Minute: "59 min",
		47 * time.Hour: "47 h", 48 * time.Hour: "2 days",
	} {
		page := task.Page{CountsCappedAt: task.MaxCount, Tasks: []task.Summary{{TaskID: taskOf(1), Title: "a", Status: task.Pending, UpdatedAt: before(age)}}}
		body := visit(t, web.Options{Tasks: &gateDouble{page: page}}, "/tasks?status=pending").Body.String()
		if !strings.Contains(body, ">"+want+"</time>") {
			t.Errorf("an age of %s is not told as %s", age, want)
		}
	}
}

func TestTasks_keepsWhatWasAskedOnEveryWayOn(t *testing.T) {
	body := visit(t, web.Options{Tasks: &gateDouble{page: someTasks()}}, "/tasks?status=pending&created_by=planner&order=oldest&cursor=here").Body.String()
	for way, address := range map[string]string{
		"the next page":      `/tasks?created_by=planner&amp;cursor=next&amp;order=oldest&amp;status=pending`,
		"the first page":     `/tasks?created_by=planner&amp;order=oldest&amp;status=pending`,
		"the other order":    `/tasks?created_by=planner&amp;status=pending`,
		"another status":     `/tasks?created_by=planner&amp;status=verified`,
		"without the filter": `/tasks?order=oldest&amp;status=pending`,
	} {
		if !strings.Contains(body, `href="`+address+`"`) {
			t.Errorf("%s is not at %s", way, address)
		}
	}
	for _, field := range []string{`name="status" value="pending"`, `name="order" value="oldest"`, `name="created_by" value="planner"`} {
		if !strings.Contains(body, field) {
			t.Errorf("the form does not keep %s", field)
		}
	}
}

func TestTasks_answersARefusedAddressOnTheFormAndOtherFaultsOnTheirPage(t *testing.T) {
	for _, of := range []struct {
		err    error
		status int
		want   string
		form   bool
	}{
		{task.InvalidArgument("cursor", "is no cursor of this list"), http.StatusBadRequest, "cursor is no cursor of this list", true},
		{task.InvalidAgentID("claimed_by", "a b"), http.StatusBadRequest, "is no agent id", true},
		{task.NotFound("x"), http.StatusBadRequest, "x", true},
		{task.Unavailable(errors.New("disk I/O")), http.StatusServiceUnavailable, "database could not answer in time", false},
		{errors.New("pq: secret"), http.StatusInternalServerError, "", false},
	} {
		answer := visit(t, web.Options{Tasks: &gateDouble{listed: of.err}}, "/tasks")
		body := answer.Body.String()
		if answer.Code != of.status || !strings.Contains(body, of.want) || strings.Contains(body, "<form") != of.form {
			t.Errorf("%v is answered with %d:\n%s", of.err, answer.Code, body)
		}
		if strings.Contains(body, "secret") || strings.Contains(body, "disk I/O") {
			t.Errorf("the page tells the cause of %v", of.err)
		}
	}
}

// inert fails when a page holds markup, or characters, of hostile.
func inert(t *testing.T, page string) {
	t.Helper()
	for _, unwanted := range []string{"<script>", "<img src=x", "</bdi></td>", "\u202e", "\x1b", "\u2028", "onerror=alert(1)>\""} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
	if !strings.Contains(page, `\u202e\u001b[2J`) {
		t.Errorf("what does nothing is not shown either:\n%s", page)
	}
}

func TestTasks_showHostileTextAsText(t *testing.T) {
	page := someTasks()
	page.Tasks[0].Title = hostile
	inert(t, mainOf(t, visit(t, web.Options{Tasks: &gateDouble{page: page}}, "/tasks").Body.String()))

	address := "/tasks?created_by=%3C/bdi%3E%3C/td%3E%3Cscript%3Ealert(1)%3C/script%3E%3Cimg+src%3Dx+onerror%3Dalert(1)%3E%22%E2%80%AE%1B%5B2J%E2%80%A8"
	refused := &gateDouble{listed: task.InvalidArgument("created_by", "is %s", hostile)}
	inert(t, mainOf(t, visit(t, web.Options{Tasks: refused}, address).Body.String()))
}

func TestTasksRunsAndAgents_haveTitlesOfTheirOwn(t *testing.T) {
	options := web.Options{Tasks: wholeTask(task.Claimed), Agents: someAgents(), Runs: &runDouble{view: someRun()}}
	for address, want := range map[string]string{
		"/tasks": "Tasks", "/tasks/x": "Move the queue into the kernel", "/runs": "Runs", "/runs/nightly": "nightly", "/agents": "Agents", "/agents/claude-2": "claude-2",
	} {
		if body := visit(t, options, address).Body.String(); !strings.Contains(body, "<title>"+want+" · Countersign</title>") {
			t.Errorf("%s has another title than %q", address, want)
		}
	}
}

func TestTasks_sayThatAPageWasCutShort(t *testing.T) {
	const words = "The next page looks further."
	page := someTasks()
	whole := page
	for len(whole.Tasks) < 50 {
		whole.Tasks = append(slices.Clone(whole.Tasks), page.Tasks[0])
	}
	whole.Tasks, whole.NextCursor, page.NextCursor = whole.Tasks[:50], "AQ_on", "AQ_on"
	last := page
	last.NextCursor = ""
	for name, scene := range map[string]struct {
		page task.Page
		want bool
	}{"cut short": {page, true}, "whole": {whole, false}, "the last": {last, false}} {
		body := mainOf(t, visit(t, web.Options{Tasks: &gateDouble{page: scene.page}}, "/tasks?verifiable_by=codex-1").Body.String())
		said, way := strings.Index(body, words), strings.Index(body, "Next page")
		if said >= 0 != scene.want || scene.want && said > way {
			t.Errorf("%s: it says so at %d, and the next page is at %d:\n%s", name, said, way, body)
		}
	}
}
