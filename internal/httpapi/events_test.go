package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/task"
)

// listening is an open stream.
type listening struct {
	lines  *bufio.Reader
	header http.Header
	leave  func()
	ready  string // the id with which it began
}

// block is what stands between two blank lines of a stream.
type block struct{ id, event, data, rest string }

// listen opens a stream and takes what comes first.
func (f *fleet) listen(t *testing.T, query string, header http.Header) *listening {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+PathEvents+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(request.Header, header)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		leave()
		_ = answer.Body.Close()
	})
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s = %d %s", query, answer.StatusCode, text)
	}
	l := &listening{lines: bufio.NewReader(answer.Body), header: answer.Header, leave: leave}
	if first := l.next(t); first.rest != ": what happens in Countersign\nretry: 2000\n" {
		t.Fatalf("it begins with %+v", first)
	}
	l.ready = l.about(t, "ready", "{}").id
	return l
}

// next reads one block.
func (l *listening) next(t *testing.T) (read block) {
	t.Helper()
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("after %+v: %v", read, err)
		}
		if line == "\n" {
			return read
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			read.id = value
		case "event":
			read.event = value
		case "data":
			read.data = value
		default:
			read.rest += line
		}
	}
}

// about reads one block, which must be an event with these data but for their time.
func (l *listening) about(t *testing.T, event, data string) block {
	t.Helper()
	read := l.next(t)
	if got := anyTime.ReplaceAllString(read.data, "TIME"); read.event != event || got != data || read.rest != "" {
		t.Fatalf("got %+v, want %s %s", read, event, data)
	}
	return read
}

func ofTask(id, status string) string {
	return fmt.Sprintf(`{"task_id":%q,"status":%q,"at":"TIME"}`, id, status)
}

func TestEvents_tellWhatHappensFromNowOn(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	first := f.listen(t, "", nil)
	head, _ := f.do(t, http.MethodHead, PathEvents, nil, "")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
		if got, ofHead := first.header.Get(name), head.Header.Get(name); got != want || ofHead != want {
			t.Errorf("%s = %q, and %q of HEAD, want %q", name, got, ofHead, want)
		}
	}
	before := f.create(t, "before")
	first.about(t, "task", ofTask(before, "pending"))
	second := f.listen(t, "", nil)
	f.ask(t, asking{method: "POST", path: "/tasks/" + before + "/claim", body: `{"agent_id":"a","evidence":"e"}`})
	for _, each := range []*listening{first, second} {
		each.about(t, "task", ofTask(before, "claimed"))
	}
	f.ask(t, asking{method: "POST", path: "/components/broken/probe"})
	f.ask(t, asking{method: "POST", path: "/components/docs/probe"})
	f.ask(t, asking{method: "POST", path: "/runs/nightly/preflight"})
	f.ask(t, asking{method: "POST", path: "/runs/weekly/preflight"})
	for _, each := range []*listening{first, second} {
		each.about(t, "component", `{"component":"broken","status":"unavailable","at":"TIME"}`)
		each.about(t, "component", `{"component":"docs","status":"available","at":"TIME"}`)
		each.about(t, "run", `{"run":"nightly","outcome":"allowed_on_fallback","at":"TIME"}`)
		each.about(t, "run", `{"run":"weekly","outcome":"refused","at":"TIME"}`)
	}
}

func TestEvents_areAsDescribed(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	_, body := f.ask(t, asking{method: http.MethodGet, path: pathDocument})
	for _, name := range []string{"TaskEvent", "ComponentEvent", "RunEvent"} {
		if !strings.Contains(body, `"`+name+`": {`) {
			t.Errorf("%s is not described", name)
		}
	}
}

