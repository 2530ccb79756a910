//go:build unix

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// foreign is a server among strangers: whatever it shows of others is evil.
type foreign struct {
	folder, database, address string
	env                       []string
	components, tasks         []string
	serve                     *process
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	f := &foreign{folder: t.TempDir(), database: sqlite(t), env: environment(t)}
	file, names := strangersFile(t, f.folder)
	f.components = names
	slices.Sort(f.components)
	configure(t, f.folder, file)
	f.serve = start(t, f.folder, f.env, binary(), "serve", "--db", f.database, "--listen", "127.0.0.1:0", "--log-format", "text")
	f.address = f.serve.await(t, servedAt.String())[1]
	for _, verdict := range []string{"", "verified", "rejected"} {
		f.tasks = append(f.tasks, f.task(t, verdict))
	}
	for _, name := range f.components {
		f.post(t, "/api/v1/components/"+name+"/probe", struct{}{}, http.StatusOK)
	}
	f.post(t, "/api/v1/runs/evil/preflight", struct{}{}, http.StatusOK)
	return f
}

// task has a task live until its verdict; empty for one that is only claimed.
func (f *foreign) task(t *testing.T, verdict string) string {
	t.Helper()
	var created struct {
		ID string `json:"task_id"`
	}
	must(t, json.Unmarshal(f.post(t, "/api/v1/tasks", map[string]any{"title": evil, "acceptance_criteria": []string{evil, evil + "\r\n" + evil}, "created_by": "stranger"}, http.StatusCreated), &created))
	f.post(t, "/api/v1/tasks/"+created.ID+"/claim", map[string]any{"agent_id": "prover", "evidence": strings.Repeat(evil+"\n", 40)}, http.StatusOK)
	if verdict != "" {
		f.post(t, "/api/v1/tasks/"+created.ID+"/verdict", map[string]any{"verifier_agent_id": "verifier", "verdict": verdict, "notes": evil}, http.StatusOK)
	}
	return created.ID
}

// post calls the API.
func (f *foreign) post(t *testing.T, path string, body any, status int) []byte {
	t.Helper()
	written, err := json.Marshal(body)
	must(t, err)
	answer, err := http.Post(f.address+path, "application/json", strings.NewReader(string(written)))
	must(t, err)
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != status {
		t.Fatalf("POST %s: %s: %s", path, answer.Status, read)
	}
	return read
}

// raw matches what drives a terminal or turns the direction of text. Line feeds and
// tabs do not.
var raw = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")

// isInert fails the test when a text has raw what it must not have, or nothing of
// what strangers say although it must.
func isInert(t *testing.T, who, text string, tells bool) {
	t.Helper()
	if at := raw.FindStringIndex(text); at != nil {
		t.Errorf("%s says %+q", who, text[max(0, at[0]-60):min(len(text), at[1]+60)])
	}
	if tells && !strings.Contains(text, "window.pwned") {
		t.Errorf("%s says nothing of what a stranger said:\n%.2000s", who, text)
	}
}

