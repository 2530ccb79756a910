package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// Details stand beside the members of a problem and cannot take their places.
func TestProblem_keepsItsMembers(t *testing.T) {
	refused := fault.New(fault.WrongState, "no").WithHint("go").
		With("status", "claimed").With("type", "x").With("code", "x").With("title", "x").With("detail", "x").With("hint", "x").
		With("limit", 7).With("<", "\"").With("channel", make(chan int))
	answer := httptest.NewRecorder()
	problem(answer, http.StatusConflict, refused)
	want := `{"type":"about:blank","title":"Conflict","status":409,"detail":"no","code":"E_WRONG_STATE","hint":"go","\u003c":"\"","limit":7}` + "\n"
	if got := answer.Body.String(); got != want || answer.Header().Get("Content-Type") != typeProblem {
		t.Errorf("the problem is %s", got)
	}
}

func TestAPI_refusesWhatItDoesNotTake(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	id := f.create(t, "a task")
	asJSON := http.Header{"Content-Type": {typeJSON}}
	sound := `{"title":"t","acceptance_criteria":["c"],"created_by":"a"}`
	long := strings.Repeat("x", task.MaxRequest)
	cases := []struct {
		method, path string
		header       http.Header
		body         string
		status       int
		says         string
	}{
		{"GET", "/tasks?limit=0", nil, "", 400, "limit is 0"},
		{"GET", "/tasks?limit=101", nil, "", 400, "limit is 101"},
		{"GET", "/tasks?limit=1&limit=1", nil, "", 400, `"detail":"limit is given twice"`},
		{"GET", "/tasks?Limit=1", nil, "", 400, `"field":"Limit"`},
		{"GET", "/tasks?status=done", nil, "", 400, "E_INVALID_ARGUMENT"},
		{"GET", "/tasks?status=%ff", nil, "", 400, "not valid UTF-8"},
		{"GET", "/tasks?order=oldest", nil, "", 400, "E_INVALID_ARGUMENT"},
		{"GET", "/tasks?created_by=A%20b", nil, "", 400, "E_INVALID_AGENT_ID"},
		{"GET", "/tasks?cursor=x", nil, "", 400, "cursor is no cursor"},
		{"GET", "/tasks?a;b", nil, "", 400, "query cannot be read"},
		{"GET", "/tasks?%22%3E%3Cscript%3E=1", nil, "", 400, `\"\u003e\u003cscript\u003e is no argument of listTasks`},
		{"GET", "/tasks/" + strings.Repeat("x", 5000), nil, "", 404, "E_NOT_FOUND"},
		{"GET", "/tasks/%ff", nil, "", 400, "task_id is not valid UTF-8"},
		{"GET", "/tasks/" + id + "?task_id=x", nil, "", 400, "task_id is no argument of getTask"},
		{"GET", "/agents/A%20b", nil, "", 400, "E_INVALID_AGENT_ID"},
		{"GET", "/agents?order=age", nil, "", 400, "E_INVALID_ARGUMENT"},
		{"GET", "/agents?order=verdicts&cursor=x", nil, "", 400, "cursor is no cursor"},
		{"GET", "/components?status=", nil, "", 400, `status cannot be \"\"`},
		{"GET", "/components?kind=server", nil, "", 400, "kind cannot be"},
		{"GET", "/components?limit=101", nil, "", 400, "limit must be from 1 to 100"},
		{"GET", "/components?cursor=", nil, "", 400, "cursor is not"},
		{"GET", "/components?search=" + strings.Repeat("x", 200), nil, "", 400, `"field":"search"`},
		{"GET", "/components/%2e%2e%2ftasks", nil, "", 404, "E_NOT_FOUND"},
		{"GET", "/components?cursor=null", nil, "", 400, `"field":"cursor"`},
		{"GET", "/slots?cursor=null", nil, "", 400, `"field":"cursor"`},
		{"GET", "/runs?cursor=null", nil, "", 400, `"field":"cursor"`},
		{"GET", "/components/docs/results?cursor=x", nil, "", 400, `"field":"cursor"`},
		{"GET", "/runs/nightly/preflights?cursor=x", nil, "", 400, `"field":"cursor"`},
		{"GET", "/slots?limit=-1", nil, "", 400, "limit must be from 1 to 100"},
		{"POST", "/tasks", asJSON, sound + sound, 400, "body is not exactly one JSON value"},
		{"POST", "/tasks", asJSON, "", 400, "title is missing; createTask needs it"},
		{"POST", "/tasks", asJSON, `{"title":"t","title":"u"}`, 400, "title is given twice"},
		{"POST", "/tasks", asJSON, "{\"title\":\"\xff\"}", 400, "body is not valid UTF-8"},
		{"POST", "/tasks", asJSON, `{"assignee":"x"}`, 400, "assignee is no argument of createTask"},
		{"POST", "/tasks", asJSON, `{"title":"t","acceptance_criteria":[],"created_by":"a"}`, 422, "E_EMPTY_CRITERIA"},
		{"POST", "/tasks", asJSON, `{"title":"` + long + `"}`, 413, `"code":"E_TOO_LARGE"`},
		{"POST", "/tasks", nil, sound, 415, "Content-Type must be application/json"},
		{"POST", "/tasks", http.Header{"Content-Type": {"text/plain"}}, sound, 415, "Content-Type must be application/json"},
		{"POST", "/tasks", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "title=t", 415, "application/json"},
		{"POST", "/tasks", http.Header{"Content-Type": {typeJSON}, "Content-Encoding": {"gzip"}}, sound, 415, "Content-Encoding"},
		{"POST", "/tasks?title=t", asJSON, sound, 400, "createTask takes its arguments in the body"},
		{"POST", "/tasks", http.Header{"Content-Type": {"Application/JSON; charset=utf-8"}}, sound, 201, "pending"},
		{"POST", "/tasks/" + id + "/claim", asJSON, `{"task_id":"` + id + `"}`, 400, "task_id is no argument of claimTask"},
		{"POST", "/tasks/" + id + "/verdict", asJSON, `{"verifier_agent_id":"a","verdict":"verified"}`, 409, `"current_status":"pending"`},
		{"POST", "/components/docs/probe", asJSON, `{"name":"broken"}`, 400, "probeComponent takes none"},
		{"POST", "/components/docs/probe", nil, `{}`, 415, "application/json"},
		{"DELETE", "/tasks", nil, "", 405, "It takes GET, HEAD, POST."},
		{"PUT", "/tasks/" + id, asJSON, sound, 405, "It takes GET, HEAD."},
		{"GET", "/runs/nightly/preflight", nil, "", 405, "It takes POST."},
		{"GET", "/nothing", http.Header{"Accept": {chromium}}, "", 404, `"hint":"/api/v1/openapi.json describes the API."`},
		{"GET", "/tasks", http.Header{"Origin": {"https://evil.example.com"}}, "", 403, "may not call this server"},
		{"POST", "/tasks", http.Header{"Content-Type": {typeJSON}, "Sec-Fetch-Site": {"cross-site"}}, sound, 403, "may not call this server"},
	}
	for _, c := range cases {
		answer, body := f.do(t, c.method, pathV1+c.path, c.header, c.body)
		if answer.StatusCode != c.status || !strings.Contains(body, c.says) || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %.60s with %v and %.60s = %d %.300s, want %d and %s", c.method, c.path, c.header, c.body, answer.StatusCode, body, c.status, c.says)
		}
		if c.status >= 400 && (answer.Header.Get("Content-Type") != typeProblem || !json.Valid([]byte(body))) {
			t.Errorf("%s %.60s: %v", c.method, c.path, answer.Header)
		}
		if c.status == 415 && answer.Header.Get("Accept") != typeJSON {
			t.Errorf("%s %.60s does not say what it takes: %v", c.method, c.path, answer.Header)
		}
		if len(body) > 2000 {
			t.Errorf("%s %.60s: a refusal of %d bytes", c.method, c.path, len(body))
		}
	}
}