func TestEvents_goOnWhereAListenerLeft(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	first := f.listen(t, "", nil)
	one := f.create(t, "one")
	left := first.about(t, "task", ofTask(one, "pending")).id
	two := f.create(t, "two")
	last := first.about(t, "task", ofTask(two, "pending")).id
	first.leave()
	three := f.create(t, "three")
	for name, again := range map[string]*listening{
		"after":                       f.listen(t, "?after="+left, nil),
		"the header":                  f.listen(t, "", http.Header{"Last-Event-Id": {left}}),
		"the header, which overrules": f.listen(t, "?after="+last, http.Header{"Last-Event-Id": {left}}),
		"after, beside no header":     f.listen(t, "?after="+left, http.Header{"Last-Event-Id": {""}}),
	} {
		if got := again.about(t, "task", ofTask(two, "pending")).id; got != last {
			t.Errorf("by %s: the id is %s, and was %s", name, got, last)
		}
		again.about(t, "task", ofTask(three, "pending"))
	}
}

func TestEvents_ofOthersAreLeftOut(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	all := f.listen(t, "", nil)
	wanted := f.create(t, "wanted")
	components := f.listen(t, "?kind=component", nil)
	one := f.listen(t, "?task_id="+strings.ToUpper(wanted), nil)
	docs := f.listen(t, "?component=docs&run=weekly", nil)
	tasks := f.listen(t, "?kind=task&component=docs", nil)
	f.create(t, "other")
	f.ask(t, asking{method: "POST", path: "/components/docs/probe"})
	f.ask(t, asking{method: "POST", path: "/runs/nightly/preflight"})
	f.ask(t, asking{method: "POST", path: "/runs/weekly/preflight"})
	f.ask(t, asking{method: "POST", path: "/tasks/" + wanted + "/claim", body: `{"agent_id":"a","evidence":"e"}`})
	for range 7 { // so that all of it was told
		all.next(t)
	}
	components.about(t, "component", `{"component":"docs","status":"available","at":"TIME"}`)
	components.about(t, "component", `{"component":"broken","status":"unavailable","at":"TIME"}`)
	docs.about(t, "component", `{"component":"docs","status":"available","at":"TIME"}`)
	docs.about(t, "run", `{"run":"weekly","outcome":"refused","at":"TIME"}`)
	if read := one.next(t); !strings.Contains(read.data, wanted) {
		t.Errorf("got %+v", read)
	}
	tasks.leave()
	if text, _ := io.ReadAll(tasks.lines); strings.Contains(string(text), "event:") {
		t.Errorf("of a kind and another subject is told %s", text)
	}
}

// Who asks for little and resumes does not go over all the rest again.
func TestEvents_tellWithEachTickWhereTheStreamIs(t *testing.T) {
	f := startFleet(t, func(o *Options) { o.API.Tick = short })
	all, none := f.listen(t, "", nil), f.listen(t, "?run=yearly", nil)
	if got := none.next(t); got != (block{id: none.ready, event: "tick", data: "{}"}) {
		t.Errorf("when nothing happens it tells %+v", got)
	}
	f.create(t, "a task")
	at := all.next(t)
	for at.event == "tick" {
		at = all.next(t)
	}
	for read := none.next(t); read.id != at.id; read = none.next(t) {
		if read != (block{id: none.ready, event: "tick", data: "{}"}) {
			t.Fatalf("got %+v, want a tick with the id %s", read, at.id)
		}
	}
}

// A client knows its place before anything has happened, by an event with data:
// some do not keep an id that comes with none.
func TestEvents_canBeResumedBeforeTheFirst(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	for _, query := range []string{"", "?kind=task"} {
		left := f.listen(t, query, nil)
		left.leave()
		missed := f.create(t, "while nobody listened")
		again := f.listen(t, query, http.Header{"Last-Event-Id": {left.ready}})
		if again.ready != left.ready {
			t.Errorf("it goes on from %s, and left at %s", again.ready, left.ready)
		}
		again.about(t, "task", ofTask(missed, "pending"))
	}
}

func TestEvents_ofAnotherSequenceAreReadAnew(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	f.create(t, "a task")
	stream := f.listen(t, "?after=9-9999", nil)
	reset := stream.about(t, "reset", "{}")
	if _, err := feed.ParsePosition(reset.id); err != nil {
		t.Error(err)
	}
	id := f.create(t, "another")
	read := stream.next(t)
	for !strings.Contains(read.data, id) {
		read = stream.next(t)
	}
}