// TestForeignText_isInertInTheTerminalTheLogAndTheAPI has every command say what
// strangers say, and reads the log and the API.
func TestForeignText_isInertInTheTerminalTheLogAndTheAPI(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	f.stream(t)
	for _, path := range []string{"components?limit=100", "components/evil-gates", "components/evil-tools/results", "runs/evil", "runs/evil/preflights", "slots", "runs", "tasks?status=claimed", "tasks/" + f.tasks[2]} {
		answer, err := http.Get(f.address + "/api/v1/" + path)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, answer.Body.Close())
		must(t, err)
		if kind := answer.Header.Get("Content-Type"); kind != "application/json" || answer.Header.Get("X-Content-Type-Options") != "nosniff" || !json.Valid(body) {
			t.Errorf("%s is %s with nosniff %q: %.300s", path, kind, answer.Header.Get("X-Content-Type-Options"), body)
		}
		if strings.ContainsAny(string(body), "\x1b\x07") {
			t.Errorf("%s has a raw control character", path)
		}
	}
	tells := func(tells bool, command ...string) {
		t.Helper()
		got := run(t, f.folder, f.env, append([]string{binary()}, append(command, "--db", f.database)...)...)
		isInert(t, strings.Join(command, " "), got.stdout+got.stderr, tells)
	}
	for _, name := range f.components {
		tells(true, "component", "show", name)
		tells(true, "probe", name)
	}
	tells(true, "probe", "evil-gates", "--explain")
	tells(true, "component", "list")
	tells(true, "component", "accept", "evil-tools")
	tells(true, "preflight", "evil")
	tells(true, "task", "list")
	for _, id := range f.tasks {
		tells(true, "task", "show", id)
	}
	tells(true, "task", "show", evil)
	tells(true, "component", "show", evil)
	tells(true, "preflight", evil)

	configure(t, f.folder, "components: {"+quoted(evil)+": {kind: mcp_server, url: "+quoted(evil)+", "+quoted(evil)+": 1}}\n")
	hangUp(t, f.serve)
	f.serve.await(t, "the configuration was rejected")
	checked := run(t, f.folder, f.env, binary(), "config", "check")
	isInert(t, "config check", checked.stdout+checked.stderr, false)
	if code := f.serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	log, _ := f.serve.output.read()
	isInert(t, "the log", log, true)
}

// stream reads what happened from the beginning of the stream of events on: each
// field is one line, and no line is of a stranger's making.
func (f *foreign) stream(t *testing.T) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address+"/api/v1/events", nil)
	must(t, err)
	request.Header.Set("Last-Event-ID", "0-0")
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	seen, field := 0, regexp.MustCompile(`^(|:.*|retry: \d+|id: [0-9-]+|event: (ready|task|component|run|reset|tick)|data: \{.*\})$`)
	for lines := bufio.NewScanner(answer.Body); seen < 11 && lines.Scan(); {
		if !field.MatchString(lines.Text()) {
			t.Errorf("the stream has the line %q", lines.Text())
		}
		isInert(t, "the stream", lines.Text(), false)
		if strings.HasPrefix(lines.Text(), "data: ") {
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("the stream told of %d events, want 10 at least", seen)
	}
}

// inert says of a page what must not be on it.
const inert = `(() => {
	const raw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/;
	const bad = [];
	if (window.pwned) bad.push('a script ran: ' + window.pwned);
	for (const e of document.querySelectorAll('*')) {
		for (const a of e.attributes) {
			if (a.name.startsWith('on')) bad.push('a handler: ' + e.outerHTML.slice(0, 80));
			if (raw.test(a.value) && e.type !== 'hidden') bad.push('a raw character in ' + a.name + ' of ' + e.localName);
			if (['href', 'src', 'action', 'formaction'].includes(a.name) && !/^(\/[^\/]|\/$|#|\?)/.test(a.value)) bad.push(a.name + ': ' + a.value.slice(0, 80));
		}
		if (e.namespaceURI.endsWith('xhtml') && ['base', 'iframe', 'object', 'embed', 'math', 'frame'].includes(e.localName)) bad.push('an element ' + e.localName);
	}
	if (document.querySelectorAll('script').length !== 1) bad.push(document.querySelectorAll('script').length + ' scripts');
	if (document.querySelectorAll('img').length !== 1) bad.push(document.querySelectorAll('img').length + ' pictures');
	if (document.querySelectorAll('title').length !== 1 + document.querySelectorAll('svg.spark > title').length) bad.push('more than one title');
	if (raw.test(document.documentElement.textContent)) bad.push('a raw character in the text');
	return bad.join('; ');
})()`