func TestAPI_answersHEADAsGETWithoutABody(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	for path, status := range map[string]int{"/tasks": 200, "/components/docs": 200, "/openapi.json": 200, "/tasks/none": 404, "/events": 200} {
		answer, body := f.do(t, http.MethodHead, pathV1+path, nil, "")
		if answer.StatusCode != status || body != "" || answer.Header.Get("Content-Type") == "" {
			t.Errorf("HEAD %s = %d %v", path, answer.StatusCode, answer.Header)
		}
	}
}

// The next page is where Link says, with the filters of this one, and every task is
// on one page.
func TestAPI_leadsThroughAllPages(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	want := map[string]bool{}
	for i := range 7 {
		want[f.create(t, fmt.Sprint("task ", i))] = true
	}
	for path, pages := pathV1+"/tasks?limit=2&created_by=LEAD&status=pending", 0; path != ""; pages++ {
		if pages == 5 {
			t.Fatal("there is no end")
		}
		answer, body := f.do(t, http.MethodGet, path, nil, "")
		var page task.Page
		if err := json.Unmarshal([]byte(body), &page); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s = %d %s", path, answer.StatusCode, body)
		}
		for _, one := range page.Tasks {
			delete(want, string(one.TaskID))
		}
		path = ""
		if link := answer.Header.Get("Link"); link != "" {
			path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		}
	}
	if len(want) > 0 {
		t.Errorf("on no page are %v", want)
	}
}