func TestEvents_refuseWhatTheyDoNotTake(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	for query, says := range map[string]string{
		"?after=1":            "after is not the id of an event",
		"?after=-1-1":         "after is not the id of an event",
		"?after=":             "after is not the id of an event",
		"?kind=tick":          "kind cannot be",
		"?kind=task&kind=run": "kind is given twice",
		"?component=A%20b":    "component cannot be the name of any",
		"?run=":               "run cannot be the name of any",
		"?task_id=1":          "task_id is no id of a task",
		"?topic=x":            "topic is no argument of streamEvents",
	} {
		answer, body := f.do(t, http.MethodGet, PathEvents+query, nil, "")
		if answer.StatusCode != http.StatusBadRequest || answer.Header.Get("Content-Type") != typeProblem || !strings.Contains(body, says) {
			t.Errorf("%s = %d %s, want %s", query, answer.StatusCode, body, says)
		}
	}
	if answer, body := f.do(t, http.MethodGet, PathEvents, http.Header{"Last-Event-Id": {"x"}}, ""); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("= %d %s", answer.StatusCode, body)
	}
	if answer, _ := f.do(t, http.MethodGet, PathEvents, http.Header{"Origin": {"http://evil.example.com"}}, ""); answer.StatusCode != http.StatusForbidden {
		t.Errorf("for a foreign page = %d", answer.StatusCode)
	}
}

// A listener who leaves makes room for another.
func TestEvents_areBounded(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	stream := f.listen(t, "", nil)
	for range feed.MaxListeners - 1 {
		held, err := f.follower.Subscribe(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(held.Close)
	}
	answer, body := f.do(t, http.MethodGet, PathEvents, nil, "")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "E_UNAVAILABLE") {
		t.Errorf("beyond the bound = %d %s", answer.StatusCode, body)
	}
	stream.leave()
	for end := time.Now().Add(patience); ; {
		held, err := f.follower.Subscribe(nil)
		if err == nil {
			held.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal("its place is not left")
		}
	}
}

// A server that ends does not wait for whoever listens.
func TestEvents_endAtOnceWithTheServer(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	stream := f.listen(t, "", nil)
	f.stop()
	if text, err := io.ReadAll(stream.lines); err != nil || len(text) > 0 {
		t.Errorf("at the end came %q, %v", text, err)
	}
	if err := <-f.over; err != nil {
		t.Errorf("Run = %v", err)
	}
	if log := f.log.String(); strings.Contains(log, "broken off") || strings.Contains(log, PathEvents) {
		t.Errorf("the log is %s", log)
	}
}

// endless is a store in which more and more happens.
type endless struct{ asked atomic.Int64 }

func (e *endless) Events(_ context.Context, after feed.Position, limit int) ([]feed.Event, error) {
	e.asked.Add(1)
	events := make([]feed.Event, 0, limit)
	for range limit {
		after.Number++
		events = append(events, feed.Event{ID: after, Kind: feed.Task, Subject: "0197b3b0-0000-7000-8000-000000000000", What: string(task.Pending)})
	}
	return events, nil
}

func (*endless) Ends(context.Context) (before, newest feed.Position, err error) {
	return feed.Position{}, feed.Position{Number: 1 << 40}, nil
}

func (*endless) RollUp(context.Context, time.Time) (bool, error) { return false, nil }

func TestEvents_dropAListenerWhoDoesNotRead(t *testing.T) {
	server := plain()
	server.limits.answer = short
	follower := feed.NewFollower(feed.Options{Store: &endless{}, Now: time.Now})
	server.options.API = &API{Feed: follower, Log: discarding()}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for range feed.MaxListeners - 1 {
		held, err := follower.Subscribe(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(held.Close)
	}
	run := start(t, server)
	connection := dial(t, run)
	if _, err := io.WriteString(connection, "GET "+PathEvents+" HTTP/1.1\r\nHost: "+run.host+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	begun := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(connection, begun); err != nil || string(begun) != "HTTP/1.1 200" {
		t.Fatalf("it begins with %q, %v", begun, err)
	}
	for end := time.Now().Add(patience); ; {
		held, err := follower.Subscribe(nil)
		if err == nil {
			held.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal("it is told on and on")
		}
	}
}