// TestForeignText_isInertOnEveryPage opens every page in a real browser, with what
// strangers say in every place that they can reach: on record, and in the address.
func TestForeignText_isInertOnEveryPage(t *testing.T) {
	t.Parallel()
	f, b := newForeign(t), newBrowser(t)
	p := b.tab(t, f.address)
	escaped := url.QueryEscape(evil)
	paths := map[string]bool{ // whether strangers have their say
		"/": true, "/components": true, "/runs": false, "/runs/evil": true, "/tasks": true, "/tasks?status=verified": true,
		"/tasks?status=rejected": true, "/agents": false, "/agents/prover": false, "/connect": false,
		"/components?search=" + escaped: true, "/components?status=" + escaped: true, "/components?kind=" + escaped: true, "/components?cursor=" + escaped: false,
		"/tasks?status=" + escaped: true, "/tasks?order=" + escaped: true, "/tasks?created_by=" + escaped: true, "/tasks?claimed_by=" + escaped: true, "/tasks?supersedes=" + escaped: true,
		"/tasks?cursor=" + escaped: false, "/agents?order=" + escaped: true, "/agents?cursor=" + escaped: false, "/runs?cursor=" + escaped: false,
		"/components/" + url.PathEscape(evil): true, "/tasks/" + url.PathEscape(evil): true, "/agents/" + url.PathEscape(evil): true, "/runs/" + url.PathEscape(evil): true,
		"/" + url.PathEscape(evil): false, "/components/evil-gates?result=" + escaped: true, "/components/evil-gates?probed=" + escaped: true,
	}
	for _, name := range f.components {
		paths["/components/"+name] = true
	}
	for _, id := range f.tasks {
		paths["/tasks/"+id] = true
	}
	for path, tells := range paths {
		status := p.open(t, path)
		p.isSafe(t, path, tells)
		if problems := p.heard(); status == http.StatusOK && len(problems) > 0 {
			t.Errorf("%s: %v", path, problems)
		}
	}
	f.bringsEvil(t, p)
	configure(t, f.folder, "components: {"+quoted(evil)+": 1}\n")
	hangUp(t, f.serve)
	f.serve.await(t, "the configuration was rejected")
	p.open(t, "/")
	p.eventually(t, "the page does not say that a file was rejected", `document.querySelector('#rejected') !== null`)
	p.isSafe(t, "a rejected configuration", true)
	p.isFine(t, "a rejected configuration")
}

// isSafe looks for what strangers made of a page, with everything on it opened.
func (p *tab) isSafe(t *testing.T, path string, tells bool) {
	t.Helper()
	evaluate[bool](t, p, `document.querySelectorAll('details').forEach(e => e.open = true), true`)
	if bad := evaluate[string](t, p, inert); bad != "" {
		t.Errorf("%.80q: %s", path, bad)
	}
	if shown := evaluate[bool](t, p, `document.body.textContent.includes('window.pwned') || [...document.querySelectorAll('input')].some(e => e.value.includes('window.pwned'))`); shown != tells {
		t.Errorf("%.80q shows what a stranger says: %t, want %t", path, shown, tells)
	}
}

// bringsEvil has an open page brought up to date with what a stranger says.
func (f *foreign) bringsEvil(t *testing.T, p *tab) {
	t.Helper()
	p.open(t, "/tasks?status=claimed")
	evaluate[bool](t, p, `(window.same = true)`)
	id := f.task(t, "")
	p.eventually(t, "a new claim does not appear", fmt.Sprintf(`window.same && document.getElementById('task-%s') !== null`, id))
	p.isSafe(t, "a page that was brought up to date", true)
	p.open(t, "/components/evil-book")
	evaluate[bool](t, p, `(window.same = true, window.before = document.querySelector('#proof').textContent, document.querySelector('form[data-busy] button').click(), true)`)
	p.eventually(t, "a probe by the button says nothing", `window.same && document.querySelector('#outcome').textContent.includes('Probed')`)
	p.isSafe(t, "a page after its button", true)
	p.isFine(t, "a page that was brought up to date")
	var reading registry.Reading
	must(t, json.Unmarshal(f.post(t, "/api/v1/components/evil-book/probe", struct{}{}, http.StatusOK), &reading))
	if reading.Status != registry.Unavailable {
		t.Errorf("a knowledge base without the chunks that it must have is %s", reading.Status)
	}
}