// What is wrong inside is told to the log, and to the caller only by a reference.
func TestAPI_hidesWhatFailsInside(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"a defect":        {errors.New("secret cause"), 500, "E_INTERNAL"},
		"a busy database": {task.Unavailable(errors.New("secret cause")), 503, "E_UNAVAILABLE"},
		"a fault":         {fault.New(fault.NotFound, "none").WithCause(errors.New("secret cause")), 404, "E_NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logged{}
			server := plain()
			server.options.API = &API{Agents: failing{c.err}, Log: logTo(log)}
			answer, body := start(t, server).do(t, http.MethodGet, pathV1+"/agents", nil, "")
			if answer.StatusCode != c.status || !strings.Contains(body, c.says) || strings.Contains(body, "secret") {
				t.Errorf("= %d %s", answer.StatusCode, body)
			}
			if isLogged := strings.Contains(log.String(), "secret cause"); isLogged != (c.status >= 500) {
				t.Errorf("the log is %s", log)
			}
			if hasRetry := answer.Header.Get("Retry-After") != ""; hasRetry != (c.status == 503) {
				t.Errorf("the headers are %v", answer.Header)
			}
		})
	}
}

// failing fails.
type failing struct{ err error }

func (f failing) Agents(context.Context, task.AgentQuery) (task.AgentPage, error) {
	return task.AgentPage{}, f.err
}

func (f failing) Agent(context.Context, string) (task.AgentView, error) {
	return task.AgentView{}, f.err
}

// A probe beyond the bound is refused at once, and whoever hangs up leaves a place.
func TestAPI_boundsProbesAndEndsThoseThatNobodyWaitsFor(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	asleep := make(chan struct{})
	defer close(asleep)
	f.asleep.Store(&asleep)
	answers := make(chan error, maxProbes)
	ctx, hangUp := context.WithCancel(t.Context())
	wait := func() error {
		for { // A question below may take the last place for a moment.
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+pathV1+"/components/slow/probe", http.NoBody)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusServiceUnavailable {
				return err
			}
		}
	}
	for range maxProbes {
		go func() { answers <- wait() }()
	}
	<-f.probed // one probe, which all share
	var body string
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); { // until all of them are admitted
		answer, text := f.ask(t, asking{method: http.MethodPost, path: "/components/none/probe"})
		if body = text; answer.StatusCode == http.StatusServiceUnavailable {
			if answer.Header.Get("Retry-After") == "" {
				t.Errorf("it does not say when to come again: %v", answer.Header)
			}
			break
		}
	}
	if !strings.Contains(body, "E_UNAVAILABLE") {
		t.Fatalf("a probe beyond the bound = %s", body)
	}
	if answer, _ := f.ask(t, asking{method: http.MethodGet, path: "/components"}); answer.StatusCode != http.StatusOK {
		t.Errorf("a read beside %d probes = %d", maxProbes, answer.StatusCode)
	}
	hangUp()
	for range maxProbes {
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Errorf("a probe that nobody waits for = %v", err)
		}
	}
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); {
		if answer, _ := f.ask(t, asking{method: http.MethodPost, path: "/components/docs/probe"}); answer.StatusCode == http.StatusOK {
			return
		}
	}
	t.Error("the places are not left")
}
