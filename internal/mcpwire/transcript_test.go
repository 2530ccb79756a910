package mcpwire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

func TestRecorder_keepsTheFirstAndTheLastExchanges(t *testing.T) {
	t.Parallel()
	home := witnessing(t, func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("h", 40<<10))
		_, _ = io.WriteString(w, request.URL.Path+" "+strings.Repeat("b", 1<<20))
	})
	recorder := &mcpwire.Recorder{}
	outlet := mcpwire.Outlet{}.With(recorder)
	const made = 40
	for i := range made {
		if status, failure := get(within(t, time.Minute), outlet, home.at(t, fmt.Sprintf("/%d", i))); status != 200 {
			t.Fatal(failure)
		}
	}
	seen := recorder.Transcript(nil)
	if len(seen.Exchanges) != mcpwire.MaxExchanges || seen.LeftOut != made-mcpwire.MaxExchanges {
		t.Fatalf("%d exchanges are kept and %d left out", len(seen.Exchanges), seen.LeftOut)
	}
	for place, want := range map[int]string{0: "/0", 3: "/3", 4: "/28", mcpwire.MaxExchanges - 1: "/39"} {
		one := seen.Exchanges[place]
		if !strings.HasSuffix(one.Request.Line, want) || one.Response.Line != "200 OK" || !strings.HasPrefix(one.Response.Body, want+" bbb") {
			t.Errorf("exchange %d is %s, want %s", place, one.Request.Line, want)
		}
		size := len(one.Response.Body) + len(strings.Join(one.Response.Header, ""))
		if size > mcpwire.MaxBody+mcpwire.MaxHeader+100 || !strings.HasSuffix(one.Response.Body, "...") || one.Response.BodyBytes < 1<<20-100 {
			t.Errorf("exchange %d keeps %d bytes of an answer of %d", place, size, one.Response.BodyBytes)
		}
		if one.Timings.TotalMs <= 0 || one.Timings.FirstByteMs <= 0 || one.Address != home.Listener.Addr().String() {
			t.Errorf("exchange %d has the timings %+v by %q", place, one.Timings, one.Address)
		}
	}
	if !strings.Contains(seen.Curl, home.URL+"/39'") {
		t.Errorf("the curl line is %s", seen.Curl)
	}
}

func TestRecorder_keepsWhatAProcessSaid(t *testing.T) {
	t.Parallel()
	recorder := &mcpwire.Recorder{}
	hide := &mcpwire.Redactor{}
	hide.Add(canarySecret)
	recorder.Sent([]byte(`{"id":1}`))
	recorder.Received([]byte(strings.Repeat("x", mcpwire.MaxBody-10) + canarySecret))
	recorder.Said("the key is " + canarySecret)
	seen := recorder.Transcript(hide)
	if len(seen.Messages) != 2 || !seen.Messages[0].Sent || seen.Messages[0].Text != `{"id":1}` || seen.Messages[1].Sent {
		t.Fatalf("got %+v", seen.Messages)
	}
	if text := seen.Messages[1].Text; strings.Contains(text, canarySecret[:4]) || !strings.HasSuffix(text, "xx[secret]...") {
		t.Errorf("the secret that was cut off is %q", text[mcpwire.MaxBody-20:])
	}
	if seen.Stderr != "the key is [secret]" || seen.Curl != "" {
		t.Errorf("got %q and %q", seen.Stderr, seen.Curl)
	}
}

func TestRecorder_recordsWhatNeverCame(t *testing.T) {
	t.Parallel()
	home := witnessing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	recorder := &mcpwire.Recorder{}
	_, _ = get(within(t, time.Minute), mcpwire.Outlet{}.With(recorder), home.at(t, "/"))
	home.Close()
	_, _ = get(within(t, time.Minute), mcpwire.Outlet{}.With(recorder), home.at(t, "/"))
	seen := recorder.Transcript(nil).Exchanges
	if len(seen) != 2 || seen[0].Response == nil || seen[0].Error == "" || seen[0].Response.Body != "half" {
		t.Errorf("an answer that breaks off: got %+v", seen)
	}
	if seen[1].Response != nil || !strings.HasPrefix(seen[1].Error, "connection refused by ") {
		t.Errorf("no answer: got %+v", seen[1])
	}
}

func TestRecorder_isForManyGoroutines(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	recorder, hide := &mcpwire.Recorder{}, &mcpwire.Redactor{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			hide.AddCredential(canarySecret)
			_, _ = get(t.Context(), mcpwire.Outlet{Redactor: hide}.With(recorder), home.at(t, "/"))
			recorder.Received([]byte("x"))
			_ = recorder.Transcript(hide)
		})
	}
	all.Wait()
	if seen := recorder.Transcript(hide); len(seen.Exchanges) != 8 || len(seen.Messages) != 8 {
		t.Errorf("got %d exchanges and %d messages", len(seen.Exchanges), len(seen.Messages))
	}
	var none *mcpwire.Recorder
	none.Sent(nil)
	none.Received(nil)
	none.Said("x")
	if none.Transcript(hide) != nil {
		t.Error("nil records")
	}
}
